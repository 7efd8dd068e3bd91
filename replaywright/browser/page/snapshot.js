/* Reading a document in one walk over the flat tree: actionable elements, and the context that a reader needs. */

const LIMITS = { maxElements: 5000, maxNodes: 60000, maxMs: 1200, maxDepth: 400, maxFrames: 100, maxLines: 400 };

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
  if (isShownChoice(element, role)) return false;
  if (ACTIONABLE_ROLES.has(role)) return true;
  if (tag === "input") return inputTypeOf(element) !== "hidden";
  if (marks & ONCLICK || reading.isEditingHost(element)) return true;
  if (marks & TABINDEX && Number(attr(element, "tabindex")) >= 0) return true;
  if (tag === "label") {
    // A label whose control is not to be seen is what gets clicked.
    const control = controlOf(element);
    return Boolean(control && !reading.isShown(control));
  }
  // The pointer cursor shows clickable elements. It is inherited, so only the element where it begins counts, and not
  // inside something that is actionable anyway.
  return !inside && (CLICKABLE.has(tag) || tag.includes("-")) && (pointerBeginsAt(element, walk) || isPressed(element, walk));
}

/** Returns whether an element is what a drawn list shows as chosen: its author may call it a text field, and it takes no text. */
const isShownChoice = (element, role) =>
  role === "textbox" && !isEditable(element) && isReadonly(element) && closest(element, "[role=combobox]") !== null;

/** Elements with a listener of presses, as the browser tells before a snapshot: this world does not see the page's own. */
let hearing = new WeakSet();
const hearsPresses = (elements) => void (hearing = new WeakSet(elements));
/** The document and its shadow roots: as many as are asked for listeners. */
const ROOTS_HEARD = 50;
/** Parts of an element that hears presses for them. */
const PARTS_PRESSED = "a[href],button,input,select,textarea,summary,[tabindex],[onclick],[role],table,ul,ol";
/** Descendants of a control at most. */
const CONTROL_PARTS = 30;

