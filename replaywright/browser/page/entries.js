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

/** A date in figures, its year with four of them where it was entered: 2027-03-14, 14.03.2027, 3/14/27. */
const DATE = /(?<![\d./-])(?:(\d{4})[-./](\d\d?)[-./](\d\d?)|(\d\d?)[-./](\d\d?)[-./](\d{4}|\d\d))(?![\d./-])/;

/** Its day, month and year, whatever their order; "" without a date. */
const dateIn = (text) => (DATE.exec(text) ?? []).slice(1).filter(Boolean).map((part) => Number(part) % 100).sort().join(" ");

/** Returns whether a field that was given a date shows another one: it could not read what it was given. */
function isAnotherDate(before, now) {
  const [given, shown] = [before, now].map((entry) => String(JSON.parse(entry)[1] ?? ""));
  return /\d{4}/.test(given) && dateIn(given) !== "" && dateIn(shown) !== "" && dateIn(given) !== dateIn(shown);
}

/**
 * Returns how many fields there are still, the names of those that show something else, and those that show another date.
 * Forgets them, unless the press is not given: they are `required` to be as they were, and are not, or a date is another.
 */
function takeEntries(required) {
  const reading = new Reading();
  const fields = [...entries].filter(([control]) => isConnected(control));
  const lost = [];
  const misread = [];
  for (const [control, { name, shown }] of fields) {
    const now = entryIn(control, reading);
    if (now === shown) continue;
    lost.push(name);
    if (isAnotherDate(shown, now)) misread.push([name, cut(JSON.parse(now)[1], 60)]);
  }
  if (!misread.length && !(required && lost.length)) entries.clear();
  return { fields: fields.length, lost, misread };
}
