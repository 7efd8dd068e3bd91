/* Describing an element as a Target: everything that may find it again and tell it from its like. */

const TEST_IDS = ["data-testid", "data-test", "data-test-id", "data-qa", "data-cy"];
const KEPT_ATTRIBUTES = new Set(["id", "class", "name", "type", "placeholder", "title", "alt", ...TEST_IDS]);
/** aria-* that says what state the element is in, not which element it is. */
const STATE_ARIA = new Set(["aria-valuenow", "aria-valuetext", "aria-checked", "aria-selected", "aria-expanded",
  "aria-pressed", "aria-busy", "aria-hidden", "aria-disabled", "aria-invalid", "aria-activedescendant",
  "aria-describedby", "aria-controls", "aria-owns", "aria-current"]);
const ATTRIBUTE_LIMIT = 200;

/**
 * Whether an identifier looks made by a program: it will be another one after the next build or visit.
 * Digits in a row, letters and digits mixed, or the known prefixes of frameworks.
 */
function looksGenerated(id) {
  return /\d{2}|[a-z]\d+[a-z]|\d[a-z]\d|^\d|^:|[^\w\-.:]|^(?:radix|react|mui|ember|ext-|gwt-|yui|headlessui|cdk-|mat-)/i
    .test(id) || id.length > 60;
}

