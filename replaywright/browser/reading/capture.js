/*
 * For the record of a failed step: hiding secrets in a picture, and serializing the document.
 *
 * Not part of the agent. It is evaluated in the agent's world when a step has failed, with dom.js before it.
 */

const NEVER_SHOWN = new Set(["script", "style", "noscript", "template", "head", "title", "meta", "link", "base",
  "option", "optgroup", "datalist"]);
/** Attributes that a page may show as text: by itself, or through `content: attr()`. */
const SHOWN_ATTRIBUTE = /^(?:placeholder|alt|title|label|aria-label|data-.*)$/;
const VOID_TAGS = new Set(["area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source",
  "track", "wbr"]);
const RAW_TAGS = new Set(["script", "style", "xmp", "iframe", "noembed", "noframes", "noscript", "plaintext"]);
const TEXT_LIMIT = 20000;
const ATTRIBUTE_LIMIT = 4000;
/** Characters of a piece of the written document; a piece begins with a tag, so that no text stands in two. */
const PIECE = 16000;

const styleOf = (element) => getComputedStyle(element);
const displayOf = (element) => styleOf(element).display;
const animate = methodOf(Element.prototype, "animate");
const htmlStyleOf = getterOf(HTMLElement.prototype, "style");
const inlineStyleOf = (element) => (element instanceof HTMLElement ? htmlStyleOf(element) : element.style);
const oneLine = (text) => text.replace(/\s+/g, " ").trim();

/** Elements in the order in which `texts` reported them. */
let reported = [];
/** Hidden elements, each with its undo function. */
let hidden = new Map();
let timer = 0;

/** The nearest element that stands as a block of its own: a text may be spread over the inline elements in it. */
function blockOf(element) {
  for (let at = element; at; at = flatParent(at)) if (!/^(?:inline|contents)$/.test(displayOf(at))) return at;
  return element;
}

/**
 * Every text that the document may show on the screen, each with the element that would have to be hidden. `secret` holds
 * the places of those that are hidden whatever they say; `complete` is false when there was more than the limits allow;
 * `view` is the part of the page that the window shows.
 */
function texts(limits) {
  const ends = performance.now() + limits.ms;
  const blocks = new Map();
  const found = [];
  const secret = [];
  let left = limits.characters;
  const isFar = (element) => {
    const { top, bottom, width } = rectOf(element);
    return width > 0 && (top > innerHeight || bottom < 0);
  };
  const note = (element, text) => {
    if (!text || isFar(element)) return;
    left -= text.length;
    found.push({ element, text });
  };
  let count = 0;
  let complete = true;
  for (const root of allRoots(limits.elements)) {
    for (const element of queryAll(root, "*")) {
      if (++count > limits.elements || left < 0 || (count % 64 === 0 && performance.now() > ends)) {
        complete = false;
        break;
      }
      if (NEVER_SHOWN.has(tagOf(element))) continue;
      if (isSecret(element)) {
        secret.push(found.length);
        found.push({ element, text: "" });
        continue;
      }
      if (element instanceof HTMLInputElement) note(element, inputValueOf(element));
      else if (element instanceof HTMLTextAreaElement) note(element, textareaValueOf(element));
      else if (element instanceof HTMLSelectElement) {
        note(element, Array.from(optionsOf(element), (option) => oneLine(optionLabelOf(option))).join("\n"));
      } else {
        for (let node = firstChildOf(element); node; node = nextSiblingOf(node)) {
          if (!isText(node)) continue;
          const text = dataOf(node);
          if (!text.trim() || isFar(element)) continue;
          left -= text.length;
          const block = blockOf(element);
          if (blocks.has(block)) blocks.get(block).push(text);
          else blocks.set(block, [text]);
        }
      }
      for (const name of getAttributeNames.call(element)) {
        if (SHOWN_ATTRIBUTE.test(name)) note(element, attr(element, name));
      }
    }
  }
  for (const [element, parts] of blocks) found.push({ element, text: oneLine(parts.join("")) });
  reported = found.map(({ element }) => element);
  const view = [scrollX, scrollY, innerWidth, innerHeight];
  return { texts: found.map(({ text }) => text), secret, complete, view };
}

/** The nearest element with a box: an element without one cannot be hidden. */
function boxed(element) {
  for (let at = element; at; at = flatParent(at)) if (displayOf(at) !== "contents") return at;
  return element;
}

