/* Reading a whole document in one walk over the flat tree: what can be acted on, and what a reader needs beside it. */

const LIMITS = { maxElements: 5000, maxNodes: 60000, maxMs: 1200, maxDepth: 400, maxFrames: 100 };

const ACTIONABLE_ROLES = new Set(["button", "link", "textbox", "searchbox", "combobox", "listbox", "checkbox", "radio",
  "switch", "slider", "spinbutton", "menuitem", "menuitemcheckbox", "menuitemradio", "tab", "option", "treeitem",
  "gridcell", "scrollbar"]);
const CONTEXT_ROLES = new Set(["heading", "alert", "status", "alertdialog", "dialog", "cell", "columnheader", "rowheader",
  "caption", "tooltip", "log", "progressbar", "meter", "img", "definition", "term", "paragraph", "listitem"]);
const SKIPPED = new Set(["script", "style", "noscript", "template", "head", "meta", "link", "title", "option", "optgroup",
  "datalist", "source", "track", "param", "base", "br", "wbr", "col", "colgroup"]);
/** Tags that pages make clickable by a listener. */
const CLICKABLE = new Set(["div", "span", "li", "td", "tr", "a", "svg", "img", "p"]);
const CONTEXT_TEXT_LIMIT = 160;

function isActionable(element, tag, role, walk, inside) {
  const { reading } = walk;
  const marks = reading.marks(element);
  if (role === "gridcell") return (marks & (TABINDEX | ONCLICK)) !== 0;
  if (ACTIONABLE_ROLES.has(role)) return true;
  if (tag === "input") return inputTypeOf(element) !== "hidden";
  if (marks & ONCLICK || reading.isEditingHost(element)) return true;
  if (marks & TABINDEX && Number(attr(element, "tabindex")) >= 0) return true;
  if (tag === "label") {
    // A label whose control is not to be seen is what gets clicked.
    const control = controlOf(element);
    return Boolean(control && !reading.isShown(control));
  }
  // Listeners cannot be seen from here; the pointer says what the page means to be clicked. It is inherited, so
  // only the element where it begins counts, and not inside something that is actionable anyway.
  return !inside && (CLICKABLE.has(tag) || tag.includes("-")) && pointerBeginsAt(element, walk);
}

function hasPointer(element, walk) {
  const facts = walk.reading.of(element);
  return (facts.pointer ??= walk.reading.style(element).cursor === "pointer");
}

function pointerBeginsAt(element, walk) {
  if (!hasPointer(element, walk)) return false;
  const parent = walk.reading.parent(element);
  return !parent || !hasPointer(parent, walk);
}

/**
 * The document as a Snapshot, within limits; what was left out is said in `notes`. With `about` (an instruction) it is
 * for a reader who looks for that: of a long repetition, the items off the screen that it does not name are counted,
 * and not read.
 */
function takeSnapshot(given, about) {
  const limits = { ...LIMITS, ...given };
  const started = performance.now();
  const reading = new Reading();
  reading.active = deepActive();
  const walk = {
    reading, limits, started, nodes: 0, picked: [], texts: [], frames: [], notes: new Set(), stopped: "",
    width: innerWidth, height: innerHeight, mayVisit: limits.maxNodes, mayTake: limits.maxMs * 0.6,
    entries: [], headers: new Map(), groups: 0, words: 0, deep: false, suspects: [],
    wanted: about === undefined ? null : wordsOf(about), repeated: {},
  };
  const top = bodyOf(document) ?? rootElementOf(document);
  if (top) visitElement(top, walk, OUTSIDE);
  if (walk.stopped || walk.deep) visitOnScreen(walk);
  keepFrames(walk);
  const elements = describePicked(walk);
  keepSuspects(walk.suspects);
  return {
    url: location.href,
    title: titleOf(document),
    elements,
    notes: [...walk.notes],
    nodeCount: walk.nodes,
    frames: walk.frames,
    repeated: walk.repeated,
    suspects: walk.suspects.length,
  };
}

/**
 * What an element's ancestors say of it: `actionable` inside a control that is one thing, `covered` inside a context
 * that is shown as one text, `told` inside something whose name has all its words, `choices` inside a menu or the
 * like, `item` the repeated item it stands in.
 */