/** Path of a link: no query, no fragment; the origin in front when it is another. Fragments alone say nothing. */
function hrefPath(element) {
  const raw = attr(element, "href").trim();
  if (!raw || raw.startsWith("#")) return "";
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

function attributesOf(element) {
  const kept = {};
  const tag = tagOf(element);
  for (const { name, value } of attributeListOf(element)) {
    if (KEPT_ATTRIBUTES.has(name) || (name.startsWith("aria-") && !STATE_ARIA.has(name))) {
      const text = collapse(value);
      if (text) kept[name] = cut(text, ATTRIBUTE_LIMIT);
    }
  }
  const path = tag === "a" || tag === "area" ? hrefPath(element) : "";
  if (path) kept.href = cut(path, ATTRIBUTE_LIMIT);
  const type = inputTypeOf(element);
  // The value of a button, a radio button or a checkbox is part of what it is; any other is what was typed.
  const isChoice = /^(?:button|submit|reset|image|radio|checkbox)$/.test(type) || tag === "button";
  if (isChoice && /\S/.test(attr(element, "value"))) kept.value = cut(collapse(attr(element, "value")), ATTRIBUTE_LIMIT);
  return kept;
}

/** Role and name as recorded: what has no role gets its visible text for a name, or nothing would confirm it. */
function identityOf(element, reading) {
  const role = roleOf(element, reading);
  let name = nameOf(element, reading);
  if (!name && !role) name = textOf(element, reading, 100);
  return { tag: tagOf(element), role, name: cut(name, 200) };
}

/** Digest of what the element is, without where it stands and how it looks. */
function elementHash(element, reading, identity = identityOf(element, reading)) {
  const parts = [identity.tag, identity.role, normalise(identity.name)];
  for (const key of ["type", "name", "placeholder", "aria-label", ...TEST_IDS]) parts.push(attr(element, key));
  parts.push(identity.tag === "a" || identity.tag === "area" ? hrefPath(element) : "");
  const id = attr(element, "id");
  parts.push(id && !looksGenerated(id) ? id : "");
  return hash64(parts.join("\u0001"));
}

// ------------------------------------------------------------------------------------------------- paths

/** Step of an absolute XPath, with its index among equal tags: `div[2]`. */
function stepOf(element, reading) {
  const tag = tagOf(element);
  const html = namespaceOf(element) === HTML;
  if (html && (tag === "html" || tag === "body")) return tag;
  const parent = parentNodeOf(element);
  let index = 1;
  if (parent) {
    let places = reading.places.get(parent);
    if (!places) {
      // Counted once per parent: a table of a thousand rows must not be counted a thousand times.
      places = new Map();
      const counts = new Map();
      for (let child = firstChildOf(parent); child; child = nextSiblingOf(child)) {
        if (!isElement(child)) continue;
        const count = (counts.get(tagOf(child)) ?? 0) + 1;
        counts.set(tagOf(child), count);
        places.set(child, count);
      }
      reading.places.set(parent, places);
    }
    index = places.get(element) ?? 1;
  }
  return `${html ? tag : `*[name()="${tag}"]`}[${index}]`;
}

function xpathOf(element, reading) {
  const steps = [];
  for (let at = element; at && isElement(at); ) {
    steps.push(stepOf(at, reading));
    const parent = parentNodeOf(at);
    if (parent && isShadowRoot(parent)) {
      steps.push("#shadow");
      at = hostOf(parent);
    } else {
      at = parent;
    }
  }
  return "/" + steps.reverse().join("/");
}

const quoted = (text) => `"${text.replace(/["\\]/g, "\\$&").replace(/\n/g, "\\a ")}"`;

/** How many elements of `root` have this attribute value; counted for a whole root at once, kept for the reading. */
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
  const tag = CSS.escape(tagOf(element));
  for (const name of TEST_IDS) {
    const value = attr(element, name);
    if (value && isUniqueIn(root, name, value, reading)) return `[${name}=${quoted(value)}]`;
  }
  const id = attr(element, "id");
  if (id && !looksGenerated(id) && isUniqueIn(root, "id", id, reading)) return `#${CSS.escape(id)}`;
  for (const name of ["name", "aria-label", "placeholder", "href", "alt"]) {
    const value = attr(element, name);
    if (!value || value.length > 80 || (name === "name" && looksGenerated(value))) continue;
    if (name === "href" && /[?#]|^javascript:/i.test(value)) continue;
    if (isUniqueIn(root, name, value, reading)) return `${tag}[${name}=${quoted(value)}]`;
  }
  return "";
}

/** From an anchor, or the root, down by child steps: unique by the way it is built. */
function cssInRoot(element, root, reading) {
  const steps = [];
  for (let at = element; at && isElement(at); at = parentNodeOf(at)) {
    const anchor = anchorOf(at, root, reading);
    if (anchor) {
      steps.push(anchor);
      break;
    }
    const step = stepOf(at, reading);
    const tag = CSS.escape(tagOf(at));
    const index = /\[(\d+)\]$/.exec(step);
    steps.push(index ? `${tag}:nth-of-type(${index[1]})` : tag);
    const parent = parentNodeOf(at);
    // A shadow root has no selector of its own: paths in it begin at `:host`, which only style sheets know, so
    // a bare path may match deeper down; matching is checked again when it is used.
    if (!parent || !isElement(parent)) break;
  }
  return steps.reverse().join(" > ");
}

function cssOf(element, reading) {
  const parts = [];
  for (let at = element; at; ) {
    const root = getRoot(at);
    parts.push(cssInRoot(at, root, reading));
    at = isShadowRoot(root) ? hostOf(root) : null;
  }
  return parts.reverse().join(" >>> ");
}

// -------------------------------------------------------------------------------------------- surroundings

const LANDMARKS = new Set(["banner", "navigation", "main", "complementary", "contentinfo", "form", "region", "search",
  "dialog", "alertdialog", "table", "grid", "treegrid", "list", "listbox", "menu", "menubar", "tablist", "tree",
  "toolbar", "radiogroup", "feed"]);

function containerRole(element, reading) {
  const tag = tagOf(element);
  if (tag === "form") return "form";
  if (tag === "fieldset") return "group";
  const role = roleOf(element, reading);
  if (LANDMARKS.has(role)) return role;
  if ((tag === "section" || tag === "article" || role === "group") && nameOfContainer(element, reading)) {
    return role || "section";
  }
  return "";
}

function nameOfContainer(element, reading) {
  const name = nameOf(element, reading);
  if (name) return cut(name, 60);
  const heading = queryAll(element, "h1,h2,h3,h4,h5,h6,[role=heading],legend,caption")[0];
  // A heading of an inner part is not this part's heading: only one near the top counts.
  if (!heading || depthBetween(element, heading) > 3) return "";
  return cut(nameOf(heading, reading) || textOf(heading, reading, 60), 60);
}

function depthBetween(ancestor, element) {
  let depth = 0;
  for (let at = element; at && at !== ancestor; at = flatParent(at)) depth++;
  return depth;
}

/** Role and name of the nearest landmark, form, dialog, table, list or headed section: `form "Compose"`. */
function containerOf(element, reading) {
  const parent = flatParent(element);
  if (!parent) return "";
  let container = reading.containers.get(parent);
  if (container === undefined) {
    const role = containerRole(parent, reading);
    if (role) {
      const name = nameOfContainer(parent, reading);
      container = name ? `${role} "${name}"` : role;
    } else {
      container = containerOf(parent, reading);
    }
    reading.containers.set(parent, container);
  }
  return container;
}

const likeness = (element) => tagOf(element) + "." + attr(element, "class").split(/\s+/)[0];

/** Whether an element is one of several of its kind side by side: a table row, a list item, a card. */
function isRepeated(element, reading) {
  const tag = tagOf(element);
  const role = attr(element, "role");
  const rowLike = tag === "tr" || tag === "li" || role === "row" || role === "listitem" || role === "option" ||
    role === "treeitem" || tag === "dd";
  const parent = parentNodeOf(element);
  if (!parent || tag === "td" || tag === "th" || tag === "body" || tag === "option" || tag === "label") return false;
  const kind = likeness(element);
  let like = 0;
  // Siblings near by are enough: a list of thousands is not walked for each of its items.
  for (const step of [previousElementOf, nextElementOf]) {
    let looked = 0;
    for (let at = step(element); at && looked < 3; at = step(at), looked++) if (likeness(at) === kind) like++;
  }
  if (rowLike) return like >= 1 || tag === "tr";
  if (!firstElementOf(element) || (tag !== "article" && tag !== "div" && tag !== "section")) return false;
  // Plain blocks repeat everywhere: only several alike with at least two texts each are rows.
  return like >= (tag === "article" ? 1 : 2) && attr(element, "class") !== "" && cellsOf(element, reading).length >= 2;
}

function rowElementOf(element, reading) {
  let at = element;
  for (let depth = 0; at && depth < 8; depth++, at = flatParent(at)) {
    const tag = tagOf(at);
    if (tag === "table" || tag === "form" || tag === "body" || tag === "main" || tag === "nav") return null;
    if (at !== element || tag === "tr") {
      let known = reading.rows.get(at);
      if (known === undefined) reading.rows.set(at, (known = isRepeated(at, reading)));
      if (known) return at;
    }
  }
  return null;
}

/** The texts of a row's cells, or of what stands for cells: at most eight of at most sixty characters. */
function cellsOf(row, reading) {
  let cells = reading.cells.get(row);
  if (cells) return cells;
  let parts = Array.from(flatChildren(row)).filter((node) => isElement(node) || /\S/.test(isText(node) ? dataOf(node) : ""));
  while (parts.length === 1 && isElement(parts[0])) {
    const inner = Array.from(flatChildren(parts[0])).filter((node) => isElement(node));
    if (inner.length < 2) break;
    parts = inner;
  }
  cells = [];
  for (const part of parts) {
    const text = isElement(part) ? textOf(part, reading, 60) : isText(part) ? cut(collapse(dataOf(part)), 60) : "";
    if (text) cells.push(text);
    if (cells.length === 8) break;
  }
  reading.cells.set(row, cells);
  return cells;
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
    const parent = flatParent(at);
    if (!parent) return null;
    const siblings = flatChildren(parent);
    const index = Array.prototype.indexOf.call(siblings, at);
    if (index >= 0 && siblings[index + direction]) return siblings[index + direction];
  }
  return null;
}

/** Visible texts before (-1) or after (1) an element in document order, as `{text, box}`. */
function textsBeside(element, direction, reading, wanted = NEIGHBOURS, budget = 200) {
  const found = [];
  let left = budget;
  const visit = (node) => {
    if (found.length >= wanted || --left < 0) return;
    const type = nodeTypeOf(node);
    if (type === 3) {
      const data = dataOf(node);
      if (!/[\p{L}\p{N}]/u.test(data)) return;
      const box = textBox(node);
      if (box) found.push({ text: cut(collapse(data), NEIGHBOUR_LIMIT), box });
      return;
    }
    if (type !== 1 || UNREAD.has(tagOf(node)) || isEditingHost(node)) return;
    if (!checkVisibility.call(node, VISIBLE) && reading.style(node).display !== "contents") return;
    const children = flatChildren(node);
    for (let i = 0; i < children.length; i++) visit(children[direction > 0 ? i : children.length - 1 - i]);
  };
  for (let node = after(element, direction); node && found.length < wanted && left > 0; node = after(node, direction)) {
    visit(node);
  }
  return found;
}

/** Distance between two boxes; what stands on the same line is nearer than what stands above or below. */
function gap(a, b) {
  const dx = Math.max(0, a.left - b.right, b.left - a.right);
  const dy = Math.max(0, a.top - b.bottom, b.top - a.bottom);
  return dx + 2 * dy;
}

function nearest(box, texts) {
  const ranked = texts.map((entry, order) => ({ entry, order, gap: gap(box, entry.box) }));
  ranked.sort((a, b) => a.gap - b.gap || a.order - b.order);
  const seen = new Set();
  for (const { entry } of ranked) {
    if (seen.size === NEIGHBOURS) break;
    seen.add(entry.text);
  }
  return [...seen];
}

function neighboursOf(element, reading) {
  const texts = [...textsBeside(element, -1, reading), ...textsBeside(element, 1, reading)];
  return nearest(rectOf(element), texts);
}

const LABELLED = new Set(["textbox", "searchbox", "combobox", "listbox", "checkbox", "radio", "switch", "slider",
  "spinbutton", "meter", "progressbar"]);

/** The text of the <label>, or what stands where a label stands: before a field, after a tick box, or in the cell before. */
function labelOf(element, role, reading) {
  const native = labelsOf(element).map((label) => textOf(label, reading, 120)).filter(Boolean).join(" ");
  if (native) return cut(native, 120);
  if (!LABELLED.has(role) && !has(element, "contenteditable")) return "";
  const cell = closest(element, "td,th,[role=cell],[role=gridcell]");
  if (cell) {
    const before = previousElementOf(cell);
    const text = before && !queryAll(before, "input,select,textarea").length ? textOf(before, reading, 120) : "";
    if (text) return text;
  }
  const box = rectOf(element);
  const directions = role === "checkbox" || role === "radio" || role === "switch" ? [1, -1] : [-1];
  for (const direction of directions) {
    const [found] = textsBeside(element, direction, reading, 1, 30);
    // What labels a field stands close: on its line or right above it.
    if (found && gap(box, found.box) < 60) return found.text;
  }
  return "";
}

/** The Target of one element; `known` gives parts that a walk has worked out already. */
function describe(element, reading = new Reading(), known = {}) {
  let target = reading.targets.get(element);
  if (!target) reading.targets.set(element, (target = makeTarget(element, reading, known)));
  return target;
}

function makeTarget(element, reading, known) {
  const identity = identityOf(element, reading);
  const rect = known.rect ?? rectOf(element);
  return {
    tag: identity.tag,
    role: identity.role,
    name: identity.name,
    text: textOf(element, reading, 200),
    label: labelOf(element, identity.role, reading),
    attributes: attributesOf(element),
    xpath: xpathOf(element, reading),
    css: cssOf(element, reading),
    neighbours: known.neighbours ?? neighboursOf(element, reading),
    container: containerOf(element, reading),
    row: rowOf(element, reading),
    elementHash: elementHash(element, reading, identity),
    box: { x: round(rect.x + scrollX), y: round(rect.y + scrollY), width: round(rect.width), height: round(rect.height) },
  };
}

const round = (value) => Math.round(value * 10) / 10;

/** `button "Send"`: how an element is called in messages. */
function briefly(element, reading = new Reading()) {
  const { tag, role, name } = identityOf(element, reading);
  const text = cut(name || textOf(element, reading, 60), 60);
  return text ? `${role || tag} "${text}"` : role || tag;
}