/** Returns whether an element is a control by its listener alone: small, and not one that listens for its parts. */
function isPressed(element, walk) {
  if (!hearing.has(element)) return false;
  const inner = queryAll(element, "*");
  if (inner.length > CONTROL_PARTS || Array.from(inner).some((one) => hearing.has(one) || matches(one, PARTS_PRESSED))) return false;
  return textOf(element, walk.reading, CONTEXT_TEXT_LIMIT + 1).length <= CONTEXT_TEXT_LIMIT;
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
 * The document as a Snapshot, within limits; `notes` lists what was left out. With `about` (an instruction) it is
 * for a reader who looks for that and is shown `maxLines` lines: of a long repetition, the items off the screen that it
 * does not name are counted, and not read; what there is no line for is not described.
 */
function takeSnapshot(given, about) {
  const walk = walkOver({ ...LIMITS, ...given }, about);
  const { reading, limits } = walk;
  // All that will be described was walked over, and so were the shadow roots that matter for it.
  if (!walk.partly) reading.pseudo ??= walk.roots.some(sheetsSpeakOfPseudos);
  keepFrames(walk);
  const elements = describePicked(walk);
  keepSuspects(walk.suspects);
  if (limits.pictured) keepPictured(walk.picked);
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
 * Identity of a page: role and name of visible elements, and values of actionable ones; empty for an invisible frame.
 */
function outline() {
  if (!(innerWidth > 1 && innerHeight > 1)) return [];
  const walk = walkOver(LIMITS);
  const found = [];
  for (const item of walk.picked) {
    if (!item || item.frame || isLate(walk)) continue;
    const { element, role, actionable } = item;
    if (!actionable && !NAMED_CONTEXT.has(role)) continue;
    const name = cut(nameOf(element, walk.reading), 200);
    const value = actionable ? cut(valueOf(element, walk.reading), 500) : null;
    if (name || value) found.push([role, name, value]);
  }
  return found;
}

const NAMED_CONTEXT = new Set(["heading", "img", "dialog", "alertdialog"]);

/** One walk over the flat tree: what it has picked, and what it took note of. */
function walkOver(limits, about) {
  const started = performance.now();
  const reading = new Reading();
  reading.active = deepActive();
  const walk = {
    reading, limits, started, nodes: 0, picked: [], texts: [], frames: [], notes: new Set(), stopped: "",
    width: innerWidth, height: innerHeight, mayVisit: limits.maxNodes, mayTake: limits.maxMs * 0.6,
    roots: [document], entries: [], headers: new Map(), groups: 0, words: 0, deep: false, suspects: [],
    wanted: about === undefined ? null : wordsOf(about), repeated: {}, partly: false,
  };
  const top = bodyOf(document) ?? rootElementOf(document);
  if (top) visitElement(top, walk, OUTSIDE);
  walk.partly = Boolean(walk.stopped || walk.deep);
  if (walk.partly) visitOnScreen(walk);
  return walk;
}

/**
 * Context of an element: `actionable` inside an atomic control, `covered` inside a context that is shown as one text,
 * `named` inside an element whose name has all its words, `choices` inside a menu or the like, `drawn` inside an editor
 * whose texts are the value of its field, `item` its repeated item.
 */
const OUTSIDE = { depth: 0, actionable: false, covered: false, named: false, choices: false, drawn: false, item: null };

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

function isOnScreen(box, walk) {
  return box.bottom > 0 && box.right > 0 && box.top < walk.height && box.left < walk.width;
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
    named: inherited.named || (actionable && NAME_FROM_CONTENT.has(role)),
    choices: inherited.choices || CHOICES.has(role),
    drawn: inherited.drawn || reading.isSurface(element),
    item: inherited.item,
  };
  const words = walk.words;
  if (!UNREAD.has(tag) && !reading.isEditingHost(element)) visitChildren(element, standing, walk, inner);
  if (visible && hintOf(element, tag)) walk.texts.push(element);
  if (!item) return;
  item.textTo = walk.texts.length;
  // A context that only repeats the words of its links and buttons is left out.
  if (context && words === walk.words && REPEATING.has(role)) picked[item.place] = null;
}

function visitChildren(element, standing, walk, inner) {
  const foreign = walk.reading.foreign(element);
  const shadow = foreign && shadowOf(element);
  if (shadow) walk.roots.push(shadow);
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

/** Contexts that are shown as one text: elements inside get a line only if they are actionable. */
const READ_WHOLE = new Set(["heading", "cell", "columnheader", "rowheader", "caption", "paragraph", "alert", "status",
  "listitem", "term", "definition", "tooltip"]);
/** Contexts that are left out when all their words are those of links and buttons in them. */
const REPEATING = new Set(["", "cell", "listitem", "paragraph", "term", "definition"]);

/** Put the element on the list if it can be acted on, read or scrolled; the item of the list, or null. */
function pickElement(element, tag, role, walk, inherited) {
  const { reading, picked, texts } = walk;
  // Beside its field, an editor may have others for itself.
  if (inherited.drawn && tag === "textarea" && !reading.surfaceOf(element)) return null;
  const actionable = isActionable(element, tag, role, walk, inherited.actionable);
  const context = !actionable && !inherited.actionable && !inherited.drawn && isContext(element, tag, role, inherited);
  const scrolling = inherited.actionable ? NO_STATES : scrollingOf(element, tag, reading);
  const light = context && Boolean(inherited.item?.light) && scrolling === NO_STATES;
  if (!scrolling.length) {
    if (!actionable && !context) return null;
    if (!light && !reading.isShown(element)) return null;
  }
  const item = { element, tag, role, actionable, context, scrolling, light, frame: false, repeated: inherited.item,
    place: picked.length, textFrom: texts.length, textTo: 0, id: "" };
  picked.push(item);
  return item;
}

function visitText(node, walk, inherited) {
  if (inherited.drawn || !WORD.test(headOf(node))) return;
  walk.texts.push(node);
  if (!inherited.named && !inherited.actionable) walk.words++;
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

// -------------------------------------------------------------------------------------------- special elements

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

/** Keeps at most `maxFrames` frames, those on the screen first, in document order. */
function keepFrames(walk) {
  const { maxFrames } = walk.limits;
  if (walk.frames.length <= maxFrames) return;
  const rank = ({ item }) => (isOnScreen(walk.reading.box(item.element), walk) ? 0 : 1);
  const kept = [...walk.frames].sort((a, b) => rank(a) - rank(b) || a.index - b.index).slice(0, maxFrames);
  walk.notes.add(`${walk.frames.length - kept.length} of ${walk.frames.length} frames left out: more than ${maxFrames}`);
  for (const frame of walk.frames) if (!kept.includes(frame)) walk.picked[frame.item.place] = null;
  walk.frames = kept.sort((a, b) => a.index - b.index);
}

function frameRecord({ item, index }) {
  const { element, id } = item;
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
  };
}

// --------------------------------------------------------------------------------------- unvisited parts

const GRID_COLUMNS = 20;
const GRID_ROWS = 29;
/** Coprime to the number of points: in this order they cover the whole viewport evenly, however soon it must end. */
const GRID_STRIDE = 177;
/** Less than `maxDepth`, so that all of it is visited. */
const SMALL_PART = 300;

/**
 * After a stopped walk, visits the focused element and those under a grid of points of the viewport: a dialog at the
 * end of a huge page is what a reader sees first.
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