const OUTSIDE = { depth: 0, actionable: false, covered: false, told: false, choices: false, item: null };

function goesOn(walk, depth) {
  const { limits } = walk;
  if (walk.stopped) return false;
  if (depth > limits.maxDepth) {
    walk.deep = true;
    walk.notes.add(`nested deeper than ${limits.maxDepth} elements: the rest was left out`);
    return false;
  }
  walk.nodes++;
  if (walk.nodes > walk.mayVisit) walk.stopped = `stopped after ${limits.maxNodes} nodes`;
  else if ((walk.nodes & 127) === 0 && isLate(walk)) {
    walk.stopped = `stopped after ${walk.nodes} nodes: the page took too long to read`;
  }
  if (walk.stopped) walk.notes.add(walk.stopped);
  return !walk.stopped;
}

const isLate = (walk) => performance.now() - walk.started > walk.mayTake;

function visitElement(element, walk, inherited) {
  const { reading, picked } = walk;
  const facts = reading.of(element);
  if (facts.visited || !goesOn(walk, inherited.depth)) return;
  facts.visited = true;
  const tag = tagOf(element);
  if (SKIPPED.has(tag)) return;
  const standing = reading.standing(element);
  if (standing === ABSENT) return;
  if (tag === "iframe" || tag === "frame") return visitFrame(element, walk, inherited);
  const role = roleOf(element, reading);
  const visible = standing === SHOWN;
  const item = visible ? pickElement(element, tag, role, walk, inherited) : null;
  if (visible && isSuspect(element, tag, walk)) walk.suspects.push(element);
  const { actionable = false, context = false } = item ?? {};
  const inner = {
    depth: inherited.depth + 1,
    actionable: inherited.actionable || (actionable && CHILDREN_PRESENTATIONAL.has(role)) || tag === "svg",
    covered: inherited.covered || (context && READ_WHOLE.has(role)),
    told: inherited.told || (actionable && NAME_FROM_CONTENT.has(role)),
    choices: inherited.choices || CHOICES.has(role),
    item: inherited.item,
  };
  const words = walk.words;
  if (!UNREAD.has(tag) && !reading.isEditingHost(element)) visitChildren(element, standing, walk, inner);
  if (!item) return;
  item.textTo = walk.texts.length;
  // What only repeats the words of the links and buttons in it says nothing of its own.
  if (context && words === walk.words && REPEATING.has(role)) picked[item.place] = null;
}

function visitChildren(element, standing, walk, inner) {
  const foreign = walk.reading.foreign(element);
  const repeated = inner.choices || inner.actionable ? null : repeatedChildren(element, foreign, walk);
  let place = 0;
  let child = foreign ? foreign[0] : firstChildOf(element);
  while (child && walk.stopped === "") {
    const type = nodeTypeOf(child);
    if (type === 3) {
      if (standing !== VEILED) visitText(child, walk, inner);
    } else if (type === 1) {
      walk.reading.of(child).parent = element;
      const group = repeated?.get(child);
      if (group) visitItem(child, group, walk, inner);
      else visitElement(child, walk, inner);
    }
    child = foreign ? foreign[++place] : nextSiblingOf(child);
  }
}

function visitItem(element, group, walk, inner) {
  const item = itemOf(element, group, inner, walk);
  if (item.counted) walk.repeated[item.group] = group.count;
  else visitElement(element, walk, { ...inner, item });
}

/** Contexts that are shown as one text: what is inside gives no line of its own unless it can be acted on. */
const READ_WHOLE = new Set(["heading", "cell", "columnheader", "rowheader", "caption", "paragraph", "alert", "status",
  "listitem", "term", "definition", "tooltip"]);
/** Contexts that are left out when all their words are those of links and buttons in them. */
const REPEATING = new Set(["", "cell", "listitem", "paragraph", "term", "definition"]);

