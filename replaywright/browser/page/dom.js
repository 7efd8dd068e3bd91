/*
 * Reading the DOM without being fooled by it.
 *
 * A form with <input name="id"> answers `form.id` with the input, in isolated worlds too, and a document with
 * <img name="querySelectorAll"> does the same; so everything is read through the prototypes of this world.
 */

const propertyOf = (prototype, name) => Object.getOwnPropertyDescriptor(prototype, name).get;
const getterOf = (prototype, name) => {
  const get = propertyOf(prototype, name);
  return (self) => get.call(self);
};
const methodOf = (prototype, name) => {
  const method = prototype[name];
  return (self, ...rest) => method.apply(self, rest);
};

// What is asked for every node is written out: functions made by one line share what the engine learns about it, and
// stay slow.
const nodeTypeGetter = propertyOf(Node.prototype, "nodeType");
const nodeTypeOf = (node) => nodeTypeGetter.call(node);
const parentNodeGetter = propertyOf(Node.prototype, "parentNode");
const parentNodeOf = (node) => parentNodeGetter.call(node);
const firstChildGetter = propertyOf(Node.prototype, "firstChild");
const firstChildOf = (node) => firstChildGetter.call(node);
const nextSiblingGetter = propertyOf(Node.prototype, "nextSibling");
const nextSiblingOf = (node) => nextSiblingGetter.call(node);
const previousSiblingGetter = propertyOf(Node.prototype, "previousSibling");
const previousSiblingOf = (node) => previousSiblingGetter.call(node);
const lastChildOf = getterOf(Node.prototype, "lastChild");
const childNodesOf = getterOf(Node.prototype, "childNodes");
const isConnected = getterOf(Node.prototype, "isConnected");
const dataGetter = propertyOf(CharacterData.prototype, "data");
const dataOf = (node) => dataGetter.call(node);
const lengthGetter = propertyOf(CharacterData.prototype, "length");
const lengthOf = (node) => lengthGetter.call(node);
const substringOf = methodOf(CharacterData.prototype, "substringData");
const textContentOf = getterOf(Node.prototype, "textContent");
const getRoot = methodOf(Node.prototype, "getRootNode");
const compareNodes = methodOf(Node.prototype, "compareDocumentPosition");

const tagGetter = propertyOf(Element.prototype, "localName");
const tagOf = (node) => tagGetter.call(node);
const namespaceGetter = propertyOf(Element.prototype, "namespaceURI");
const namespaceOf = (node) => namespaceGetter.call(node);
const shadowGetter = propertyOf(Element.prototype, "shadowRoot");
const shadowOf = (node) => shadowGetter.call(node);
const slotGetter = propertyOf(Element.prototype, "assignedSlot");
const slotOf = (node) => slotGetter.call(node);
const textSlotGetter = propertyOf(Text.prototype, "assignedSlot");
const textSlotOf = (node) => textSlotGetter.call(node);
const childrenOf = getterOf(Element.prototype, "children");
const firstElementGetter = propertyOf(Element.prototype, "firstElementChild");
const firstElementOf = (node) => firstElementGetter.call(node);
const nextElementGetter = propertyOf(Element.prototype, "nextElementSibling");
const nextElementOf = (node) => nextElementGetter.call(node);
const previousElementGetter = propertyOf(Element.prototype, "previousElementSibling");
const previousElementOf = (node) => previousElementGetter.call(node);
const childCountGetter = propertyOf(Element.prototype, "childElementCount");
const childCountOf = (node) => childCountGetter.call(node);
const scrollHeightOf = getterOf(Element.prototype, "scrollHeight");
const scrollWidthOf = getterOf(Element.prototype, "scrollWidth");
const clientHeightOf = getterOf(Element.prototype, "clientHeight");
const clientWidthOf = getterOf(Element.prototype, "clientWidth");
const clientTopOf = getterOf(Element.prototype, "clientTop");
const clientLeftOf = getterOf(Element.prototype, "clientLeft");
const cellIndexOf = getterOf(HTMLTableCellElement.prototype, "cellIndex");
const rectOf = methodOf(Element.prototype, "getBoundingClientRect");
const rectsOf = methodOf(Element.prototype, "getClientRects");
const matches = methodOf(Element.prototype, "matches");
const closest = methodOf(Element.prototype, "closest");
const getAttribute = Element.prototype.getAttribute;
const getAttributeNames = Element.prototype.getAttributeNames;
const hasAttribute = Element.prototype.hasAttribute;
const checkVisibility = Element.prototype.checkVisibility;
const hasOwnProperty = Object.prototype.hasOwnProperty;

