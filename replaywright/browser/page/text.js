/* Comparing and reading text. `normalise` equals replaywright.domain.common.text.normalise; a test compares the two. */

const QUOTES = { "‘": "'", "’": "'", "‚": "'", "‛": "'", "“": '"', "”": '"', "„": '"', "«": '"', "»": '"' };
const QUOTE = /[‘’‚‛“”„«»]/g;
const INVISIBLE = /[\u00ad\u200b-\u200f\u2060\ufeff]/g;
const ICON = /[\ue000-\uf8ff\u{f0000}-\u{10ffff}]/gu;
// Python's \s: JavaScript's lacks the separators 1c to 1f and the next-line character.
const SPACE = /[\s\x1c-\x1f\x85]+/g;
const PLAIN = /^[\x20-\x7e]*$/;

/** NFKC, invisible characters and icon glyphs dropped (unless it is glyphs alone), quotes and spaces unified, case folded. */
function normalise(text) {
  if (PLAIN.test(text)) return text.replace(/ {2,}/g, " ").trim().toLowerCase();
  const shown = text.normalize("NFKC").replace(INVISIBLE, "").replace(QUOTE, (quote) => QUOTES[quote]);
  const trimmed = (some) => some.replace(SPACE, " ").replace(/^ | $/g, "");
  return (trimmed(shown.replace(ICON, "")) || trimmed(shown)).toLowerCase();
}

/** Around a parameter's value in a text that is looked for: there only whole words match. `normalise` drops it. */
const EDGE = "\u2060";
const UNSPACED = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u;
const WORD_PART = /[\p{L}\p{N}\p{M}_]/u;

/** A mark at `at` that stands inside a word: a hyphen between word characters, a point or comma between digits. */
function joins(text, at) {
  const mark = text[at];
  const part = "-\u2010\u2011".includes(mark) ? WORD_PART : mark === "." || mark === "," ? /\p{Nd}/u : null;
  return part !== null && part.test(charBefore(text, at)) && part.test(charAt(text, at + 1));
}

/** Whether a word may begin or end before the character at `at`. As replaywright.domain.common.text. */
function isWordEdge(text, at) {
  const before = charBefore(text, at), after = charAt(text, at);
  if (!before || !after) return true;
  if (WORD_PART.test(before) && WORD_PART.test(after)) return UNSPACED.test(before) || UNSPACED.test(after);
  return !(joins(text, at - 1) || joins(text, at));
}

/** A text that is looked for: normalised, and whether it begins and ends with whole words. */
function wantedOf(text) {
  const trimmed = text.trim();
  return { needle: normalise(text), opens: trimmed.startsWith(EDGE), closes: trimmed.endsWith(EDGE) };
}

/** The whole character that ends before, or begins at, a place of a text; empty beyond its ends. */
const charBefore = (text, at) => {
  if (at <= 0) return "";
  const low = text.charCodeAt(at - 1);
  return low >= 0xdc00 && low <= 0xdfff ? text.slice(Math.max(0, at - 2), at) : text[at - 1];
};
const charAt = (text, at) => (at < text.length ? String.fromCodePoint(text.codePointAt(at)) : "");

/** Index of the wanted text in a normalised one, from `from` on, or -1. As replaywright.domain.common.text. */
function standsAt(haystack, { needle, opens, closes }, from = 0) {
  for (let at = haystack.indexOf(needle, from); at >= 0; at = haystack.indexOf(needle, at + 1)) {
    if (!needle) return at;
    const starts = !opens || isWordEdge(haystack, at);
    if (starts && (!closes || isWordEdge(haystack, at + needle.length))) return at;
  }
  return -1;
}

/** Returns whether `needle` stands in `haystack` after normalisation. Equals replaywright.domain.common.text.contains. */
const contains = (haystack, needle) => standsAt(normalise(haystack), wantedOf(needle)) >= 0;

/** More than single spaces between words. */
const UNEVEN = /[\s\u200b]{2}|[^\S ]|\u200b/;

/** White space collapsed and trimmed; everything else stays as the page gave it. */
function collapse(text) {
  const trimmed = text.trim();
  return UNEVEN.test(trimmed) ? trimmed.replace(/[\s\u200b]+/g, " ").trim() : trimmed;
}

/** Cuts a text to `limit` characters, never within a surrogate pair. */
function cut(text, limit) {
  if (text.length <= limit) return text;
  const end = limit - 1;
  const code = text.charCodeAt(end - 1);
  return text.slice(0, code >= 0xd800 && code <= 0xdbff ? end - 1 : end) + "…";
}

/** Words of a normalised text; for scripts without spaces, single characters. As in replaywright.domain.common.text. */
function wordsOf(text) {
  return new Set(normalise(text).match(/[\u3040-\u9fff\uac00-\ud7af]|[\p{L}\p{N}]+/gu) ?? []);
}