/** Hides an element with all that is in it, wherever it moves, without a change in the document; how to undo it. */
function hideOne(element) {
  const animation = animate(element, { opacity: ["0", "0"] }, { duration: 1, fill: "both" });
  if (styleOf(element).opacity === "0") return () => animation.cancel();
  animation.cancel(); // the page's own `!important` is stronger
  const style = inlineStyleOf(element);
  const was = ["opacity", "transition"].map((name) =>
    [name, style.getPropertyValue(name), style.getPropertyPriority(name)]);
  const had = has(element, "style");
  style.setProperty("transition", "none", "important");
  style.setProperty("opacity", "0", "important");
  return () => {
    for (const [name, value, priority] of was) {
      if (value) style.setProperty(name, value, priority);
      else style.removeProperty(name);
      void styleOf(element).opacity; // the change is made before transitions are allowed again
    }
    if (!had && !attr(element, "style")) Element.prototype.removeAttribute.call(element, "style");
  };
}

function show() {
  for (const undo of hidden.values()) undo();
  hidden = new Map();
}

/**
 * Hides the elements at these places of `texts` and, with `frames`, all frames in the document, until `until` (epoch
 * milliseconds) at the latest. Returns how many elements it hid that were not hidden yet; -1 when it is too late, or
 * when something cannot be hidden.
 */
function hide(places, frames, until) {
  const left = until - Date.now();
  if (left <= 0) return -1;
  clearTimeout(timer);
  timer = setTimeout(show, left);
  const wanted = places.map((place) => boxed(reported[place]));
  if (frames) {
    for (const root of allRoots()) {
      if (queryAll(root, "frame").length) return -1;
      wanted.push(...queryAll(root, "iframe, object, embed, fencedframe"));
    }
  }
  const before = hidden.size;
  for (const element of wanted) {
    if (hidden.has(element)) continue;
    hidden.set(element, hideOne(element));
    if (styleOf(element).opacity !== "0") return -1;
  }
  return hidden.size - before;
}

const escaped = (text) => text.replace(/[&<>]/g, (sign) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;" })[sign]);
const quotedValue = (text) => `"${text.replace(/[&"]/g, (sign) => (sign === "&" ? "&amp;" : "&quot;"))}"`;
const leftOut = (text) => `[${text.length} characters left out]`;

/** Attributes as they are, and what a field holds now; nothing of a password, nothing of a hidden field. */
function attributesOf(element) {
  const isInput = element instanceof HTMLInputElement;
  const isKept = isInput && !isSecret(element) && inputTypeOf(element) !== "hidden";
  const parts = [];
  for (const name of getAttributeNames.call(element)) {
    if (isInput && (name === "value" || name === "checked")) continue;
    const value = attr(element, name);
    parts.push(` ${name}=${quotedValue(value.length > ATTRIBUTE_LIMIT ? leftOut(value) : value)}`);
  }
  if (isInput) {
    const value = inputValueOf(element);
    if (value) parts.push(` value=${quotedValue(isKept && value.length <= ATTRIBUTE_LIMIT ? value : leftOut(value))}`);
    if (inputCheckedOf(element)) parts.push(' checked=""');
  }
  if (element instanceof HTMLOptionElement && optionSelectedOf(element)) parts.push(' data-replaywright="selected"');
  return parts.join("");
}

/** The document as HTML, open shadow roots included, in pieces. Whole texts are left out, never cut. */
function write(limits) {
  const ends = performance.now() + limits.ms;
  const pieces = [];
  let piece = [];
  let size = 0;
  let left = limits.characters;
  let complete = true;
  const put = (text) => {
    piece.push(text);
    size += text.length;
    left -= text.length;
  };
  const waiting = [rootElementOf(document)];
  for (let count = 0; waiting.length; count++) {
    const next = waiting.pop();
    if (typeof next === "string") {
      put(next);
      continue;
    }
    if (left < 0 || (count % 64 === 0 && performance.now() > ends)) {
      complete = false;
      continue;
    }
    if (isText(next)) {
      const parent = parentNodeOf(next);
      const text = lengthOf(next) > TEXT_LIMIT ? leftOut({ length: lengthOf(next) }) : dataOf(next);
      put(parent && isElement(parent) && RAW_TAGS.has(tagOf(parent)) ? text : escaped(text));
    }
    if (!isElement(next)) continue;
    if (size > PIECE) {
      pieces.push(piece.join(""));
      piece = [];
      size = 0;
    }
    const tag = tagOf(next);
    put(`<${tag}${attributesOf(next)}>`);
    if (VOID_TAGS.has(tag)) continue;
    waiting.push(`</${tag}>`);
    if (next instanceof HTMLTextAreaElement) {
      const text = textareaValueOf(next);
      put(text.length > TEXT_LIMIT ? leftOut(text) : escaped(text));
      continue;
    }
    for (let child = lastChildOf(next); child; child = previousSiblingOf(child)) waiting.push(child);
    const root = shadowOf(next);
    if (!root) continue;
    waiting.push("</template>");
    for (let child = lastChildOf(root); child; child = previousSiblingOf(child)) waiting.push(child);
    waiting.push('<template shadowrootmode="open">');
  }
  pieces.push(piece.join(""));
  return { pieces, complete };
}

globalThis.replaywrightCapture = Object.freeze({ texts, hide, show, write });