/** Put the element on the list if it can be acted on, read or scrolled; the item of the list, or null. */
function pickElement(element, tag, role, walk, inherited) {
  const { reading, picked, texts } = walk;
  const actionable = isActionable(element, tag, role, walk, inherited.actionable);
  const context = !actionable && !inherited.actionable && isContext(element, tag, role, inherited);
  const scrolling = inherited.actionable ? NO_STATES : scrollingOf(element, tag, reading);
  const light = context && Boolean(inherited.item?.light) && scrolling === NO_STATES;
  if (!scrolling.length) {
    if (!actionable && !context) return null;
    if (!light) {
      const box = reading.box(element);
      if (!(box.width > 0 && box.height > 0) && !reading.isShown(element)) return null;
    }
  }
  const item = { element, tag, role, actionable, context, scrolling, light, frame: false, repeated: inherited.item,
    place: picked.length, textFrom: texts.length, textTo: 0, id: "" };
  picked.push(item);
  return item;
}

function visitText(node, walk, inherited) {
  if (!WORD.test(headOf(node))) return;
  walk.texts.push(node);
  if (!inherited.told && !inherited.actionable) walk.words++;
}

function isContext(element, tag, role, inherited) {
  if (inherited.covered) return role === "alert" || role === "status";
  if (tag === "label") return !controlOf(element);
  if (tag === "legend") return true;
  if (tag === "body" || tag === "html") return false;
  if (role === "listitem") {
    return hasOwnText(element) || !firstElementOf(element) || !queryAll(element, "a,button,input,select,textarea").length;
  }
  if (CONTEXT_ROLES.has(role)) return true;
  // Plain blocks with text of their own: what a reader reads where the page has no better words.
  return !role && hasOwnText(element);
}

function hasOwnText(element) {
  for (let child = firstChildOf(element); child; child = nextSiblingOf(child)) {
    if (isText(child) && WORD.test(headOf(child))) return true;
  }
  return false;
}

// -------------------------------------------------------------------------------------------- repeated items

/** So many siblings of a kind are a repetition. */
const REPEATED_FROM = 4;
/** So many items of a repetition are always described in full; later ones only where they are on the screen. */
const SAMPLED = 10;
/** In these each item is another choice: what they have in common says nothing about the others. */
const CHOICES = new Set(["navigation", "menu", "menubar", "tablist", "toolbar", "radiogroup", "listbox"]);
const RECORD_TAGS = new Set(["tr", "li", "article", "dd"]);
const RECORD_ROLES = new Set(["row", "listitem", "article", "treeitem"]);
const BLOCK_TAGS = new Set(["div", "section", "a", "tbody", "dl", "ul", "ol", "figure", "details", "fieldset", "form", "table"]);

