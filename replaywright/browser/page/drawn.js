/*
 * Editors that draw a text themselves and take it in a field that cannot be seen (CodeMirror 5, ACE, Monaco, terminals):
 * which field belongs to which drawn surface, and what is drawn there.
 *
 * A hidden field is such an editor's only where the pointer says that text is edited (`cursor: text`) in the first
 * ancestor with room. A field that is hidden to trap programs has no such ancestor. Whether a press there gives the focus
 * to the field is verified when acting; see editing.js.
 */

const HIDDEN_FIELDS = "textarea,[role=textbox]";
const TEXT_FIELDS = "input,textarea,[contenteditable]";
/** A field with less room than this, in CSS pixels, shows nothing that was typed. */
const FIELD_ROOM = { width: 2, height: 2 };
/** The same for one that is fully transparent: some are as large as a letter. */
const CLEAR_FIELD_ROOM = { width: 20, height: 8 };
const SURFACE_ROOM = { width: 40, height: 12 };
const SURFACE_DEPTH = 12;
const SURFACE_NODES = 600;
const LINE_NODES = 20000;
const SEEN_THROUGH = { opacityProperty: true };
const editContextGetter = Object.getOwnPropertyDescriptor(HTMLElement.prototype, "editContext")?.get;

/** Returns whether text is put in by way of an EditContext, without any field. */
const hasEditContext = (element) => element instanceof HTMLElement && Boolean(editContextGetter?.call(element));

/** The drawn editors of a root: their surfaces, each with its field. */
function editorsOf(root, reading) {
  const editors = new Map();
  for (const field of queryAll(root, HIDDEN_FIELDS)) {
    const surface = findSurface(field, reading);
    if (surface && !editors.has(surface)) editors.set(surface, field);
  }
  return editors;
}

/** The first ancestor of a hidden field with room in it, if text is edited there; else null. */
function findSurface(field, reading) {
  const takesText = field instanceof HTMLTextAreaElement || hasEditContext(field);
  if (!takesText || isReadonly(field) || reading.standing(field) !== SHOWN || !isWithoutRoom(field, reading)) return null;
  let at = reading.parent(field);
  for (let depth = 0; at && isElement(at) && depth < SURFACE_DEPTH; depth++, at = reading.parent(at)) {
    if (at === bodyOf(document) || tagOf(at) === "form" || tagOf(at) === "label" || matches(at, INTERACTIVE)) return null;
    const box = reading.box(at);
    if (box.width < SURFACE_ROOM.width || box.height < SURFACE_ROOM.height) continue;
    return !isBeyond(at, box, reading) && checkVisibility.call(at, SEEN_THROUGH) && isEditedIn(at, field, reading) ? at : null;
  }
  return null;
}

/** Returns whether a field is fully transparent, and has no room for what is typed either. */
const isClearSpeck = (field, reading) =>
  isEditable(field) && !checkVisibility.call(field, SEEN_THROUGH) && isWithoutRoom(field, reading);

/** Returns whether nothing that is typed into a field can be seen in it. */
function isWithoutRoom(field, reading) {
  const room = checkVisibility.call(field, SEEN_THROUGH) ? FIELD_ROOM : CLEAR_FIELD_ROOM;
  let { width, height } = reading.box(field);
  for (const at of clippersOf(field, (element) => reading.style(element))) {
    if (width < room.width || height < room.height) return true;
    const { overflowX, overflowY } = reading.style(at);
    if (overflowX !== "visible") width = Math.min(width, reading.box(at).width);
    if (overflowY !== "visible") height = Math.min(height, reading.box(at).height);
  }
  return width < room.width || height < room.height;
}

/**
 * Returns whether the pointer says, over a part of the element with room, that text is edited: the text of `field`, not that
 * of a field in sight, which a list of chips has for the next one.
 */
function isEditedIn(element, field, reading) {
  const isOther = (control) => control !== field && isEditable(control) && reading.standing(control) === SHOWN &&
    !isWithoutRoom(control, reading);
  const says = (part) => {
    const { width, height } = reading.box(part);
    return width >= SURFACE_ROOM.width && height >= SURFACE_ROOM.height && reading.style(part).cursor === "text" &&
      !isOther(part) && !Array.from(queryAll(part, TEXT_FIELDS)).some(isOther);
  };
  return says(element) || Array.from(queryAll(element, "*")).slice(0, SURFACE_NODES).some(says);
}

/** The text that a surface draws, line by line as they lie above one another, without line numbers and the like. */
function drawnText(surface, reading) {
  const facts = reading.of(surface);
  return (facts.drawn ??= linesOf(drawnBlocks(surface, reading)));
}

/** The blocks of text under a surface where the pointer says that text is edited, each with its place. */
function drawnBlocks(surface, reading) {
  const blocks = new Map();
  const frame = reading.box(surface);
  let left = LINE_NODES;
  const visit = (element, block) => {
    const standing = reading.standing(element);
    if (standing === ABSENT || NO_TEXT.has(tagOf(element)) || --left < 0) return;
    const own = reading.display(element).startsWith("inline") || standing === CONTENTS ? block : element;
    someFlatChild(element, (child) => {
      if (isElement(child)) visit(child, own);
      else if (isText(child) && standing === SHOWN && reading.style(element).cursor === "text") add(child, own);
    });
  };
  const add = (node, block) => {
    const drawn = blocks.get(block) ?? { text: "", top: 0, bottom: 0, left: null };
    blocks.set(block, drawn);
    drawn.text += dataOf(node);
    const rect = drawn.left === null ? textBox(node) : null;
    if (!rect) return;
    const isOutside = rect.right <= frame.left || rect.left >= frame.right;
    Object.assign(drawn, { top: rect.top, bottom: rect.bottom, left: rect.left, isOutside });
  };
  visit(surface, surface);
  return [...blocks.values()].filter((block) => block.left !== null && !block.isOutside);
}

function linesOf(blocks) {
  blocks.sort((a, b) => a.top - b.top || a.left - b.left);
  const lines = [];
  for (const block of blocks) {
    const line = lines.at(-1);
    if (line && (block.top + block.bottom) / 2 < line.bottom) line.blocks.push(block);
    else lines.push({ bottom: block.bottom, blocks: [block] });
  }
  const read = ({ blocks: parts }) => parts.sort((a, b) => a.left - b.left).map(({ text }) => text).join(" ");
  return lines.map((line) => read(line).replace(/\u00a0/g, " ").replace(/[\u200b\u2060\ufeff]/g, "").trimEnd()).join("\n");
}

/** A text without white space: an editor breaks long lines where it likes. */
const solid = (text) => text.replace(/[\s\u200b\u2060\ufeff]+/g, "");

/** Returns whether an editor draws just this text. */
const holdsDrawn = (surface, text, reading) => solid(drawnText(surface, reading)) === solid(text);
