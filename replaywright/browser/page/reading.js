/* Facts about elements, computed once and kept for one look at a page. */

/**
 * Kinds of an element's attributes, as bits. Most elements have none of them; reading each attribute wherever it might
 * matter would cost more than all other reads.
 */
const ROLE = 1;
const EDITABLE = 2;
const ONCLICK = 4;
const TABINDEX = 8;
/** Attributes that anchor a path or go into an element's digest. */
const IDENTIFYING = 16;
/** Attributes that `statesOf` reads. */
const STATING = 32;
const NAMING = 64;
const HIDING = 128;
const OWNING = 256;
const TEST_IDS = ["data-testid", "data-test", "data-test-id", "data-qa", "data-cy"];
const MARKS = new Map();
for (const [mark, names] of [
  [ROLE, ["role"]], [EDITABLE, ["contenteditable"]], [ONCLICK, ["onclick"]], [TABINDEX, ["tabindex"]],
  [IDENTIFYING, ["id", "type", "name", "placeholder", "aria-label", "href", "alt", ...TEST_IDS]],
  [STATING, ["required", "readonly", "aria-disabled", "aria-checked", "aria-pressed", "aria-expanded", "aria-required",
    "aria-invalid", "aria-selected", "aria-current", "aria-readonly"]],
  [NAMING, ["aria-labelledby", "aria-label", "title", "alt"]], [HIDING, ["aria-hidden"]], [OWNING, ["aria-owns"]],
]) for (const name of names) MARKS.set(name, (MARKS.get(name) ?? 0) | mark);

function marksOf(element) {
  let marks = 0;
  if (hasAttributes.call(element)) for (const name of getAttributeNames.call(element)) marks |= MARKS.get(name) ?? 0;
  return marks;
}

/** Facts about one element; undefined if not computed yet. */
class Facts {
  constructor() {
    this.visited = false;
    this.parent = undefined;
    this.foreign = undefined;
    this.marks = -1;
    this.role = undefined;
    this.name = undefined;
    this.style = undefined;
    this.shown = undefined;
    this.standing = undefined;
    this.opens = undefined;
    this.display = undefined;
    this.pointer = undefined;
    this.box = undefined;
    this.raw = undefined;
    this.drawn = undefined;
    this.text = undefined;
    this.sign = undefined;
    this.place = undefined;
    this.xpath = undefined;
    this.css = undefined;
    this.repeats = undefined;
    this.part = undefined;
    this.around = undefined;
    this.cells = undefined;
    this.target = undefined;
  }
}

/**
 * Facts about elements, valid while neither the DOM nor styles change. The only cache of a look.
 */
class Reading {
  constructor() {
    this.known = new Map();
    this.lastElement = null;
    this.lastFacts = null;
    this.textEntries = new Map();
    this.hrefs = new Map();
    this.unique = new Map();
    this.labelled = new Map();
    this.editors = new Map();
    this.rootList = null;
    this.pseudo = null;
    this.scroll = null;
    this.ownBase = null;
    this.designed = null;
  }

  /** Scroll position; asking the window forces a layout. */
  get scrolled() {
    return (this.scroll ??= { x: scrollX, y: scrollY });
  }

  /** Returns whether links are read against the address of the document itself, as nearly everywhere. */
  get hasOwnBase() {
    return (this.ownBase ??= /^https?:$/.test(location.protocol) && new URL(document.baseURI).origin === location.origin);
  }

  get roots() {
    return (this.rootList ??= allRoots());
  }

  /** Facts of an element; the last ones are at hand, as callers ask several in a row. */
  of(element) {
    if (element === this.lastElement) return this.lastFacts;
    let facts = this.known.get(element);
    if (facts === undefined) this.known.set(element, (facts = new Facts()));
    this.lastElement = element;
    this.lastFacts = facts;
    return facts;
  }

  /** The parent in the flat tree. */
  parent(element) {
    const facts = this.of(element);
    if (facts.parent === undefined) facts.parent = flatParent(element);
    return facts.parent;
  }

  /** See `foreignChildren`. */
  foreign(element) {
    const facts = this.of(element);
    if (facts.foreign === undefined) facts.foreign = foreignChildren(element);
    return facts.foreign;
  }

  /** Bits of `MARKS` for its attributes. */
  marks(element) {
    const facts = this.of(element);
    if (facts.marks < 0) facts.marks = marksOf(element);
    return facts.marks;
  }

  /** See `isEditingHost`. */
  isEditingHost(element) {
    if (this.marks(element) & EDITABLE) return isEditingHost(element);
    return this.designMode && element === bodyOf(document);
  }

