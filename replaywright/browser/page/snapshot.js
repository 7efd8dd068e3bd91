/* Reading a whole document in one walk over the flat tree: what can be acted on, and what a reader needs beside it. */

const LIMITS = { maxElements: 3000, maxNodes: 50000, maxMs: 400, maxDepth: 400 };

const ACTIONABLE_ROLES = new Set(["button", "link", "textbox", "searchbox", "combobox", "listbox", "checkbox", "radio",
  "switch", "slider", "spinbutton", "menuitem", "menuitemcheckbox", "menuitemradio", "tab", "option", "treeitem",
  "gridcell", "scrollbar"]);
const CONTEXT_ROLES = new Set(["heading", "alert", "status", "alertdialog", "dialog", "cell", "columnheader", "rowheader",
  "caption", "tooltip", "log", "progressbar", "meter", "img", "definition", "term", "paragraph", "listitem"]);
const SKIPPED = new Set(["script", "style", "noscript", "template", "head", "meta", "link", "title", "option", "optgroup",
  "datalist", "source", "track", "param", "base", "br", "wbr", "col", "colgroup"]);
const CONTEXT_TEXT_LIMIT = 160;

function isActionable(element, tag, role, reading, inside) {
  if (role === "gridcell") return has(element, "tabindex") || has(element, "onclick");
  if (ACTIONABLE_ROLES.has(role)) return true;
  if (tag === "input") return inputTypeOf(element) !== "hidden";
  if (has(element, "onclick") || isEditingHost(element)) return true;
  const tabindex = getAttribute.call(element, "tabindex");
  if (tabindex !== null && Number(tabindex) >= 0) return true;
  if (tag === "label") {
    // A label whose control is not to be seen is what gets clicked.
    const control = controlOf(element);
    return Boolean(control && !reading.isShown(control));
  }
  // Listeners cannot be seen from here; the pointer says what the page means to be clicked. It is inherited, so
  // only the element where it begins counts, and not inside something that is actionable anyway.
  return !inside && (tag === "div" || tag === "span" || tag === "li" || tag === "td" || tag === "tr" || tag === "a" ||
    tag === "svg" || tag === "img" || tag === "p" || tag.includes("-")) && pointerBeginsAt(element, reading);
}

function pointerBeginsAt(element, reading) {
  if (reading.style(element).cursor !== "pointer") return false;
  const parent = flatParent(element);
  return !parent || reading.style(parent).cursor !== "pointer";
}

function statesOf(element, role, reading) {
  const states = [];
  const aria = (name) => attr(element, name).toLowerCase();
  if (matches(element, ":disabled") || aria("aria-disabled") === "true") states.push("disabled");
  const checked = checkedOf(element);
  if (checked) states.push("checked");
  const expanded = aria("aria-expanded") ||
    (tagOf(element) === "summary" ? String(has(parentNodeOf(element), "open")) : "");
  if (expanded === "true") states.push("expanded");
  if (expanded === "false") states.push("collapsed");
  if (has(element, "required") || aria("aria-required") === "true") states.push("required");
  if (aria("aria-invalid") && aria("aria-invalid") !== "false") states.push("invalid");
  else if (matches(element, ":user-invalid")) states.push("invalid");
  if (aria("aria-selected") === "true" || (aria("aria-current") && aria("aria-current") !== "false")) states.push("selected");
  if (aria("aria-readonly") === "true" || (has(element, "readonly") && /^(?:input|textarea)$/.test(tagOf(element)))) {
    states.push("readonly");
  }
  if (element === reading.active) states.push("focused");
  return states;
}

/** The document as a Snapshot, within limits; what was left out is said in `notes`. */
function takeSnapshot(given) {
  const limits = { ...LIMITS, ...given };
  const started = performance.now();
  const reading = new Reading();
  reading.active = deepActive();
  const walk = {
    reading, limits, started, nodes: 0, picked: [], texts: [], frames: [], notes: new Set(), closed: 0, stopped: "",
    width: innerWidth, height: innerHeight,
  };
  const top = bodyOf(document) ?? rootElementOf(document);
  if (top) visitElement(top, walk, { depth: 0, actionable: false, opaque: false });
  const elements = describePicked(walk);
  if (walk.closed) {
    walk.notes.add(`${walk.closed} custom element(s) draw something that cannot be read: probably closed shadow roots`);
  }
  if (walk.stopped) walk.notes.add(walk.stopped);
  return {
    url: location.href,
    title: titleOf(document),
    elements,
    notes: [...walk.notes],
    nodeCount: walk.nodes,
    frames: walk.frames,
  };
}

