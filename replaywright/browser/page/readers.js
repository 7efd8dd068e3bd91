/* Selection for a reader: elements that the text form (replaywright.domain.page.snapshot_text) omits are not described. */

/** Limit of items that are read because the instruction names them, best matches first. */
const NAMED_ITEMS = 8;
const outerHtmlOf = getterOf(Element.prototype, "outerHTML");

function isNamed(element, group, walk) {
  group.named ??= namedOf(group.members, walk.wanted);
  return group.named.has(element) || Boolean(walk.reading.active && flatContains(element, walk.reading.active));
}

/** The items that hold words of the instruction which few others hold, as replaywright.domain.page.snapshot_text shows them. */
function namedOf(members, wanted) {
  if (!wanted.size) return new Set();
  const held = new Map();
  const words = members.map((member) => {
    const html = outerHtmlOf(member).toLowerCase();
    const found = [...wanted].filter((word) => html.includes(word));
    for (const word of found) held.set(word, (held.get(word) ?? 0) + 1);
    return found;
  });
  const score = (found) => found.reduce((sum, word) => sum + Math.log(members.length / held.get(word)), 0);
  const scored = members.map((member, place) => ({ member, place, score: score(words[place]) }));
  const ranked = scored.filter((one) => one.score > Math.log(2)).sort((a, b) => b.score - a.score || a.place - b.place);
  return new Set(ranked.slice(0, NAMED_ITEMS).map(({ member }) => member));
}

/**
 * The picked elements that a reader may be shown. Each actionable element takes a line. Where these take all lines,
 * later ones and texts are left out if they are off the screen, except dialogs, alerts and what the instruction names.
 */
function forReader(picked, walk) {
  const { reading, limits: { maxLines } } = walk;
  if (walk.wanted === null) return picked;
  const acting = picked.filter((item) => item.actionable);
  const last = acting.filter((item) => item.repeated?.whole ?? true)[maxLines - 1]?.place;
  if (last === undefined) return picked;
  const named = namedOnly(acting, walk);
  const kept = picked.filter((item) => {
    if (item.frame || item.scrolling.length || URGENT.has(item.role) || named.has(item)) return true;
    return (item.actionable && item.place <= last) || (!item.light && isOnScreen(reading.box(item.element), walk));
  });
  if (kept.length < picked.length) {
    walk.notes.add(`${picked.length - kept.length} of ${picked.length} elements left out: off the screen, and more than can be shown`);
  }
  return kept;
}

const URGENT = new Set(["alert", "status", "alertdialog", "dialog"]);
/** A word that more elements have names none of them. */
const NAMED_ELEMENTS = 8;

/** The elements that have a word of the instruction which few others have. */
function namedOnly(items, walk) {
  const holders = new Map();
  for (const word of walk.wanted) holders.set(word, []);
  if (!holders.size) return new Set();
  for (const item of items) {
    for (const word of wordsOf(descriptionOf(item, walk.reading))) holders.get(word)?.push(item);
  }
  return new Set([...holders.values()].filter((held) => held.length <= NAMED_ELEMENTS).flat());
}

/** All texts of an element's description, without its place. */
function descriptionOf({ element, role }, reading) {
  const { name } = identityOf(element, reading);
  const words = [name, textOf(element, reading, 200), labelOf(element, role, reading), valueOf(element, reading),
    ...rowOf(element, reading), ...Object.values(attributesOf(element, reading))];
  if (element instanceof HTMLSelectElement) words.push(...optionsShown(element));
  return words.join(" ");
}