/** 0 to 1: shared words over all words. */
function overlap(left, right) {
  const a = wordsOf(left), b = wordsOf(right);
  if (!a.size && !b.size) return 0;
  let shared = 0;
  for (const word of a) if (b.has(word)) shared++;
  return shared / (a.size + b.size - shared);
}

/** 64 bits as sixteen hexadecimal digits (after cyrb53, public domain): a digest that distinguishes elements, not cryptographic. */
function hash64(text) {
  let a = 0xdeadbeef, b = 0x41c6ce57;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    a = Math.imul(a ^ code, 2654435761);
    b = Math.imul(b ^ code, 1597334677);
  }
  a = Math.imul(a ^ (a >>> 16), 2246822507) ^ Math.imul(b ^ (b >>> 13), 3266489909);
  b = Math.imul(b ^ (b >>> 16), 2246822507) ^ Math.imul(a ^ (a >>> 13), 3266489909);
  const hex = (value) => (value >>> 0).toString(16).padStart(8, "0");
  return hex(b) + hex(a);
}

const NO_TEXT = new Set(["script", "style", "noscript", "template", "head", "title", "select", "datalist", "textarea",
  "input", "iframe", "object", "video", "audio", "canvas", "svg", "math", "meter", "progress"]);

/** Parts that are there for a moment, or are chosen from: they say no more of what is around them than a <select> does. */
const PASSING = new Set(["listbox", "menu", "tooltip"]);

/** Characters of an element's text that are read where only its beginning is shown. */
const TEXT_LIMIT = 1000;
/** Depth limit of text; no page made by people is deeper. */
const TEXT_DEPTH = 600;

/**
 * The text under a node as it is in the page, line feeds where blocks begin and end. With a limit each element's is
 * worked out once in a reading, from those of its children; white space in it is squeezed, and signs are left out.
 */
function rawText(node, reading, limited, depth = 0) {
  const type = nodeTypeOf(node);
  if (type === 3) {
    if (!limited) return dataOf(node);
    const head = headOf(node);
    return /\s\s|[^\S ]/.test(head) ? head.replace(/\s+/g, " ") : head;
  }
  if (type !== 1) return "";
  if (!limited) return depth > TEXT_DEPTH ? "" : rawTextOf(node, reading, false, depth);
  const facts = reading.of(node);
  if (facts.raw !== undefined) return facts.raw;
  return depth > TEXT_DEPTH ? "" : (facts.raw = rawTextOf(node, reading, true, depth));
}

function rawTextOf(element, reading, limited, depth) {
  const tag = tagOf(element);
  if (tag === "br") return "\n";
  // What stands in a line and is not read still keeps the words around it apart.
  if (NO_TEXT.has(tag)) return " ";
  const standing = reading.standing(element);
  if (standing === ABSENT) return "";
  if (limited && reading.isSign(element)) return " ";
  const display = standing === SHOWN ? reading.display(element) : "contents";
  const apart = display !== "inline" && display !== "contents" && !display.startsWith("inline") && !display.startsWith("ruby");
  const elementsOnly = standing === VEILED || (tag === "details" && !has(element, "open"));
  let text = apart ? "\n" : "";
  const foreign = reading.foreign(element);
  let place = 0;
  let child = foreign ? foreign[0] : firstChildOf(element);
  let between = [];
  while (child && !(limited && text.length > TEXT_LIMIT)) {
    if (!elementsOnly || isElement(child)) {
      const isPassing = limited && isElement(child) && PASSING.has(attr(child, "role"));
      const more = isPassing ? " " : rawText(child, reading, limited, depth + 1);
      if (isParted(text, [...between, child], more, reading)) text += " ";
      text += more;
      between = more ? [child] : [...between, child];
    }
    child = foreign ? foreign[++place] : nextSiblingOf(child);
  }
  return apart ? text + "\n" : text;
}

/**
 * Returns whether style sheets draw something, such as a stroke, between two words side by side: at the end of the first of
 * these nodes, in one of the empty ones after it, or at the beginning of the last.
 */
function isParted(text, nodes, more, reading) {
  if (!WORD_PART.test(charBefore(text, text.length)) || !WORD_PART.test(charAt(more, 0))) return false;
  const draws = (node, which) => isElement(node) && pseudoContent(node, which, { reading }) !== "";
  return nodes.some((node, at) => (at > 0 && draws(node, "::before")) || (at < nodes.length - 1 && draws(node, "::after")));
}

/**
 * The visible text under an element as a reader sees it: the flat tree, block boundaries as line feeds, the
 * contents of inputs and lists of options left out. Collapsed within lines.
 */
function readText(element, reading) {
  return rawText(element, reading, false).replace(/[^\S\n]+/g, " ").replace(/ ?\n[\s]*/g, "\n").trim();
}

/** The visible text of an element on one line, at most `limit` characters; kept for the length of a reading. */
function textOf(element, reading, limit = 200) {
  const facts = reading.of(element);
  return cut((facts.text ??= collapse(rawText(element, reading, true))), limit);
}