/** A text node as far as anything reads it: a node of megabytes is not taken out of the page whole. */
const headOf = (node) => (lengthOf(node) > HEAD_LIMIT ? substringOf(node, 0, HEAD_LIMIT) : dataOf(node));
const HEAD_LIMIT = 2000;

const attr = (element, name) => getAttribute.call(element, name) ?? "";
const has = (element, name) => hasAttribute.call(element, name);
const isElement = (node) => nodeTypeOf(node) === 1;
const isText = (node) => nodeTypeOf(node) === 3;
const isShadowRoot = (node) => node instanceof ShadowRoot;
const HTML = "http://www.w3.org/1999/xhtml";

const bodyOf = getterOf(Document.prototype, "body");
const rootElementOf = getterOf(Document.prototype, "documentElement");
const readyStateOf = getterOf(Document.prototype, "readyState");
const titleOf = getterOf(Document.prototype, "title");
const designModeOf = getterOf(Document.prototype, "designMode");
const activeElementOf = getterOf(Document.prototype, "activeElement");
const shadowActiveElementOf = getterOf(ShadowRoot.prototype, "activeElement");
const hostOf = getterOf(ShadowRoot.prototype, "host");
const documentFromPoint = methodOf(Document.prototype, "elementFromPoint");
const shadowFromPoint = methodOf(ShadowRoot.prototype, "elementFromPoint");
const addListener = methodOf(EventTarget.prototype, "addEventListener");
const removeListener = methodOf(EventTarget.prototype, "removeEventListener");
const dispatch = methodOf(EventTarget.prototype, "dispatchEvent");

/** All elements under a document, shadow root or element that match a selector; none when it is no selector. */
function queryAll(root, selector) {
  try {
    const type = nodeTypeOf(root);
    const prototype = type === 9 ? Document.prototype : type === 11 ? DocumentFragment.prototype : Element.prototype;
    return prototype.querySelectorAll.call(root, selector);
  } catch {
    return [];
  }
}

function byId(root, id) {
  if (!id) return null;
  const prototype = nodeTypeOf(root) === 9 ? Document.prototype : DocumentFragment.prototype;
  return nodeTypeOf(root) === 1 ? null : prototype.getElementById.call(root, id);
}

/** The parent in the flat tree: an assigned node is inside its slot, a shadow root's child inside the host. */
function flatParent(node) {
  const slot = isElement(node) ? slotOf(node) : isText(node) ? textSlotOf(node) : null;
  if (slot) return slot;
  const parent = parentNodeOf(node);
  return parent && isShadowRoot(parent) ? hostOf(parent) : parent && isElement(parent) ? parent : null;
}

/** The children in the flat tree: what is rendered, in the order it is rendered. */
function flatChildren(element) {
  return foreignChildren(element) ?? childNodesOf(element);
}

/** The assigned nodes of a slot, the children of a shadow root: what the children in the flat tree are, if not its own. */
function foreignChildren(element) {
  const root = shadowOf(element);
  if (root) return childNodesOf(root);
  if (!(element instanceof HTMLSlotElement)) return null;
  const assigned = HTMLSlotElement.prototype.assignedNodes.call(element);
  return assigned.length ? assigned : null;
}

/** Whether `holds` is true of a child in the flat tree; asks them in order and stops at the first. */
function someFlatChild(element, holds) {
  const foreign = foreignChildren(element);
  if (foreign) return Array.prototype.some.call(foreign, (child) => holds(child));
  for (let child = firstChildOf(element); child; child = nextSiblingOf(child)) if (holds(child)) return true;
  return false;
}

/** The next (1) or the previous (-1) node among the children of one parent in the flat tree, or null. */
function flatSibling(node, direction) {
  const slot = isElement(node) ? slotOf(node) : isText(node) ? textSlotOf(node) : null;
  if (!slot) return direction > 0 ? nextSiblingOf(node) : previousSiblingOf(node);
  const assigned = HTMLSlotElement.prototype.assignedNodes.call(slot);
  return assigned[assigned.indexOf(node) + direction] ?? null;
}

