/* What inputs have put into the fields of this document: before a press, whether the page has kept it. */

const entries = new Map();

/** What a field shows of what was entered; a password field shows nothing. */
function entryIn(control, reading) {
  const { checked, value, selected } = stateOf(control, reading);
  return JSON.stringify([checked, value, selected]);
}

function rememberEntry(control, name, reading) {
  entries.set(control, { name, shown: entryIn(control, reading) });
}

/**
 * Returns how many fields there are still, and the names of those that show something else. Forgets them, unless they
 * are `required` to be as they were, and are not: then the press is not given.
 */
function takeEntries(required) {
  const reading = new Reading();
  const fields = [...entries].filter(([control]) => isConnected(control));
  const lost = fields.filter(([control, { shown }]) => entryIn(control, reading) !== shown);
  if (!required || !lost.length) entries.clear();
  return { fields: fields.length, lost: lost.map(([, { name }]) => name) };
}
