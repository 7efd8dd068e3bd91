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
const setterOf = (prototype, name) => {
  const { set } = Object.getOwnPropertyDescriptor(prototype, name);
  return (self, value) => set.call(self, value);
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
const getRootNode = Node.prototype.getRootNode;
const getRoot = (node) => getRootNode.call(node);
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
const scrollTopOf = getterOf(Element.prototype, "scrollTop");
const scrollLeftOf = getterOf(Element.prototype, "scrollLeft");
const scrollHeightOf = getterOf(Element.prototype, "scrollHeight");
const scrollWidthOf = getterOf(Element.prototype, "scrollWidth");
const clientHeightOf = getterOf(Element.prototype, "clientHeight");
const clientWidthOf = getterOf(Element.prototype, "clientWidth");
const cellIndexOf = getterOf(HTMLTableCellElement.prototype, "cellIndex");
const getRect = Element.prototype.getBoundingClientRect;
const rectOf = (element) => getRect.call(element);
const rectsOf = methodOf(Element.prototype, "getClientRects");
const matchesSelector = Element.prototype.matches;
const matches = (element, selector) => matchesSelector.call(element, selector);
const closestTo = Element.prototype.closest;
const closest = (element, selector) => closestTo.call(element, selector);
const getAttribute = Element.prototype.getAttribute;
const getAttributeNames = Element.prototype.getAttributeNames;
const hasAttribute = Element.prototype.hasAttribute;
const hasAttributes = Element.prototype.hasAttributes;
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
  const type = nodeTypeOf(node);
  const slot = type === 1 ? slotOf(node) : type === 3 ? textSlotOf(node) : null;
  if (slot) return slot;
  const parent = parentNodeOf(node);
  if (!parent || isElement(parent)) return parent;
  return isShadowRoot(parent) ? hostOf(parent) : null;
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

/** Returns whether `holds` is true of a child in the flat tree; asks them in order and stops at the first. */
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

/** Returns whether `node` is `ancestor` or inside it, shadow roots and slots included. */
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

/** The element that the pointer would hit, looking into open shadow roots. */
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

/** Returns whether something that was done on the page gave an element the focus: a page that is loaded gives it to any. */
const holdsFocus = (element) => element === deepActive() && navigator.userActivation.hasBeenActive;

const LABELS_GETTERS = Object.fromEntries(Object.entries({ input: HTMLInputElement, select: HTMLSelectElement,
  textarea: HTMLTextAreaElement, button: HTMLButtonElement, meter: HTMLMeterElement, output: HTMLOutputElement,
  progress: HTMLProgressElement }).map(([tag, type]) => [tag, getterOf(type.prototype, "labels")]));
const labelsInDocument = () => Document.prototype.getElementsByTagName.call(document, "label");
const NO_LABELS = Object.freeze([]);

const mayBeLabelled = (element) =>
  hasOwnProperty.call(LABELS_GETTERS, tagOf(element)) && namespaceOf(element) === HTML;

/** The controls under a root that have labels, each with its labels in document order. */
function labelledIn(root) {
  const labelled = new Map();
  for (const label of queryAll(root, "label")) {
    const control = controlOf(label);
    if (!control) continue;
    const labels = labelled.get(control);
    if (labels) labels.push(label);
    else labelled.set(control, [label]);
  }
  return labelled;
}

/** The <label> elements of a control, in document order. */
function labelsOf(element) {
  const tag = tagOf(element);
  if (!mayBeLabelled(element)) return NO_LABELS;
  // Finding labels walks the whole document for each control; the list of all labels is kept by the browser.
  if (getRoot(element) === document && labelsInDocument().length === 0) return NO_LABELS;
  const labels = LABELS_GETTERS[tag](element);
  return labels && labels.length ? Array.from(labels) : NO_LABELS;
}

/** The control that a <label> belongs to. */
function controlOf(label) {
  return label instanceof HTMLLabelElement ? ownControlOf(label) : null;
}
const ownControlOf = getterOf(HTMLLabelElement.prototype, "control");

const ownInputType = getterOf(HTMLInputElement.prototype, "type");
const inputTypeOf = (element) =>
  tagOf(element) === "input" && namespaceOf(element) === HTML ? ownInputType(element) : "";

/** Fields whose content must never leave the page. */
function isSecret(element) {
  if (!(element instanceof HTMLInputElement)) return false;
  if (inputTypeOf(element) === "password") return true;
  return /(?:^|\s)(?:cc-(?!name|given|additional|family|type)|current-password|new-password|one-time-code)/
    .test(attr(element, "autocomplete").toLowerCase());
}

const inputValueOf = getterOf(HTMLInputElement.prototype, "value");
const inputFormOf = getterOf(HTMLInputElement.prototype, "form");
const buttonFormOf = getterOf(HTMLButtonElement.prototype, "form");
const buttonTypeOf = getterOf(HTMLButtonElement.prototype, "type");
const inputIndeterminateOf = getterOf(HTMLInputElement.prototype, "indeterminate");
const inputCheckedOf = getterOf(HTMLInputElement.prototype, "checked");
const textareaValueOf = getterOf(HTMLTextAreaElement.prototype, "value");
const optionsOf = getterOf(HTMLSelectElement.prototype, "options");
const optionSelectedOf = getterOf(HTMLOptionElement.prototype, "selected");
const optionDisabledOf = getterOf(HTMLOptionElement.prototype, "disabled");
const optionLabelOf = getterOf(HTMLOptionElement.prototype, "label");
const optionValueOf = getterOf(HTMLOptionElement.prototype, "value");

/** Returns whether the element is the root of an editable region (not merely inside one). */
function isEditingHost(element) {
  const value = getAttribute.call(element, "contenteditable");
  if (value === null) return element === bodyOf(document) && designModeOf(document) === "on";
  return value.toLowerCase() !== "false" && value.toLowerCase() !== "inherit";
}
