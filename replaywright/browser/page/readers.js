/* What a reader is not shown: what the text form (replaywright.domain.snapshot_text) would leave out is not described. */

/** At most so many items are read because the instruction names them: the ones that it names best. */
const NAMED_ITEMS = 8;
const outerHtmlOf = getterOf(Element.prototype, "outerHTML");

function isNamed(element, group, walk) {
  group.named ??= namedOf(group.members, walk.wanted);
  return group.named.has(element) || Boolean(walk.reading.active && flatContains(element, walk.reading.active));
}

/** The items that hold words of the instruction which few others hold, as replaywright.domain.snapshot_text shows them. */
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
