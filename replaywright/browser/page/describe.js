/* Describing an element as a Target: all properties that may find it again and distinguish it. */

const KEPT_ATTRIBUTES = new Set(["id", "class", "name", "type", "placeholder", "title", "alt", ...TEST_IDS]);
/** aria-* attributes of an element's state, not its identity. */
const STATE_ARIA = new Set(["aria-valuenow", "aria-valuetext", "aria-checked", "aria-selected", "aria-expanded",
  "aria-pressed", "aria-busy", "aria-hidden", "aria-disabled", "aria-invalid", "aria-activedescendant",
  "aria-describedby", "aria-controls", "aria-owns", "aria-current"]);
const ATTRIBUTE_LIMIT = 200;

/**
 * Returns whether an identifier looks made by a program: it will be another one after the next build or visit.
 * Digits in a row, letters and digits mixed, the known prefixes of frameworks, or React's useId since 19.2 (`_r_q_`).
 */
function looksGenerated(id) {
  return GENERATED.test(id) || REACT_ID.test(id) || id.length > 60;
}
const GENERATED = /\d{2}|[a-z]\d+[a-z]|\d[a-z]\d|^\d|^:|[^\w\-.:]|^(?:radix|react|mui|ember|ext-|gwt-|yui|headlessui|cdk-|mat-)/i;
const REACT_ID = /(?<![a-z\d])_(?:[\w-]*[^a-z\d])?r_[\da-v]+_(?![a-z\d])/i;

/** Path of a link: no query, no fragment; with the origin if it is another. Fragments alone give "". */
const hrefPath = (element, reading) => pathIn(attr(element, "href"), reading);

function pathIn(address, reading) {
  const raw = address.trim();
  if (!raw || raw.startsWith("#") || raw.length > HREF_LIMIT) return "";
  let path = reading.hrefs.get(raw);
  if (path === undefined) reading.hrefs.set(raw, (path = pathOfLink(raw, reading)));
  return path;
}

/** A longer address is data, not a place. */
const HREF_LIMIT = 4000;

/** An absolute path without anything to resolve or encode equals the parser's result, at a tenth of the cost. */
const PLAIN_PATH = /^(?!\/\/)(?:\/(?!\.)[\w\-.~]*)+$/;

function pathOfLink(raw, reading) {
  if (reading.hasOwnBase && PLAIN_PATH.test(raw)) return raw;
  try {
    const url = new URL(raw, document.baseURI);
    if (url.protocol !== "http:" && url.protocol !== "https:" && url.protocol !== "file:") {
      return /^(?:mailto|tel|sms):$/.test(url.protocol) ? url.protocol + url.pathname : "";
    }
    return url.origin === location.origin ? url.pathname : url.origin + url.pathname;
  } catch {
    return "";
  }
}

/** Path to which a button sends its form, "." for the page's own; "" for what sends none. */
function actionPath(element, reading) {
  const isButton = tagOf(element) === "button" && element instanceof HTMLButtonElement;
  if (!/^(?:submit|image)$/.test(isButton ? buttonTypeOf(element) : inputTypeOf(element))) return "";
  const form = isButton ? buttonFormOf(element) : inputFormOf(element);
  if (!form) return "";
  const path = pathIn(attr(element, "formaction") || attr(form, "action"), reading);
  return path === location.pathname ? "." : path || ".";
}