/** What siblings of a repetition have in common, or "" for what is no item of one: `tr.row|td`. */
function kindOf(element) {
  const tag = tagOf(element);
  const role = attr(element, "role");
  const inside = firstElementOf(element);
  if (RECORD_TAGS.has(tag) || RECORD_ROLES.has(role)) {
    return `${likeness(element)}|${role}|${tag === "tr" && inside ? tagOf(inside) : ""}`;
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
 * `counted` means that it is not read.
 */
function itemOf(element, group, inherited, walk) {
  if (inherited.item && group.count <= inherited.item.count) return inherited.item;
  group.id ||= `g${++walk.groups}`;
  const number = ++group.last;
  const light = number > SAMPLED && !isOnScreen(walk.reading.box(element), walk);
  const counted = light && walk.wanted !== null && number < group.count && !isNamed(element, group, walk);
  return { group: group.id, number, count: group.count, light, counted };
}

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

// -------------------------------------------------------------------------------------------- what is special

const NO_STATES = Object.freeze([]);
const SCROLLERS = new Set(["div", "section", "main", "ul", "aside", "nav", "tbody", "ol", "article", "pre", "form", "dialog",
  "table", "fieldset", "dl"]);

/** `scrollable`, `scrollable-x`: in which directions the element scrolls what is in it. */
function scrollingOf(element, tag, reading) {
  if (!SCROLLERS.has(tag) && !tag.includes("-")) return NO_STATES;
  const { overflowX, overflowY } = reading.style(element);
  if (overflowX === "visible" && overflowY === "visible") return NO_STATES;
  const scrolls = (overflow) => overflow === "auto" || overflow === "scroll";
  const states = [];
  const height = clientHeightOf(element), width = clientWidthOf(element);
  if (scrolls(overflowY) && height >= 40 && scrollHeightOf(element) > height + 8) states.push("scrollable");
  if (scrolls(overflowX) && width >= 40 && scrollWidthOf(element) > width + 8) states.push("scrollable-x");
  return states.length ? states : NO_STATES;
}

/** Elements that may have a closed shadow root: only the browser knows, and is asked for no more than these. */
const SUSPECTS = 40;
const MAY_HAVE_SHADOW = new Set(["div", "span", "section", "p", "main", "article", "aside", "nav", "header", "footer"]);

function isSuspect(element, tag, walk) {
  if (walk.suspects.length >= SUSPECTS) return false;
  const custom = tag.includes("-");
  if (!custom && (!MAY_HAVE_SHADOW.has(tag) || firstChildOf(element))) return false;
  if (shadowOf(element) || namespaceOf(element) !== HTML) return false;
  const box = walk.reading.box(element);
  return custom ? box.width > 8 && box.height > 8 : box.width >= 40 && box.height >= 12;
}

let suspectsKept = [];
function keepSuspects(elements) {
  suspectsKept = elements.map((element) => new WeakRef(element));
}

/** The elements of the last snapshot that may have a closed shadow root. */
const suspects = () => suspectsKept.map((kept) => kept.deref()).filter(Boolean);

function statesOf(element, role, reading) {
  const states = [];
  const told = (reading.marks(element) & STATING) !== 0;
  const aria = (name) => (told ? attr(element, name).toLowerCase() : "");
  if (matches(element, ":disabled") || aria("aria-disabled") === "true") states.push("disabled");
  const checked = checkedState(element, told);
  if (checked) states.push(checked);
  const pressed = aria("aria-pressed");
  if (pressed === "true") states.push("pressed");
  if (pressed === "mixed") states.push("mixed");
  const expanded = aria("aria-expanded") ||
    (tagOf(element) === "summary" ? String(has(parentNodeOf(element), "open")) : "");
  if (expanded === "true") states.push("expanded");
  if (expanded === "false") states.push("collapsed");
  if ((told && has(element, "required")) || aria("aria-required") === "true") states.push("required");
  if (aria("aria-invalid") && aria("aria-invalid") !== "false") states.push("invalid");
  else if (matches(element, ":user-invalid")) states.push("invalid");
  if (aria("aria-selected") === "true" || (aria("aria-current") && aria("aria-current") !== "false")) states.push("selected");
  if (aria("aria-readonly") === "true" || (told && has(element, "readonly") && /^(?:input|textarea)$/.test(tagOf(element)))) {
    states.push("readonly");
  }
  if (element === reading.active) states.push("focused");
  return states;
}

/** `checked`, `mixed` or "": a native box says itself what it is, whatever an attribute says. */
function checkedState(element, told) {
  if (/^(?:checkbox|radio)$/.test(inputTypeOf(element))) {
    return inputIndeterminateOf(element) ? "mixed" : inputCheckedOf(element) ? "checked" : "";
  }
  const said = told ? attr(element, "aria-checked").toLowerCase() : "";
  return said === "true" ? "checked" : said === "mixed" ? "mixed" : "";
}

// ---------------------------------------------------------------------------------------------------- frames

function visitFrame(element, walk, inherited) {
  const box = walk.reading.box(element);
  if (!(box.width > 1 && box.height > 1)) return;
  const item = { element, tag: tagOf(element), role: "", actionable: false, context: false, scrolling: NO_STATES,
    light: false, frame: true, repeated: inherited.item, place: walk.picked.length, textFrom: walk.texts.length,
    textTo: walk.texts.length, id: "" };
  walk.picked.push(item);
  walk.frames.push({ item, index: walk.frames.length });
}

/** At most so many frames, those on the screen first, in document order. */
function keepFrames(walk) {
  const { maxFrames } = walk.limits;
  if (walk.frames.length <= maxFrames) return;
  const rank = ({ item }) => (isOnScreen(walk.reading.box(item.element), walk) ? 0 : 1);
  const kept = [...walk.frames].sort((a, b) => rank(a) - rank(b) || a.index - b.index).slice(0, maxFrames);
  walk.notes.add(`${walk.frames.length - kept.length} of ${walk.frames.length} frames left out: more than ${maxFrames}`);
  for (const frame of walk.frames) if (!kept.includes(frame)) walk.picked[frame.item.place] = null;
  walk.frames = kept.sort((a, b) => a.index - b.index);
}

function frameRecord({ item, index }, reading) {
  const { element, id } = item;
  const box = reading.box(element);
  let url = "";
  try {
    const given = new URL(attr(element, "src") || "about:blank", document.baseURI);
    url = given.origin === "null" ? given.protocol + given.pathname : given.origin + given.pathname;
  } catch {
    url = "";
  }
  return {
    elementId: id,
    name: attr(element, "name") || attr(element, "id"),
    title: attr(element, "title"),
    url: cut(url, HREF_LIMIT),
    index,
    box: { x: round(box.left + clientLeftOf(element)), y: round(box.top + clientTopOf(element)), width: round(box.width),
      height: round(box.height) },
  };
}

// --------------------------------------------------------------------------------------- what was not come to

const GRID_COLUMNS = 20;
const GRID_ROWS = 29;
/** Coprime to the number of points: in this order they cover the whole viewport evenly, however soon it must end. */
const GRID_STRIDE = 177;
/** Less than `maxDepth`: however deep it nests, all of it is come to. */
const SMALL_PART = 300;

/**
 * After a walk that was stopped: what lies under a grid of points of the viewport, and what has the focus. A dialog
 * at the end of a huge page is what a reader sees first.
 */
function visitOnScreen(walk) {
  const { limits, reading } = walk;
  walk.stopped = "";
  walk.mayVisit = walk.nodes + 20 * SMALL_PART;
  walk.mayTake = limits.maxMs * 0.75;
  const sizes = new Map();
  const isSmall = (element) => {
    if (!sizes.has(element)) sizes.set(element, queryAll(element, "*").length);
    return sizes.get(element) <= SMALL_PART;
  };
  const visit = (hit) => {
    let part = null;
    for (let at = hit; at && !reading.of(at).visited && isSmall(at); at = flatParent(at)) part = at;
    if (part) visitElement(part, walk, OUTSIDE);
  };
  visit(reading.active);
  const points = GRID_COLUMNS * GRID_ROWS;
  for (let i = 0, at = 0; i < points && !isLate(walk); i++, at = (at + GRID_STRIDE) % points) {
    const column = at % GRID_COLUMNS, row = Math.floor(at / GRID_COLUMNS);
    visit(deepFromPoint((walk.width * (column + 0.5)) / GRID_COLUMNS, (walk.height * (row + 0.5)) / GRID_ROWS));
  }
}

// ------------------------------------------------------------------------------------------------- describing

function neighboursAt(item, walk) {
  const near = [];
  for (let i = item.textFrom - 1; i >= 0 && near.length < NEIGHBOURS; i--) collectText(i, near, walk);
  const most = near.length + NEIGHBOURS;
  for (let i = item.textTo; i < walk.texts.length && near.length < most; i++) collectText(i, near, walk);
  return nearest(walk.reading.box(item.element), near);
}

function collectText(at, near, walk) {
  let entry = walk.entries[at];
  if (entry === undefined) walk.entries[at] = entry = textEntry(walk.texts[at], walk.reading);
  if (entry !== null) near.push(entry);
}

/** What can be acted on and what is on the screen goes first; the order of the document stays. */
function chosenOf(walk) {
  const { reading, limits } = walk;
  const picked = walk.picked.filter(Boolean);
  if (picked.length <= limits.maxElements) return picked;
  const rank = (item) => (item.frame ? 4 : 0) + (item.actionable ? 2 : 0) +
    (!item.light && isOnScreen(reading.box(item.element), walk) ? 3 : 0);
  const ranked = picked.map((item, order) => ({ item, order, rank: rank(item) }));
  ranked.sort((a, b) => b.rank - a.rank || a.order - b.order);
  const kept = new Set(ranked.slice(0, limits.maxElements).map(({ item }) => item));
  walk.notes.add(`${picked.length - kept.size} of ${picked.length} elements left out: more than ${limits.maxElements}`);
  return picked.filter((item) => kept.has(item));
}

function describePicked(walk) {
  const { reading, limits } = walk;
  const chosen = chosenOf(walk);
  walk.entries = new Array(walk.texts.length);
  const elements = [];
  let looked = 0;
  for (const item of chosen) {
    if ((++looked & 31) === 0 && performance.now() - walk.started > limits.maxMs) {
      walk.notes.add(`${chosen.length - looked} elements left out: the page took too long to describe`);
      break;
    }
    const whole = item.actionable || item.frame || item.scrolling.length > 0;
    if (!whole && !saysSomething(item, reading)) continue;
    item.id = `e${elements.length + 1}`;
    elements.push(elementRecord(item, whole, walk));
  }
  walk.frames = walk.frames.map((frame) => frameRecord(frame, reading));
  return elements;
}

/** An Element: what equals the defaults of the Python model is left out. */
function elementRecord(item, whole, walk) {
  const { reading } = walk;
  const { element, role, actionable, repeated } = item;
  const target = whole ? describe(element, reading, { neighbours: neighboursAt(item, walk) }) : describeContext(item, walk);
  const record = { id: item.id, target };
  if (!actionable) record.actionable = false;
  if (item.light || !isOnScreen(reading.box(element), walk)) record.inViewport = false;
  const value = actionable ? cut(valueOf(element, reading), 500) : "";
  if (value) record.value = value;
  const states = actionable ? [...statesOf(element, role, reading), ...item.scrolling] : item.scrolling;
  if (states.length) record.states = states;
  if (element instanceof HTMLSelectElement) record.options = optionsShown(element);
  if (repeated) {
    record.group = repeated.group;
    record.groupItem = repeated.number;
  }
  return record;
}

function optionsShown(select) {
  const options = optionsOf(select);
  const shown = [];
  for (let i = 0; i < options.length && i < 30; i++) shown.push(cut(collapse(optionLabelOf(options[i])), 60));
  return shown;
}

const saysSomething = (item, reading) =>
  item.role === "img" || item.role === "progressbar" || item.role === "meter" || item.role === "dialog"
    ? Boolean(nameOf(item.element, reading)) : WORD.test(textOf(item.element, reading, 200));

/** Context is for reading: only what a line of text and a place in the page need; in later rows no more than the text. */
function describeContext(item, walk) {
  const { reading } = walk;
  const { element, role, tag } = item;
  const isPart = role === "dialog" || role === "alertdialog";
  const text = isPart ? "" : textOf(element, reading, CONTEXT_TEXT_LIMIT);
  const target = { tag, role, text, xpath: xpathOf(element, reading) };
  if (item.light) return target;
  const name = isPart || role === "heading" || role === "img" ? nameOf(element, reading) : "";
  if (name) target.name = cut(name, 200);
  const label = tag === "td" ? columnOf(element, walk) : "";
  if (label) target.label = label;
  const container = containerOf(element, reading);
  if (container) target.container = container;
  target.box = pageBox(element, reading);
  return target;
}

/** The header of the column that a cell stands in, where the table's first row is nothing but headers, one per column. */
function columnOf(cell, walk) {
  const table = closest(cell, "table");
  if (!table) return "";
  let headers = walk.headers.get(table);
  if (!headers) {
    const [first] = queryAll(table, "tr");
    const cells = first ? Array.from(childrenOf(first)) : [];
    const plain = cells.every((one) => tagOf(one) === "th" && !has(one, "colspan"));
    headers = plain ? cells.map((one) => textOf(one, walk.reading, 60)) : [];
    walk.headers.set(table, headers);
  }
  return headers[cellIndexOf(cell)] ?? "";
}

function isOnScreen(box, walk) {
  return box.bottom > 0 && box.right > 0 && box.top < walk.height && box.left < walk.width;
}