/** The first (1) or last (-1) child in the flat tree, or null. */
function flatEnd(element, direction) {
  const foreign = foreignChildren(element);
  if (foreign) return foreign[direction > 0 ? 0 : foreign.length - 1] ?? null;
  return direction > 0 ? firstChildOf(element) : lastChildOf(element);
}

/** Whether `node` is `ancestor` or inside it, shadow roots and slots included. */
function flatContains(ancestor, node) {
  for (let at = node; at; at = flatParent(at)) if (at === ancestor) return true;
  // A slotted node is inside its slot in the flat tree, and inside its parent in the DOM: both count.
  return Node.prototype.contains.call(ancestor, node);
}

/** The document and every open shadow root in it, outermost first. */
function allRoots(limit = 100000) {
  const roots = [document];
  let left = limit;
  for (let i = 0; i < roots.length; i++) {
    for (const element of queryAll(roots[i], "*")) {
      if (--left < 0) return roots;
      const root = shadowOf(element);
      if (root) roots.push(root);
    }
  }
  return roots;
}

/** What the pointer would hit, looking into open shadow roots. */
function deepFromPoint(x, y) {
  let hit = documentFromPoint(document, x, y);
  while (hit) {
    const root = shadowOf(hit);
    const inner = root ? shadowFromPoint(root, x, y) : null;
    if (!inner || inner === hit) break;
    hit = inner;
  }
  return hit;
}

/** The element that has the focus, looking into open shadow roots. */
function deepActive() {
  let active = activeElementOf(document);
  while (active) {
    const root = shadowOf(active);
    const inner = root ? shadowActiveElementOf(root) : null;
    if (!inner) break;
    active = inner;
  }
  return active;
}

const LABELS_GETTERS = Object.fromEntries(Object.entries({ input: HTMLInputElement, select: HTMLSelectElement,
  textarea: HTMLTextAreaElement, button: HTMLButtonElement, meter: HTMLMeterElement, output: HTMLOutputElement,
  progress: HTMLProgressElement }).map(([tag, type]) => [tag, getterOf(type.prototype, "labels")]));
const labelsInDocument = () => Document.prototype.getElementsByTagName.call(document, "label");
const NO_LABELS = Object.freeze([]);

/** The <label> elements of a control, in document order. */
function labelsOf(element) {
  const tag = tagOf(element);
  if (!hasOwnProperty.call(LABELS_GETTERS, tag) || namespaceOf(element) !== HTML) return NO_LABELS;
  // Finding labels walks the whole document for each control; the list of all labels is kept by the browser.
  if (getRoot(element) === document && labelsInDocument().length === 0) return NO_LABELS;
  const labels = LABELS_GETTERS[tag](element);
  return labels && labels.length ? Array.from(labels) : NO_LABELS;
}

/** The control that a <label> belongs to. */
function controlOf(label) {
  return label instanceof HTMLLabelElement
    ? Object.getOwnPropertyDescriptor(HTMLLabelElement.prototype, "control").get.call(label)
    : null;
}

const ownInputType = getterOf(HTMLInputElement.prototype, "type");
const inputTypeOf = (element) =>
  tagOf(element) === "input" && namespaceOf(element) === HTML ? ownInputType(element) : "";
const inputValueOf = getterOf(HTMLInputElement.prototype, "value");
const inputIndeterminateOf = getterOf(HTMLInputElement.prototype, "indeterminate");
const inputCheckedOf = getterOf(HTMLInputElement.prototype, "checked");
const textareaValueOf = getterOf(HTMLTextAreaElement.prototype, "value");
const optionsOf = getterOf(HTMLSelectElement.prototype, "options");
const optionSelectedOf = getterOf(HTMLOptionElement.prototype, "selected");
const optionDisabledOf = getterOf(HTMLOptionElement.prototype, "disabled");
const optionLabelOf = getterOf(HTMLOptionElement.prototype, "label");
const optionValueOf = getterOf(HTMLOptionElement.prototype, "value");

/** Whether the element is the root of an editable region (not merely inside one). */
function isEditingHost(element) {
  const value = getAttribute.call(element, "contenteditable");
  if (value === null) return element === bodyOf(document) && designModeOf(document) === "on";
  return value.toLowerCase() !== "false" && value.toLowerCase() !== "inherit";
}

/**
 * A reading: what was worked out about elements, valid while neither the DOM nor styles change.
 * Everything that is asked more than once in one look is kept here and nowhere else.
 */