/** Digest of what follows the path in a link's address; "" for nothing. It may hold a token, so it is not kept itself. */
function queryOf(element) {
  const [rest] = /(?:\?[^#]+)?(?:#.+)?$/.exec(attr(element, "href"));
  return rest ? hash64(rest.replace(/^\?/, "")) : "";
}

function attributesOf(element, reading) {
  const kept = {};
  const tag = tagOf(element);
  for (const name of getAttributeNames.call(element)) {
    if (KEPT_ATTRIBUTES.has(name) || (name.startsWith("aria-") && !STATE_ARIA.has(name))) {
      const text = collapse(saidOf(element, name).slice(0, 2 * ATTRIBUTE_LIMIT));
      if (text) kept[name] = cut(text, ATTRIBUTE_LIMIT);
    }
  }
  const path = tag === "a" || tag === "area" ? hrefPath(element, reading) : "";
  if (path) kept.href = cut(path, ATTRIBUTE_LIMIT);
  const type = inputTypeOf(element);
  // The value of a button, a radio button or a checkbox is part of what it is; any other is what was typed.
  const isChoice = /^(?:button|submit|reset|image|radio|checkbox)$/.test(type) || tag === "button";
  if (isChoice && /\S/.test(attr(element, "value"))) {
    kept.value = cut(collapse(attr(element, "value").slice(0, 2 * ATTRIBUTE_LIMIT)), ATTRIBUTE_LIMIT);
  }
  const action = actionPath(element, reading);
  if (action) kept.action = cut(action, ATTRIBUTE_LIMIT);
  return kept;
}

/** Role and name as recorded: what has no role gets its visible text for a name, or nothing would confirm it. */
function identityOf(element, reading) {
  const role = roleOf(element, reading);
  let name = role === "combobox" ? nameBesideChoice(element, reading) : nameOf(element, reading);
  if (!name && !role) name = textOf(element, reading, 100);
  return { tag: tagOf(element), role, name: cut(name, 200) };
}

/** The name of a list without what it shows as chosen, by which authors call drawn ones: with another choice it is no other list. */
function nameBesideChoice(element, reading) {
  const root = getRoot(element);
  const named = attr(element, "aria-labelledby").split(/\s+/).filter(Boolean).map((id) => byId(root, id)).filter(Boolean);
  const beside = named.filter((one) => !flatContains(element, one));
  return beside.length === named.length ? nameOf(element, reading) : beside.map((one) => textOf(one, reading, 100)).join(" ");
}

const HASHED = ["type", "name", "placeholder", "aria-label", ...TEST_IDS];

/** Digest of what the element is, without where it stands and how it looks. */
function elementHash(element, reading, identity = identityOf(element, reading)) {
  const parts = [identity.tag, identity.role, normalise(identity.name)];
  const identified = reading.marks(element) & IDENTIFYING;
  for (const key of HASHED) parts.push(identified ? saidOf(element, key) : "");
  parts.push(identity.tag === "a" || identity.tag === "area" ? hrefPath(element, reading) : "");
  const id = identified ? attr(element, "id") : "";
  parts.push(id && !looksGenerated(id) ? id : "");
  return hash64(parts.join("\u0001"));
}

// ------------------------------------------------------------------------------------------------- paths

/** Position of an element among the siblings of its tag, from 1; 0 for what there is one of. */
function placeOf(element, reading) {
  const tag = tagOf(element);
  if ((tag === "html" || tag === "body") && namespaceOf(element) === HTML) return 0;
  const parent = parentNodeOf(element);
  if (!parent) return 1;
  let { place } = reading.of(element);
  if (place === undefined) {
    // Counted for all children at once: a table of a thousand rows must not be counted a thousand times.
    const counts = new Map();
    for (let child = firstChildOf(parent); child; child = nextSiblingOf(child)) {
      if (!isElement(child)) continue;
      const kind = tagOf(child);
      const count = (counts.get(kind) ?? 0) + 1;
      counts.set(kind, count);
      reading.of(child).place = count;
    }
    place = reading.of(element).place ?? 1;
  }
  return place;
}

/** Step of an absolute XPath, with its index among equal tags: `div[2]`. */
function stepOf(element, reading) {
  const tag = tagOf(element);
  const place = placeOf(element, reading);
  if (!place) return tag;
  return namespaceOf(element) === HTML ? `${tag}[${place}]` : `*[name()="${tag}"][${place}]`;
}

/**
 * Value of `step` for an element, computed from its parent's value and kept in the facts of all ancestors under `key`.
 * No recursion: pages may nest thousands deep. `up` leads to the parent.
 */
function descend(element, key, reading, up, step) {
  const known = reading.of(element)[key];
  if (known !== undefined) return known;
  const path = [];
  let value = "";
  for (let at = element; at; at = up(at, reading)) {
    const above = reading.of(at)[key];
    if (above !== undefined) {
      value = above;
      break;
    }
    path.push(at);
  }
  for (let i = path.length - 1; i >= 0; i--) {
    value = step(path[i], value, reading);
    reading.of(path[i])[key] = value;
  }
  return value;
}

/** The parent element in the DOM; for a child of a shadow root, its host. */
function domParent(element) {
  const parent = parentNodeOf(element);
  return !parent || isElement(parent) ? parent : isShadowRoot(parent) ? hostOf(parent) : null;
}

const isInShadowRoot = (element) => {
  const parent = parentNodeOf(element);
  return Boolean(parent) && !isElement(parent) && isShadowRoot(parent);
};

const xpathOf = (element, reading) => descend(element, "xpath", reading, domParent, xpathStep);

const xpathStep = (element, above, reading) =>
  above + (isInShadowRoot(element) ? "/#shadow/" : "/") + stepOf(element, reading);

const quoted = (text) => `"${text.replace(/["\\]/g, "\\$&").replace(/\n/g, "\\a ")}"`;

/** Returns whether one element of `root` has this attribute value; counts are kept for the reading. */
function isUniqueIn(root, name, value, reading) {
  let byName = reading.unique.get(root);
  if (!byName) reading.unique.set(root, (byName = new Map()));
  let counts = byName.get(name);
  if (!counts) {
    byName.set(name, (counts = new Map()));
    for (const element of queryAll(root, `[${name}]`)) {
      const at = attr(element, name);
      counts.set(at, (counts.get(at) ?? 0) + 1);
    }
  }
  return counts.get(value) === 1;
}

/** A selector by one stable attribute that is unique in the element's root, or "". */
function anchorOf(element, root, reading) {
  const tag = escapedTag(element);
  for (const name of TEST_IDS) {
    const value = attr(element, name);
    if (value && value.length <= ATTRIBUTE_LIMIT && isUniqueIn(root, name, value, reading)) return `[${name}=${quoted(value)}]`;
  }
  const id = attr(element, "id");
  if (id && !looksGenerated(id) && isUniqueIn(root, "id", id, reading)) return `#${CSS.escape(id)}`;
  for (const name of ["name", "aria-label", "placeholder", "href", "alt"]) {
    const value = attr(element, name);
    if (!value || value.length > 80 || (name === "name" && looksGenerated(value)) || value !== saidOf(element, name)) continue;
    if (name === "href" && /[?#]|^javascript:/i.test(value)) continue;
    if (isUniqueIn(root, name, value, reading)) return `${tag}[${name}=${quoted(value)}]`;
  }
  return "";
}

/** From an anchor, or the root, down by child steps: unique by the way it is built. */
const cssOf = (element, reading) => descend(element, "css", reading, domParent, cssStep);

function cssStep(element, above, reading) {
  // The way to the host is part of a path in its shadow root, whatever anchors there are inside.
  const before = above ? above + (isInShadowRoot(element) ? " >>> " : " > ") : "";
  if (reading.marks(element) & IDENTIFYING) {
    const root = getRoot(element);
    const anchor = anchorOf(element, root, reading);
    if (anchor) return (isShadowRoot(root) ? before.slice(0, before.lastIndexOf(" >>> ") + 5) : "") + anchor;
  }
  const tag = escapedTag(element);
  const place = placeOf(element, reading);
  return before + (place ? `${tag}:nth-of-type(${place})` : tag);
}

const PLAIN_TAG = /^[a-z][a-z\d-]*$/;

function escapedTag(element) {
  const tag = tagOf(element);
  return PLAIN_TAG.test(tag) ? tag : CSS.escape(tag);
}

// -------------------------------------------------------------------------------------------- surroundings

const LANDMARKS = new Set(["banner", "navigation", "main", "complementary", "contentinfo", "form", "region", "search",
  "dialog", "alertdialog", "table", "grid", "treegrid", "list", "listbox", "menu", "menubar", "tablist", "tree",
  "toolbar", "radiogroup", "feed"]);

const NO_PART = { role: "" };

/** Role and name of an element as a container, and the heading that names it; the role is "" where it is none. */
const partOf = (element, reading) => (reading.of(element).part ??= makePart(element, reading));

function makePart(element, reading) {
  const tag = tagOf(element), role = roleOf(element, reading);
  if (tag === "form" || tag === "fieldset") return { role: tag === "form" ? "form" : "group", ...namedBy(element, reading) };
  if (LANDMARKS.has(role)) return { role, ...namedBy(element, reading) };
  if (tag !== "section" && tag !== "article" && role !== "group") return NO_PART;
  const named = namedBy(element, reading);
  return named.name ? { role: role || "section", ...named, isByName: true } : NO_PART;
}

/** The name of a container: its own, or that of a heading in it. */
function namedBy(element, reading) {
  const own = nameOf(element, reading);
  if (own) return { name: cut(own, 60) };
  const heading = queryAll(element, "h1,h2,h3,h4,h5,h6,[role=heading],legend,caption")[0];
  // A heading of an inner part is not this part's heading: only one near the top counts.
  if (!heading || depthBetween(element, heading) > 3) return { name: "" };
  return { name: cut(nameOf(heading, reading) || textOf(heading, reading, 60), 60), heading };
}

function depthBetween(ancestor, element) {
  let depth = 0;
  for (let at = element; at && at !== ancestor; at = flatParent(at)) depth++;
  return depth;
}

/** Role and name of the nearest landmark, form, dialog, table, list or headed section: `form "Compose"`. */
function containerOf(element, reading) {
  for (let at = around(element, reading); at; at = around(at, reading)) {
    const { role, name, heading, isByName } = partOf(at, reading);
    // A heading further down is not of the fields before it.
    const isNamed = name && !(heading && isWrittenIn(element) && isBefore(element, heading));
    if (isNamed || !isByName) return isNamed ? `${role} "${name}"` : role;
  }
  return "";
}

/** The nearest container around an element, or null. */
function around(element, reading) {
  const parent = reading.parent(element);
  return parent ? descend(parent, "around", reading, flatParentIn, aroundStep) : null;
}

const aroundStep = (element, above, reading) => (partOf(element, reading).role ? element : above || null);
const flatParentIn = (element, reading) => reading.parent(element);

/** Returns whether an element is a field or a list, which may stand above a heading; a box to tick may stand in its line. */
const isWrittenIn = (element) => isEditable(element) || isList(element);
const isBefore = (element, other) => compareNodes(element, other) === Node.DOCUMENT_POSITION_FOLLOWING;

const roleAttribute = (element) => attr(element, "role");

/** Tag and first class of an element: what stands side by side and is alike in them is of one kind. */
function likeness(element) {
  const classes = attr(element, "class");
  const end = classes.search(/\s/);
  return `${tagOf(element)}.${end < 0 ? classes : classes.slice(0, end)}`;
}

/** The siblings of an element's kind near by: a list of thousands is not walked for each of its items. */
function siblingsAlike(element, kindOfOne = likeness) {
  const kind = kindOfOne(element);
  const alike = [];
  for (const step of [previousElementOf, nextElementOf]) {
    let looked = 0;
    for (let at = step(element); at && looked < 3; at = step(at), looked++) if (kindOfOne(at) === kind) alike.push(at);
  }
  return alike;
}

/** Returns whether an element is one of several of its kind side by side: a table row, a list item, a card. */
function isRepeated(element, reading) {
  const tag = tagOf(element);
  const role = attr(element, "role");
  const rowLike = tag === "tr" || tag === "li" || role === "row" || role === "listitem" || role === "option" ||
    role === "treeitem" || tag === "dd";
  const parent = parentNodeOf(element);
  if (!parent || tag === "td" || tag === "th" || tag === "body" || tag === "option" || tag === "label") return false;
  // Plain blocks repeat everywhere: only several alike with at least two texts each, or a text and what is pressed, are rows.
  const block = tag === "div" || tag === "section";
  if (tag !== "tr" && tag !== "article" && !rowLike && (!block || attr(element, "class") === "" || !firstElementOf(element))) return false;
  // Of the panels behind tabs one is shown at a time: rows are seen side by side.
  const alike = siblingsAlike(element, role === "row" ? roleAttribute : likeness).filter((other) => !block || reading.isShown(other)), like = alike.length;
  if (tag === "tr") return like >= 1 || isDataRow(element);
  if (rowLike) return like >= 1;
  const least = tag === "article" ? 1 : 2;
  if (like < least) return false;
  return cellsOf(element, reading).length >= 2 || (hasSigns(element, reading) && alike.filter((other) => hasSigns(other, reading)).length >= least);
}

/** Returns whether an element has a text, and beside it a part with nothing but signs to press. */
function hasSigns(element, reading) {
  const isSigns = (part) => isElement(part) && !textOf(part, reading, 60) && (matches(part, PRESSED) || queryAll(part, PRESSED).length > 0);
  return cellsOf(element, reading).length === 1 && partsOf(element).some(isSigns);
}
const PRESSED = "button,a[href],[role=button],[role=link]";

/** Returns whether a <tr> is one of several, or the only one of a table with headings; any other lays out a page. */
function isDataRow(row) {
  for (const step of [previousElementOf, nextElementOf]) {
    for (let at = step(row); at; at = step(at)) if (tagOf(at) === "tr") return true;
  }
  const table = closest(row, "table");
  return Boolean(table) && Array.from(queryAll(table, "th")).some((head) => closest(head, "table") === table);
}

/**
 * The row that an element is in, or null: the nearest ancestor that repeats. One that says the element's own words and no
 * more ("Edit", an item of a list of actions) gives way to a further one, beside which another has such an element, too;
 * rows may differ in their class, as every second one does.
 */
function rowElementOf(element, reading) {
  let at = element;
  let bare = null;
  for (let depth = 0; at && depth < 8; depth++, at = reading.parent(at)) {
    const tag = tagOf(at);
    if (tag === "table" || tag === "form" || tag === "body" || tag === "main" || tag === "nav") break;
    if (at === element && tag !== "tr") continue;
    if (isLayer(at) && fillsWindow(at, reading)) break;
    const facts = reading.of(at);
    if (!(facts.repeats ??= isRepeated(at, reading))) continue;
    if (!bare && saysMore(at, element, reading)) return at;
    if (bare && siblingsAlike(at, tagOf).some((other) => holdsAlike(other, element, reading))) return at;
    bare ??= at;
  }
  return bare;
}

/** Returns whether an element is as large as the window: what lies over the whole page is a dialog's ground, no row. */
function fillsWindow(element, reading) {
  const { width, height } = reading.box(element);
  return width >= innerWidth && height >= innerHeight;
}

/** Returns whether a row says anything beside the words of an element in it. */
function saysMore(row, element, reading) {
  const own = textOf(element, reading, 60);
  return cellsOf(row, reading).some((cell) => cell !== own);
}

/** Returns whether a part of the page has an element with the tag and the words of another, or its tip. */
function holdsAlike(part, element, reading) {
  const said = (one) => textOf(one, reading, 60) || attr(one, "aria-label") || attr(one, "title");
  const own = said(element);
  return Array.from(queryAll(part, CSS.escape(tagOf(element)))).some((one) => said(one) === own);
}

/** A row's cells, or what stands for them: its children, or those of its only one. */
function partsOf(row) {
  let parts = Array.from(flatChildren(row)).filter((node) => isElement(node) || /\S/.test(isText(node) ? dataOf(node) : ""));
  while (parts.length === 1 && isElement(parts[0])) {
    const inner = Array.from(flatChildren(parts[0])).filter((node) => isElement(node));
    if (inner.length < 2) break;
    parts = inner;
  }
  return parts;
}

/** The texts of a row's cells: at most eight of at most sixty characters. */
function cellsOf(row, reading) {
  const facts = reading.of(row);
  if (facts.cells) return facts.cells;
  const cells = [];
  for (const part of partsOf(row)) {
    // What an editor draws is the value of its field.
    if (isElement(part) && reading.isInEditor(part)) continue;
    const text = isElement(part) ? textOf(part, reading, 60) : isText(part) ? cut(collapse(dataOf(part)), 60) : "";
    if (text) cells.push(text);
    if (cells.length === 8) break;
  }
  return (facts.cells = cells);
}

function rowOf(element, reading) {
  const row = rowElementOf(element, reading);
  return row ? cellsOf(row, reading) : [];
}

const UNREAD = new Set(["script", "style", "noscript", "template", "textarea", "select", "option", "input", "iframe",
  "svg", "canvas", "object", "video", "audio", "datalist", "head"]);
const NEIGHBOURS = 8;
const NEIGHBOUR_LIMIT = 40;

/** The next node in the flat tree in document order, not going into `node`. */
function after(node, direction) {
  for (let at = node; at; at = flatParent(at)) {
    const sibling = flatSibling(at, direction);
    if (sibling) return sibling;
  }
  return null;
}

const WORD = /[\p{L}\p{N}]/u;

/** The words that a field shows while it is empty. They count as a text near by, as the field's label does. */
function hintOf(element, tag) {
  const hint = tag === "input" || tag === "textarea" ? saidOf(element, "placeholder") : "";
  return WORD.test(hint) ? hint : "";
}

/** A text node with a word in it, or a field with a hint, as `{node, text, box}`, or null when nothing of it is drawn. */
function textEntry(node, reading) {
  let entry = reading.textEntries.get(node);
  if (entry === undefined) {
    const box = isText(node) ? boxOfText(node, reading) : drawnBox(node, reading);
    const text = isText(node) ? headOf(node) : hintOf(node, tagOf(node));
    // The title of a tab is that of all in its panel, and another one for each.
    const around = parentNodeOf(node);
    const ofTab = isElement(around) && closest(around, "[role=tab]") !== null;
    entry = box && { node, ofTab, text: cut(collapse(text.slice(0, 4 * NEIGHBOUR_LIMIT)), NEIGHBOUR_LIMIT), box };
    reading.textEntries.set(node, entry);
  }
  return entry;
}

/**
 * Box of a text, or null where nothing of it is read. The box of an element without other content serves: measuring a
 * range costs more.
 */
function boxOfText(node, reading) {
  const parent = parentNodeOf(node);
  const alone = isElement(parent) && !nextSiblingOf(node) && !previousSiblingOf(node);
  if (alone && reading.isSign(parent)) return null;
  if (alone && reading.standing(parent) === SHOWN) return drawnBox(parent, reading);
  const rect = textBox(node);
  return rect && plainBox(rect);
}

function drawnBox(element, reading) {
  const box = reading.box(element);
  return box.width > 0 && box.height > 0 ? box : null;
}

/** Visible texts before (-1) or after (1) an element in document order, as `{text, box}`; with the hints of fields. */
function textsBeside(element, direction, reading) {
  return entriesBeside(element, direction, reading, { wanted: NEIGHBOURS, budget: 2000, hints: true });
}

/**
 * The entries of these texts; `spoken` passes over what is hidden from readers, as the numbers of an editor's lines are, and over
 * what a drawn list shows as chosen.
 */
function entriesBeside(element, direction, reading, { wanted, budget, hints = false, spoken = false }) {
  const found = [];
  let left = budget;
  const visit = (node, depth) => {
    if (found.length >= wanted || --left < 0) return;
    const type = nodeTypeOf(node);
    if (type === 3) {
      const entry = WORD.test(headOf(node)) ? textEntry(node, reading) : null;
      if (entry) found.push(entry);
      return;
    }
    if (type !== 1 || depth > TEXT_DEPTH || reading.isEditingHost(node) || reading.isSurface(node)) return;
    const tag = tagOf(node);
    if (UNREAD.has(tag)) {
      const entry = hints && hintOf(node, tag) && reading.standing(node) === SHOWN ? textEntry(node, reading) : null;
      if (entry) found.push(entry);
      return;
    }
    const standing = reading.standing(node);
    if (standing === ABSENT || (spoken && (attr(node, "aria-hidden") === "true" || attr(node, "role") === "combobox"))) return;
    for (let child = flatEnd(node, direction); child; child = flatSibling(child, direction)) {
      if (standing !== VEILED || !isText(child)) visit(child, depth + 1);
    }
  };
  const whole = reading.surfaceOf(element) ?? element;
  for (let node = after(whole, direction); node && found.length < wanted && left > 0; node = after(node, direction)) {
    visit(node, 0);
  }
  return found;
}

/** Distance between two boxes; what stands on the same line is nearer than what stands above or below. */
function gap(a, b) {
  const dx = Math.max(0, a.left - b.right, b.left - a.right);
  const dy = Math.max(0, a.top - b.bottom, b.top - a.bottom);
  return dx + 2 * dy;
}

/** The different words of the texts nearest to a box, nearest first; of equally near ones those given first. */
function nearest(box, texts) {
  const sorted = [], gaps = [];
  for (let i = 0; i < texts.length; i++) {
    const far = gap(box, texts[i].box);
    let at = i;
    for (; at > 0 && gaps[at - 1] > far; at--) {
      gaps[at] = gaps[at - 1];
      sorted[at] = sorted[at - 1];
    }
    gaps[at] = far;
    sorted[at] = texts[i].text;
  }
  const kept = [];
  for (let i = 0; i < sorted.length && kept.length < NEIGHBOURS; i++) {
    if (!kept.includes(sorted[i])) kept.push(sorted[i]);
  }
  return kept;
}

function neighboursOf(element, reading) {
  const texts = [...textsBeside(element, -1, reading), ...textsBeside(element, 1, reading)];
  return nearest(reading.box(element), texts);
}

/** Returns whether a text is short enough to name a field; a nearby sentence is no label. */
function isLabel(text) {
  return text !== "" && text.length <= LABEL_LIMIT && !(SENTENCE_END.test(text) && text.split(" ").length > 3);
}

const LABEL_LIMIT = 50;
const SENTENCE_END = /[.!…]["'”’)]?$/;

const LABELLED = new Set(["textbox", "searchbox", "combobox", "listbox", "checkbox", "radio", "switch", "slider",
  "spinbutton", "meter", "progressbar"]);

/** The text of the <label>, or what stands where a label stands: before a field, after a tick box, or in the cell before. */
function labelOf(element, role, reading) {
  const labels = reading.labels(element);
  if (labels.length) {
    const native = labels.map((label) => textOf(label, reading, 120)).filter(Boolean).join(" ");
    if (native) return cut(native, 120);
  }
  if (!LABELLED.has(role) && !has(element, "contenteditable")) return SIGNED.has(role) ? signOf(element, reading) : "";
  const cell = closest(element, "td,th,[role=cell],[role=gridcell]");
  if (cell) {
    const before = previousElementOf(cell);
    const text = before && !queryAll(before, "input,select,textarea").length ? textOf(before, reading, 120) : "";
    if (isLabel(text)) return text;
  }
  const box = reading.box(reading.surfaceOf(element) ?? element);
  const directions = role === "checkbox" || role === "radio" || role === "switch" ? [1, -1] : [-1];
  for (const direction of directions) {
    const texts = (wanted) => entriesBeside(element, direction, reading, { wanted, budget: 30, spoken: true });
    let [found] = texts(1);
    if (found && headsAnother(found.box, box)) found = texts(HEADS).find((text) => !headsAnother(text.box, box));
    // What labels a field stands close: on its line or right above it.
    const isClose = found && gap(box, found.box) < 60 && isLabel(found.text) && !found.ofTab;
    if (isClose && mayLabel(found.node, element, reading)) return found.text;
  }
  return "";
}

/** Texts before a field that may head other columns than its own. */
const HEADS = 8;

/** Returns whether a text above a field begins where that ends: it heads what stands beside the field. */
const headsAnother = (text, box) => text.left > box.left + 0.9 * (box.right - box.left) && text.bottom <= box.top + 1;

const SIGNED = new Set(["button", "link", "menuitem", "tab"]);
/** Parts of a control that are looked at for a sign. */
const SIGN_PARTS = 12;
const SIGN_ATTRIBUTES = [...TEST_IDS, "data-icon"];

/**
 * How the page's author calls the sign that is all there is on a nameless control, though no reader hears it: the word that an
 * icon font draws, the name in the font's classes (`mdi mdi-delete`), or that of an <svg> (`data-testid="DeleteIcon"`, `#delete`).
 */
function signOf(element, reading) {
  const said = nameOf(element, reading) || textOf(element, reading, 60);
  if (said.replace(ICON, "").trim()) return "";
  for (const part of Array.from(queryAll(element, "*")).slice(0, SIGN_PARTS)) {
    const called = reading.isSign(part) ? dataOf(firstChildOf(part)).trim() : signInMarkup(part, reading);
    if (called) return cut(called, 60);
  }
  return "";
}

function signInMarkup(part, reading) {
  if (tagOf(part) === "use") return /#([^#]+)$/.exec(attr(part, "href") || attr(part, "xlink:href"))?.[1] ?? "";
  const isDrawing = tagOf(part) === "svg";
  const given = isDrawing ? SIGN_ATTRIBUTES.map((name) => attr(part, name)).find(Boolean) : "";
  if (given) return given;
  if (!isDrawing && (firstChildOf(part) || !pseudoContent(part, "::before", { reading }).match(ICON))) return "";
  const classes = attr(part, "class").split(/\s+/).filter(Boolean);
  for (const set of classes) {
    const sign = classes.find((one) => one.startsWith(`${set}-`) && one[set.length + 1] !== "-");
    if (sign) return sign.slice(set.length + 1);
  }
  return "";
}

/** Returns whether a text may label a field. What ends the row above is said of that row, where the field's has texts, too. */
function mayLabel(text, element, reading) {
  const row = rowElementOf(element, reading);
  if (!row || flatContains(row, text) || !cellsOf(row, reading).length) return true;
  return !siblingsAlike(row).some((other) => flatContains(other, text));
}

/** The Target of one element; `known` gives parts that a walk has worked out already. */
function describe(element, reading = new Reading(), known = {}) {
  const facts = reading.of(element);
  return (facts.target ??= makeTarget(element, reading, known));
}

function makeTarget(element, reading, known) {
  const identity = identityOf(element, reading);
  const target = {
    tag: identity.tag,
    role: identity.role,
    name: identity.name,
    text: textOf(element, reading, 200),
    attributes: attributesOf(element, reading),
    xpath: xpathOf(element, reading),
    css: cssOf(element, reading),
    elementHash: elementHash(element, reading, identity),
    box: pageBox(element, reading),
  };
  // What many elements have not is left out: Python puts it back.
  const query = identity.tag === "a" || identity.tag === "area" ? queryOf(element) : "";
  if (query) target.query = query;
  const label = labelOf(element, identity.role, reading);
  if (label) target.label = label;
  const neighbours = known.neighbours ?? neighboursOf(element, reading);
  if (neighbours.length) target.neighbours = neighbours;
  const container = containerOf(element, reading);
  if (container) target.container = container;
  const row = rowOf(element, reading);
  if (row.length) target.row = row;
  if (holdsFocus(element)) target.focused = true;
  return target;
}

function pageBox(element, reading) {
  const { left, top, width, height } = reading.box(element);
  const { x, y } = reading.scrolled;
  return { x: round(left + x), y: round(top + y), width: round(width), height: round(height) };
}

const round = (value) => Math.round(value * 10) / 10;

/** `button "Send"`: how an element is called in messages. */
function briefly(element, reading = new Reading()) {
  const { tag, role, name } = identityOf(element, reading);
  const text = cut(name || textOf(element, reading, 60), 60);
  return text ? `${role || tag} "${text}"` : role || tag;
}