  get designMode() {
    return (this.designed ??= designModeOf(document) === "on");
  }

  style(element) {
    const facts = this.of(element);
    return (facts.style ??= getComputedStyle(element));
  }

  /** See `drawsSign`. */
  isSign(element) {
    const facts = this.of(element);
    return (facts.sign ??= drawsSign(element, this));
  }

  /** SHOWN, CONTENTS, VEILED or ABSENT. */
  standing(element) {
    const facts = this.of(element);
    return (facts.standing ??= standingOf(element, this));
  }

  display(element) {
    const facts = this.of(element);
    return (facts.display ??= this.style(element).display);
  }

  /** The <label> elements of a control, in document order: all labels of a root are read once, as `labels` is slow. */
  labels(element) {
    if (!mayBeLabelled(element)) return NO_LABELS;
    const root = getRoot(element);
    let labelled = this.labelled.get(root);
    if (!labelled) this.labelled.set(root, (labelled = labelledIn(root)));
    return labelled.get(element) ?? NO_LABELS;
  }

  /** The surfaces of a root's drawn editors, each with its field; see drawn.js. */
  editorsIn(root) {
    let editors = this.editors.get(root);
    // A field's ancestors are read meanwhile, and may ask for it.
    if (!editors) this.editors.set(root, NO_EDITORS);
    if (!editors) this.editors.set(root, (editors = editorsOf(root, this)));
    return editors;
  }

  /** The surface that draws the text of a field which cannot be seen itself, or null. */
  surfaceOf(field) {
    if (!(field instanceof HTMLTextAreaElement || hasEditContext(field))) return null;
    for (const [surface, own] of this.editorsIn(getRoot(field))) if (own === field) return surface;
    return null;
  }

  /** Returns whether the element draws the text of a field that cannot be seen itself. */
  isSurface(element) {
    return this.editorsIn(getRoot(element)).has(element);
  }

  /** Returns whether the element is, holds, or is a part of, what an editor draws. */
  isInEditor(element) {
    const surfaces = Array.from(this.editorsIn(getRoot(element)).keys());
    return surfaces.some((surface) => flatContains(surface, element) || flatContains(element, surface));
  }

  /** The element's box in the viewport, as a plain object: reading a DOMRect again and again costs more than making it. */
  box(element) {
    const facts = this.of(element);
    return (facts.box ??= plainBox(rectOf(element)));
  }

  /** Returns whether the element takes part in rendering: it or its text has a box and is not hidden. */
  isShown(element, depth = 0) {
    const facts = this.of(element);
    return (facts.shown ??= Boolean(isRendered(element, this, depth)));
  }
}

const NO_EDITORS = new Map();
const VISIBLE = { visibilityProperty: true };

/** The element and its texts are drawn. */
const SHOWN = 3;
/** `display: contents`: it has no box of its own, its texts and children are drawn. */
const CONTENTS = 2;
/** `visibility: hidden`: a descendant may undo that. */
const VEILED = 1;
/** Nothing in it is drawn. */
const ABSENT = 0;

function standingOf(element, reading) {
  if (opens(parentNodeOf(element), reading)) return ownStanding(element, reading);
  if (checkVisibility.call(element, VISIBLE)) return SHOWN;
  const { display, visibility } = reading.style(element);
  if (display === "contents") return visibility === "visible" ? CONTENTS : VEILED;
  return display !== "none" && visibility !== "visible" && checkVisibility.call(element) ? VEILED : ABSENT;
}

/** The standing of an element whose parent draws all children that are not hidden by their own styles. */
function ownStanding(element, reading) {
  const display = reading.display(element);
  if (display === "none") return ABSENT;
  if (reading.style(element).visibility !== "visible") return VEILED;
  return display === "contents" ? CONTENTS : SHOWN;
}

/** Elements that draw something else than their children, or not all of them. */
const CLOSED = new Set(["details", "select", "optgroup", "datalist", "object", "embed", "picture", "video", "audio",
  "canvas", "iframe", "frameset", "img", "input", "textarea", "progress", "meter", "br", "wbr", "hr", "slot"]);
/** Display types that cannot skip their content (`content-visibility`). */
const UNSKIPPABLE = new Set(["inline", "contents"]);

/**
 * Returns whether an element that was come to already is known to draw its children as their own styles say. Then these need
 * not be asked for: the browser's answer about the element and all its ancestors costs as much as everything else that
 * a walk asks about it.
 */