class Reading {
  constructor() {
    this.roles = new Map();
    this.names = new Map();
    this.styles = new Map();
    this.shown = new Map();
    this.standings = new Map();
    this.displays = new Map();
    this.boxes = new Map();
    this.raws = new Map();
    this.texts = new Map();
    this.textBoxes = new Map();
    this.places = new Map();
    this.xpaths = new Map();
    this.csses = new Map();
    this.hrefs = new Map();
    this.rows = new Map();
    this.containers = new Map();
    this.cells = new Map();
    this.unique = new Map();
    this.targets = new Map();
    this.rootList = null;
    this.pseudo = null;
    this.scroll = null;
    this.ownBase = null;
  }

  /** How far the page is scrolled; asking the window makes it lay out. */
  get scrolled() {
    return (this.scroll ??= { x: scrollX, y: scrollY });
  }

  /** Whether links are read against the address of the document itself, as nearly everywhere. */
  get hasOwnBase() {
    return (this.ownBase ??= /^https?:$/.test(location.protocol) && new URL(document.baseURI).origin === location.origin);
  }

  get roots() {
    return (this.rootList ??= allRoots());
  }

  style(element) {
    let style = this.styles.get(element);
    if (style === undefined) this.styles.set(element, (style = getComputedStyle(element)));
    return style;
  }

  /** SHOWN, CONTENTS, VEILED or ABSENT. */
  standing(element) {
    let standing = this.standings.get(element);
    if (standing === undefined) this.standings.set(element, (standing = standingOf(element, this)));
    return standing;
  }

  display(element) {
    let display = this.displays.get(element);
    if (display === undefined) this.displays.set(element, (display = this.style(element).display));
    return display;
  }

  /** The element's box in the viewport, as a plain object: reading a DOMRect again and again costs more than making it. */
  box(element) {
    let box = this.boxes.get(element);
    if (box === undefined) this.boxes.set(element, (box = plainBox(rectOf(element))));
    return box;
  }

  /** Whether the element takes part in rendering: it or its text has a box and is not hidden. */
  isShown(element, depth = 0) {
    let shown = this.shown.get(element);
    if (shown === undefined) this.shown.set(element, (shown = isRendered(element, this, depth)));
    return shown;
  }
}

const VISIBLE = { visibilityProperty: true };

/** It and its texts are drawn. */
const SHOWN = 3;
/** `display: contents`: it has no box of its own, its texts and children are drawn. */
const CONTENTS = 2;
/** `visibility: hidden`: a descendant may undo that. */
const VEILED = 1;
/** Nothing in it is drawn. */
const ABSENT = 0;

function standingOf(element, reading) {
  if (checkVisibility.call(element, VISIBLE)) return SHOWN;
  const { display, visibility } = reading.style(element);
  if (display === "contents") return visibility === "visible" ? CONTENTS : VEILED;
  return display !== "none" && visibility !== "visible" && checkVisibility.call(element) ? VEILED : ABSENT;
}

function plainBox({ x, y, width, height }) {
  return { left: x, top: y, right: x + width, bottom: y + height, width, height };
}

/** How deep into boxes of no size anything is looked for. */
const EMPTY_DEPTH = 100;

function isRendered(element, reading, depth) {
  if (depth > EMPTY_DEPTH) return false;
  const shows = (child) =>
    isElement(child) ? reading.isShown(child, depth + 1) : isText(child) && textBox(child);
  if (reading.standing(element) !== SHOWN) {
    return reading.display(element) === "contents" && someFlatChild(element, shows);
  }
  const box = reading.box(element);
  if (box.width > 0 && box.height > 0) return true;
  if (someFlatChild(element, shows)) return true;
  // A control of no size whose label stands for it is what many styled checkboxes are.
  return labelsOf(element).some((label) => label !== element && !Node.prototype.contains.call(label, element)
    ? reading.isShown(label) : rectOf(label).width > 0);
}

/** The box of a text node, or null when nothing of it is drawn. */
function textBox(node) {
  if (!/\S/.test(headOf(node))) return null;
  const range = newRange();
  range.selectNodeContents(node);
  const rect = range.getBoundingClientRect();
  return rect.width > 0 && rect.height > 0 ? rect : null;
}
const newRange = () => Document.prototype.createRange.call(document);
