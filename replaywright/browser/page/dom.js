/*
 * Reading the DOM without being fooled by it.
 *
 * A form with <input name="id"> answers `form.id` with the input, in isolated worlds too, and a document with
 * <img name="querySelectorAll"> does the same; so everything is read through the prototypes of this world.
 */

const getterOf = (prototype, name) => {
  const get = Object.getOwnPropertyDescriptor(prototype, name).get;
  return (self) => get.call(self);
};
const methodOf = (prototype, name) => {
  const method = prototype[name];
  return (self, ...rest) => method.apply(self, rest);
};

const nodeTypeOf = getterOf(Node.prototype, "nodeType");
const parentNodeOf = getterOf(Node.prototype, "parentNode");
const firstChildOf = getterOf(Node.prototype, "firstChild");
const nextSiblingOf = getterOf(Node.prototype, "nextSibling");
const childNodesOf = getterOf(Node.prototype, "childNodes");
const isConnected = getterOf(Node.prototype, "isConnected");
const dataOf = getterOf(CharacterData.prototype, "data");
const textContentOf = getterOf(Node.prototype, "textContent");
const getRoot = methodOf(Node.prototype, "getRootNode");
const compareNodes = methodOf(Node.prototype, "compareDocumentPosition");

const tagOf = getterOf(Element.prototype, "localName");
const namespaceOf = getterOf(Element.prototype, "namespaceURI");
const shadowOf = getterOf(Element.prototype, "shadowRoot");
const slotOf = getterOf(Element.prototype, "assignedSlot");
const textSlotOf = getterOf(Text.prototype, "assignedSlot");
const childrenOf = getterOf(Element.prototype, "children");
const firstElementOf = getterOf(Element.prototype, "firstElementChild");
const nextElementOf = getterOf(Element.prototype, "nextElementSibling");
const previousElementOf = getterOf(Element.prototype, "previousElementSibling");
const attributeListOf = getterOf(Element.prototype, "attributes");
const rectOf = methodOf(Element.prototype, "getBoundingClientRect");
const rectsOf = methodOf(Element.prototype, "getClientRects");
const matches = methodOf(Element.prototype, "matches");
const closest = methodOf(Element.prototype, "closest");
const getAttribute = Element.prototype.getAttribute;
const hasAttribute = Element.prototype.hasAttribute;
const checkVisibility = Element.prototype.checkVisibility;
const hasOwnProperty = Object.prototype.hasOwnProperty;

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
  const root = shadowOf(element);
  if (root) return childNodesOf(root);
  if (element instanceof HTMLSlotElement) {
    const assigned = HTMLSlotElement.prototype.assignedNodes.call(element);
    if (assigned.length) return assigned;
  }
  return childNodesOf(element);
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
  return value !== null && value.toLowerCase() !== "false" && value.toLowerCase() !== "inherit";
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
    this.texts = new Map();
    this.places = new Map();
    this.rows = new Map();
    this.containers = new Map();
    this.cells = new Map();
    this.unique = new Map();
    this.targets = new Map();
    this.rootList = null;
    this.pseudo = null;
  }

  get roots() {
    return (this.rootList ??= allRoots());
  }

  style(element) {
    let style = this.styles.get(element);
    if (style === undefined) this.styles.set(element, (style = getComputedStyle(element)));
    return style;
  }

  /** Whether the element takes part in rendering: it or its text has a box and is not hidden. */
  isShown(element) {
    let shown = this.shown.get(element);
    if (shown === undefined) this.shown.set(element, (shown = isRendered(element, this)));
    return shown;
  }
}

const VISIBLE = { visibilityProperty: true };

function isRendered(element, reading) {
  if (!checkVisibility.call(element, VISIBLE)) {
    if (reading.style(element).display !== "contents") return false;
    for (const child of flatChildren(element)) {
      if (isElement(child) ? reading.isShown(child) : isText(child) && textBox(child)) return true;
    }
    return false;
  }
  const rect = rectOf(element);
  if (rect.width > 0 && rect.height > 0) return true;
  for (const child of flatChildren(element)) {
    if (isElement(child) ? reading.isShown(child) : isText(child) && textBox(child)) return true;
  }
  // A control of no size whose label stands for it is what many styled checkboxes are.
  return labelsOf(element).some((label) => label !== element && !Node.prototype.contains.call(label, element)
    ? reading.isShown(label) : rectOf(label).width > 0);
}

/** The box of a text node, or null when nothing of it is drawn. */
function textBox(node) {
  if (!/\S/.test(dataOf(node))) return null;
  const range = newRange();
  range.selectNodeContents(node);
  const rect = range.getBoundingClientRect();
  return rect.width > 0 && rect.height > 0 ? rect : null;
}
const newRange = () => Document.prototype.createRange.call(document);