function opens(parent, reading) {
  const facts = parent ? reading.known.get(parent) : undefined;
  if (facts === undefined || facts.standing === undefined || facts.standing === ABSENT) return false;
  return (facts.opens ??= namespaceOf(parent) === HTML && !CLOSED.has(tagOf(parent)) && !shadowOf(parent) &&
    (UNSKIPPABLE.has(reading.display(parent)) || reading.style(parent).contentVisibility !== "hidden"));
}

function plainBox({ x, y, width, height }) {
  return { left: x, top: y, right: x + width, bottom: y + height, width, height };
}

/** Depth of the search in boxes without a size. */
const EMPTY_DEPTH = 100;

function isRendered(element, reading, depth) {
  if (depth > EMPTY_DEPTH) return false;
  const shows = (child) =>
    isElement(child) ? reading.isShown(child, depth + 1) : isText(child) && textBox(child);
  if (reading.standing(element) !== SHOWN) {
    return reading.display(element) === "contents" && someFlatChild(element, shows);
  }
  const box = reading.box(element);
  const isBoxed = box.width > 0 && box.height > 0;
  if (!isBoxed && isEditedPage(element)) return innerWidth > 0 && innerHeight > 0;
  if (isBoxed && !isBeyond(element, box, reading)) return true;
  // Of a box that is beyond the page, parts may be in it, but not its own text.
  if (someFlatChild(element, (child) => (!isBoxed || isElement(child)) && shows(child))) return true;
  // A field of no size may have an editor that draws for it.
  if (reading.surfaceOf(element)) return true;
  // A box to tick that nobody sees, whose label stands for it, is what many styled ones are.
  if (!/^(?:checkbox|radio|file)$/.test(inputTypeOf(element))) return false;
  return reading.labels(element).some((label) => label !== element && !Node.prototype.contains.call(label, element)
    ? reading.isShown(label) : rectOf(label).width > 0 && !isBeyond(label, reading.box(label), reading));
}

/**
 * Returns whether a box is left of or above everything that can be scrolled to: pages keep copies, traps and links for
 * the keyboard there.
 */
function isBeyond(element, box, reading) {
  let { right, bottom } = box;
  if (right > 0 && bottom > 0) return false;
  for (let at = element; at; at = reading.parent(at)) {
    right += Math.abs(scrollLeftOf(at));
    bottom += scrollTopOf(at);
  }
  const isMirrored = reading.style(element).direction === "rtl";
  return bottom <= 0 || (right <= 0 && !isMirrored);
}

/** The box of a text node, or null when nothing of it is drawn. */
function textBox(node) {
  if (!/\S/.test(headOf(node))) return null;
  selectContents.call(measure, node);
  const rect = getRangeRect.call(measure);
  // Left in the page it would have to be moved with every change there.
  endAt.call(measure, document, 0);
  return rect.width > 0 && rect.height > 0 ? rect : null;
}

/** The name of a sign in an icon font, with a letter that is not narrow in fonts for reading. */
const SIGN_NAME = /^(?=.*[a-eghkm-qsu-z])[a-z][a-z0-9_]{2,}$/;
/** Width limit of a sign, in em. Three letters of one width take more in fonts for reading. */
const SIGN_EM = 1.25;

/**
 * Returns whether an element is a word that an icon font draws as one sign (`<i>shopping_cart</i>`): a ligature, of whose width
 * each letter has an equal part.
 */
function drawsSign(element, reading) {
  const node = firstChildOf(element);
  if (!node || !isText(node) || nextSiblingOf(node)) return false;
  const name = dataOf(node).trim(), parent = reading.parent(element);
  if (!SIGN_NAME.test(name) || !parent) return false;
  const { fontFamily, fontSize } = reading.style(element);
  if (fontFamily === reading.style(parent).fontFamily) return false;
  const begin = dataOf(node).indexOf(name), each = widthOf(node, begin, begin + name.length) / name.length;
  if (!each || each * name.length > SIGN_EM * parseFloat(fontSize)) return false;
  for (let at = begin; at < begin + name.length; at++) {
    if (Math.abs(widthOf(node, at, at + 1) - each) > each / 10) return false;
  }
  return true;
}

/** The width of some letters of a text node, in CSS pixels. */
function widthOf(node, from, to) {
  startAt.call(measure, node, from);
  endAt.call(measure, node, to);
  const { width } = getRangeRect.call(measure);
  endAt.call(measure, document, 0);
  return width;
}
const newRange = () => Document.prototype.createRange.call(document);
const selectContents = Range.prototype.selectNodeContents;
const getRangeRect = Range.prototype.getBoundingClientRect;
const startAt = Range.prototype.setStart;
const endAt = Range.prototype.setEnd;
/** One range for all texts: making a new one for each costs half as much again. */
const measure = newRange();