function visitElement(element, walk, inherited) {
  const { reading, limits } = walk;
  if (walk.stopped) return;
  if (++walk.nodes > limits.maxNodes) return void (walk.stopped = `stopped after ${limits.maxNodes} nodes`);
  if ((walk.nodes & 127) === 0 && performance.now() - walk.started > limits.maxMs * 0.6) {
    return void (walk.stopped = `stopped after ${walk.nodes} nodes: the page took too long to read`);
  }
  if (inherited.depth > limits.maxDepth) {
    return void walk.notes.add(`nested deeper than ${limits.maxDepth} elements: the rest was left out`);
  }
  const tag = tagOf(element);
  if (SKIPPED.has(tag)) return;
  const visible = checkVisibility.call(element, VISIBLE);
  const transparent = !visible && passesThrough(element, reading);
  if (!visible && !transparent) return;
  if (tag === "iframe" || tag === "frame") return void visitFrame(element, walk);
  const role = roleOf(element, reading);
  const actionable = visible && isActionable(element, tag, role, reading, inherited.actionable);
  const context = visible && !actionable && !inherited.actionable && isContext(element, tag, role, inherited);
  let place = -1;
  if (actionable || context) {
    const rect = rectOf(element);
    if ((rect.width > 0 && rect.height > 0) || reading.isShown(element)) {
      place = walk.picked.length;
      walk.picked.push({ element, role, actionable, rect, textFrom: walk.texts.length, textTo: 0 });
    }
  }
  const scrolls = visible && place < 0 && !inherited.actionable && isScroller(element, tag);
  if (scrolls) {
    place = walk.picked.length;
    walk.picked.push({ element, role, actionable: false, scrollable: true, rect: rectOf(element),
      textFrom: walk.texts.length, textTo: 0 });
  }
  const root = shadowOf(element);
  if (!root && tag.includes("-") && !firstChildOf(element) && looksDrawn(element)) walk.closed++;
  const inner = {
    depth: inherited.depth + 1,
    actionable: inherited.actionable || (actionable && CHILDREN_PRESENTATIONAL.has(role)) || tag === "svg",
    covered: inherited.covered || (context && READ_WHOLE.has(role)),
  };
  if (!UNREAD.has(tag) && !isEditingHost(element)) {
    for (const child of flatChildren(element)) {
      const type = nodeTypeOf(child);
      if (type === 1) visitElement(child, walk, inner);
      else if (type === 3 && visible) visitText(child, element, walk);
      if (walk.stopped) break;
    }
  }
  if (place >= 0) walk.picked[place].textTo = walk.texts.length;
}

/** Contexts that are shown as one text: what is inside gives no line of its own unless it can be acted on. */
const READ_WHOLE = new Set(["heading", "cell", "columnheader", "rowheader", "caption", "paragraph", "alert", "status",
  "listitem", "term", "definition", "tooltip"]);

/** Hidden elements whose descendants may still be seen: display: contents, visibility undone further down. */
function passesThrough(element, reading) {
  const style = reading.style(element);
  if (style.display === "contents") return true;
  return style.visibility !== "visible" && style.display !== "none" && checkVisibility.call(element);
}

function visitText(node, parent, walk) {
  const data = dataOf(node);
  if (data.length < 2 && !/[\p{L}\p{N}]/u.test(data)) return;
  if (!/[\p{L}\p{N}]/u.test(data)) return;
  walk.texts.push({ node, parent, text: "", box: null });
}

function isContext(element, tag, role, inherited) {
  if (inherited.covered) return role === "alert" || role === "status";
  if (tag === "label") return !controlOf(element);
  if (tag === "legend") return true;
  if (tag === "body" || tag === "html") return false;
  if (role === "listitem") return !queryAll(element, "a,button,input,select,textarea").length;
  if (role === "paragraph" || role === "cell") return true;
  if (CONTEXT_ROLES.has(role)) return true;
  // Plain blocks with text of their own: what a reader reads where the page has no better words.
  return !role && hasOwnText(element);
}

function hasOwnText(element) {
  for (let child = firstChildOf(element); child; child = nextSiblingOf(child)) {
    if (isText(child) && /[\p{L}\p{N}]/u.test(dataOf(child))) return true;
  }
  return false;
}

const scrollHeightOf = getterOf(Element.prototype, "scrollHeight");
const scrollWidthOf = getterOf(Element.prototype, "scrollWidth");
const clientHeightOf = getterOf(Element.prototype, "clientHeight");
const clientWidthOf = getterOf(Element.prototype, "clientWidth");

function isScroller(element, tag) {
  if (tag !== "div" && tag !== "section" && tag !== "main" && tag !== "ul" && tag !== "aside" && tag !== "nav" &&
    tag !== "tbody" && tag !== "ol" && tag !== "article") return false;
  const height = clientHeightOf(element);
  if (height < 40 || scrollHeightOf(element) <= height + 8) return false;
  const overflow = getComputedStyle(element).overflowY;
  return overflow === "auto" || overflow === "scroll";
}

function looksDrawn(element) {
  const rect = rectOf(element);
  return rect.width > 8 && rect.height > 8;
}

