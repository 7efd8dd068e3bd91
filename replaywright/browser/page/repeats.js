/* Siblings of one kind, side by side: the rows of a table, the items of a list, cards. */

/** Number of similar siblings that make a repetition. */
const REPEATED_FROM = 4;
/** Number of items that are always described in full; later ones only on the screen. */
const SAMPLED = 10;
/** A repetition of at most so many items is shown whole; of a longer one the first are, and others by what is looked for. */
const WHOLE_ITEMS = 8, FIRST_ITEMS = 3;
/** Roles whose items are choices, not records. */
const CHOICES = new Set(["navigation", "menu", "menubar", "tablist", "toolbar", "radiogroup", "listbox"]);
const RECORD_TAGS = new Set(["tr", "li", "article", "dd"]);
const RECORD_ROLES = new Set(["row", "listitem", "article", "treeitem"]);
const BLOCK_TAGS = new Set(["div", "section", "a", "tbody", "dl", "ul", "ol", "figure", "details", "fieldset", "form", "table"]);

/** Common kind of the items of a repetition, such as `tr||td`; "" for what repeats everywhere. */
function kindOf(element) {
  const tag = tagOf(element);
  const role = attr(element, "role");
  const inside = firstElementOf(element);
  if (RECORD_TAGS.has(tag) || RECORD_ROLES.has(role)) {
    // Every second row of a table or grid may have a class of its own.
    if (tag === "tr") return `tr|${role}|${inside ? tagOf(inside) : ""}`;
    return role === "row" ? `${tag}|row|${inside ? attr(inside, "role") : ""}` : `${likeness(element)}|${role}|`;
  }
  if (tag.includes("-")) return tag;
  return inside && BLOCK_TAGS.has(tag) && (tag !== "div" || has(element, "class")) ? `${likeness(element)}|${role}|${tagOf(inside)}` : "";
}

/** The children of an element that repeat, each with its repetition `{id, count, last}`; null when none do. */
function repeatedChildren(element, foreign, walk) {
  if ((foreign ? foreign.length : childCountOf(element)) < REPEATED_FROM) return null;
  const kinds = new Map(), found = new Map();
  let looked = 0;
  someFlatChild(element, (child) => {
    if (isElement(child) && !SKIPPED.has(tagOf(child)) && walk.reading.standing(child) !== ABSENT) {
      const kind = kindOf(child);
      if (kind) {
        const group = kinds.get(kind) ?? { id: "", count: 0, last: 0, members: [], named: null };
        kinds.set(kind, group);
        group.count++;
        if (walk.wanted) group.members.push(child);
        found.set(child, group);
      }
    }
    return ++looked > walk.mayVisit || ((looked & 127) === 0 && isLate(walk));
  });
  for (const [child, group] of found) if (group.count < REPEATED_FROM) found.delete(child);
  return found.size ? found : null;
}

/**
 * The item that a repeated child is. What repeats inside an item counts only if there is more of it than of the items.
 * `counted` means that it is not read, `whole` that a reader is shown it whatever he looks for.
 */
function itemOf(element, group, inherited, walk) {
  if (inherited.item && group.count <= inherited.item.count) return inherited.item;
  group.id ||= `g${++walk.groups}`;
  const number = ++group.last;
  const light = number > SAMPLED && !isOnScreen(walk.reading.box(element), walk);
  const counted = light && walk.wanted !== null && number < group.count && !isNamed(element, group, walk);
  const whole = (inherited.item?.whole ?? true) && (group.count <= WHOLE_ITEMS || number <= FIRST_ITEMS);
  return { group: group.id, number, count: group.count, light, counted, whole };
}