function visitFrame(element, walk) {
  const rect = rectOf(element);
  if (!(rect.width > 1 && rect.height > 1)) return;
  const place = walk.picked.length;
  walk.picked.push({ element, role: "", actionable: false, frame: true, rect, textFrom: walk.texts.length,
    textTo: walk.texts.length });
  let url = "";
  try {
    const given = new URL(attr(element, "src") || "about:blank", document.baseURI);
    url = given.origin === "null" ? given.protocol + given.pathname : given.origin + given.pathname;
  } catch {
    url = "";
  }
  walk.frames.push({ place, name: attr(element, "name") || attr(element, "id"), title: attr(element, "title"), url,
    index: walk.frames.length, rect, left: rect.left + element.clientLeft, top: rect.top + element.clientTop });
}

/** Boxes of texts are measured only for those that may be a neighbour of something. */
function measured(entry, reading) {
  if (entry.box === null) {
    entry.text = cut(collapse(dataOf(entry.node)), NEIGHBOUR_LIMIT);
    entry.box = textBox(entry.node) ?? false;
  }
  return entry.box ? entry : null;
}

function neighboursAt(item, walk) {
  const near = [];
  for (let i = item.textFrom - 1, n = 0; i >= 0 && n < NEIGHBOURS; i--) {
    const entry = measured(walk.texts[i], walk.reading);
    if (entry) near.push(entry), n++;
  }
  for (let i = item.textTo, n = 0; i < walk.texts.length && n < NEIGHBOURS; i++) {
    const entry = measured(walk.texts[i], walk.reading);
    if (entry) near.push(entry), n++;
  }
  return nearest(item.rect, near);
}

function describePicked(walk) {
  const { reading, limits, picked } = walk;
  let chosen = picked;
  if (picked.length > limits.maxElements) {
    // What can be acted on and what is on the screen goes first; the order of the document stays.
    const rank = (item) => (item.frame ? 3 : 0) + (item.actionable ? 2 : 0) + (isOnScreen(item.rect, walk) ? 1 : 0);
    const kept = new Set(picked.map((item, order) => ({ item, order })).sort((a, b) =>
      rank(b.item) - rank(a.item) || a.order - b.order).slice(0, limits.maxElements).map(({ item }) => item));
    chosen = picked.filter((item) => kept.has(item));
    walk.notes.add(`${picked.length - chosen.length} of ${picked.length} elements left out: more than ${limits.maxElements}`);
  }
  const elements = [];
  for (const item of chosen) {
    if ((elements.length & 31) === 0 && performance.now() - walk.started > limits.maxMs) {
      walk.notes.add(`${chosen.length - elements.length} elements left out: the page took too long to describe`);
      break;
    }
    const { element, role } = item;
    if (!item.actionable && !item.frame && !item.scrollable && !saysSomething(item, reading)) continue;
    const target = item.actionable || item.frame || item.scrollable
      ? describe(element, reading, { rect: item.rect, neighbours: neighboursAt(item, walk) })
      : describeContext(item, reading);
    item.id = `e${elements.length + 1}`;
    const states = item.actionable ? statesOf(element, role, reading) : [];
    if (item.scrollable || (item.actionable && isScroller(element, tagOf(element)))) states.push("scrollable");
    elements.push({
      id: item.id,
      target,
      actionable: item.actionable,
      visible: true,
      inViewport: isOnScreen(item.rect, walk),
      value: item.actionable ? cut(valueOf(element, reading), 500) : "",
      states,
      options: element instanceof HTMLSelectElement
        ? Array.from(optionsOf(element)).slice(0, 30).map((option) => cut(collapse(optionLabelOf(option)), 60)) : [],
    });
  }
  walk.frames = walk.frames.map(({ place, rect, left, top, ...frame }) => ({
    elementId: picked[place].id ?? "",
    ...frame,
    box: { x: round(left), y: round(top), width: round(rect.width), height: round(rect.height) },
  }));
  return elements;
}

const saysSomething = (item, reading) =>
  item.role === "img" || item.role === "progressbar" || item.role === "meter" || item.role === "dialog"
    ? Boolean(nameOf(item.element, reading)) : /[\p{L}\p{N}]/u.test(textOf(item.element, reading, 200));

/** Context is for reading: only what a line of text and a place in the page need. */
function describeContext(item, reading) {
  const { element, role, rect } = item;
  const text = textOf(element, reading, CONTEXT_TEXT_LIMIT);
  const name = role === "heading" || role === "img" || role === "dialog" || role === "alertdialog"
    ? nameOf(element, reading) : "";
  return {
    tag: tagOf(element),
    role,
    name: cut(name, 200),
    text: role === "dialog" || role === "alertdialog" ? "" : text,
    xpath: xpathOf(element, reading),
    container: containerOf(element, reading),
    box: { x: round(rect.x + scrollX), y: round(rect.y + scrollY), width: round(rect.width), height: round(rect.height) },
  };
}

function isOnScreen(rect, walk) {
  return rect.bottom > 0 && rect.right > 0 && rect.top < walk.height && rect.left < walk.width;
}
