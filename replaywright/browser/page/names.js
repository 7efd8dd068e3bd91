/* Accessible names after W3C accname 1.2 and HTML-AAM. */

const NAME_FROM_CONTENT = new Set(["button", "cell", "checkbox", "columnheader", "gridcell", "heading", "link",
  "menuitem", "menuitemcheckbox", "menuitemradio", "option", "radio", "row", "rowheader", "switch", "tab", "tooltip",
  "treeitem"]);

/** Rows of grids are chosen and named; the name of any other row would be everything in it, cell by cell. */
function isInGrid(element, reading) {
  for (let at = reading.parent(element); at; at = reading.parent(at)) {
    const role = roleOf(at, reading);
    if (role === "grid" || role === "treegrid") return true;
    if (role === "table") return false;
  }
  return false;
}

/** Roles that do not contribute to the name of an item or a cell, as they have content of their own. */
const HAS_PARTS = new Set(["cell", "gridcell", "menuitem", "menuitemcheckbox", "menuitemradio", "treeitem"]);
const PARTS = new Set(["alertdialog", "dialog", "feed", "form", "grid", "group", "listbox", "menu", "menubar",
  "navigation", "radiogroup", "search", "table", "tablist", "tabpanel", "toolbar", "tree", "treegrid"]);

/** Roles that may not be named by the author: an aria-label on them is ignored. */
const NAME_PROHIBITED = new Set(["caption", "code", "deletion", "emphasis", "insertion", "paragraph", "strong",
  "subscript", "superscript"]);

const SVG = "http://www.w3.org/2000/svg";
const NAME_LIMIT = 1000;
const NAME_DEPTH = 300;
const DEFAULT_BUTTON = { submit: "Submit", reset: "Reset" };

/**
 * The accessible name, white space collapsed; kept for the length of a reading. Beside words, what an icon font draws as a sign is no part of
 * it: nobody reads "home Home".
 */
function nameOf(element, reading) {
  const named = (signs) => collapse(computeName(element, { reading, seen: new Set(), root: element, mode: "root", signs }));
  const facts = reading.of(element);
  return (facts.name ??= cut(named(false) || named(true), NAME_LIMIT));
}

function isHiddenForName(element, context) {
  if (context.includeHidden) return false;
  return isSaidHidden(element, context.reading) || context.reading.standing(element) < CONTENTS;
}

const isSaidHidden = (element, reading) =>
  (reading.marks(element) & HIDING) !== 0 && attr(element, "aria-hidden").toLowerCase() === "true";

/** Returns whether an element inside the named one is invisible; the named one itself may be about to appear. */
const isVeiled = (element, context) => !context.includeHidden && element !== context.root &&
  context.reading.standing(element) === VEILED && !isSaidHidden(element, context.reading);

/**
 * One step of the algorithm. `context.mode` says how we came here: "root" for the element that is named,
 * "reference" for a target of aria-labelledby, "label" for a native label, "content" for a descendant.
 */
function computeName(element, context) {
  if (context.seen.has(element)) return "";
  const { mode } = context;
  if (mode === "content" && !context.signs && context.reading.isSign(element)) return "";
  if (mode === "content" && isHiddenForName(element, context)) {
    // An invisible element may contain visible ones; its own text does not count.
    return isVeiled(element, context) ? nameFromContent(element, context) : "";
  }
  if (mode === "reference" || mode === "label") {
    context.includeHidden = mode === "reference" && isHiddenForName(element, context);
  }
  context.seen.add(element);
  const role = roleOf(element, context.reading);
  const named = (context.reading.marks(element) & NAMING) !== 0;
  if (named && mode !== "reference" && !context.referenced) {
    const byReference = nameByReference(element, context);
    if (byReference) return byReference;
  }
  // Only in a label for something else does a field stand for its value ("after [5] days"); anywhere else its value
  // is what was typed, and that names nothing.
  if (mode !== "root" && context.inLabel) {
    const value = embeddedValue(element, role, context);
    if (value !== null) return value;
  }
  const label = named ? attr(element, "aria-label") : "";
  if (label && /\S/.test(label) && !NAME_PROHIBITED.has(role)) return label;
  const native = nativeName(element, role, context);
  if (native) return native;
  const fromContent = mode !== "root" || (role === "row" ? isInGrid(element, context.reading) : NAME_FROM_CONTENT.has(role));
  if (fromContent) {
    const content = nameFromContent(element, context);
    if (/\S/.test(content)) return content;
  }
  // An image with an empty alternative text has no name.
  if (!named || NAME_PROHIBITED.has(role) || (has(element, "alt") && tagOf(element) === "img")) return "";
  return tooltip(element);
}

function tooltip(element) {
  const title = attr(element, "title");
  return title && /\S/.test(title) ? title : "";
}

function nameByReference(element, context) {
  const ids = attr(element, "aria-labelledby").trim();
  if (!ids) return "";
  const root = getRoot(element);
  const parts = [];
  for (const id of ids.split(/\s+/)) {
    const target = byId(root, id);
    // The target may be the element itself: its seen-mark is lifted for this one visit.
    if (target) parts.push(computeName(target, { reading: context.reading, seen: new Set(), root: context.root,
      signs: context.signs, mode: "reference", referenced: true, inLabel: true }));
  }
  return collapse(parts.join(" "));
}

/** The value of a control inside the label or content that names another; null when it is no such control. */
function embeddedValue(element, role, context) {
  if (element === context.root) return null;
  switch (role) {
    case "textbox":
    case "searchbox":
      if (isSecret(element)) return "";
      if (element instanceof HTMLInputElement) return inputValueOf(element);
      if (element instanceof HTMLTextAreaElement) return textareaValueOf(element);
      return context.mode === "content" ? nameFromContent(element, context) : null;
    case "combobox":
    case "listbox":
      if (element instanceof HTMLSelectElement) return selectedLabels(element).join(" ");
      if (element instanceof HTMLInputElement) return isSecret(element) ? "" : inputValueOf(element);
      {
        // What a list offers is none of its value.
        const chosen = queryAll(element, '[role=option][aria-selected="true"]');
        if (!chosen.length) return role === "listbox" ? "" : null;
        return Array.from(chosen, (option) => nameOf(option, context.reading)).join(" ");
      }
    case "slider":
    case "spinbutton":
    case "scrollbar":
    case "progressbar":
    case "meter": {
      if (context.mode === "reference") return null;
      const value = attr(element, "aria-valuetext") || attr(element, "aria-valuenow");
      return value || (element instanceof HTMLInputElement ? inputValueOf(element) : attr(element, "value"));
    }
  }
  return null;
}

function selectedLabels(select) {
  return Array.from(optionsOf(select)).filter(optionSelectedOf).map((option) => collapse(optionLabelOf(option)));
}

function labelsText(element, context) {
  const parts = context.reading.labels(element).map((label) =>
    computeName(label, { reading: context.reading, seen: context.seen, root: context.root, signs: context.signs, mode: "label",
      referenced: context.referenced, inLabel: true }));
  return collapse(parts.join(" "));
}

function firstChildWithTag(element, tag) {
  for (let child = firstElementOf(element); child; child = nextElementOf(child)) if (tagOf(child) === tag) return child;
  return null;
}

const partText = (part, context) =>
  part ? nameFromContent(part, { ...context, mode: "content" }) : "";

/** The name that HTML itself gives: labels, alternatives, captions, values of buttons, placeholders. */
function nativeName(element, role, context) {
  switch (tagOf(element)) {
    case "input": {
      const type = inputTypeOf(element);
      const label = labelsText(element, context);
      if (label) return label;
      if (type === "image") return attr(element, "alt") || tooltip(element) || attr(element, "value") || "Submit";
      if (type === "button" || type === "submit" || type === "reset") {
        const value = getAttribute.call(element, "value");
        return value ?? DEFAULT_BUTTON[type] ?? "";
      }
      if (type === "checkbox" || type === "radio" || type === "range" || type === "color" || type === "file") return "";
      return tooltip(element) || saidOf(element, "placeholder") || saidOf(element, "aria-placeholder");
    }
    case "textarea":
      return labelsText(element, context) || tooltip(element) || saidOf(element, "placeholder");
    case "select":
    case "button":
    case "meter":
    case "output":
    case "progress":
      return labelsText(element, context);
    case "img":
    case "area":
      return attr(element, "alt");
    case "fieldset":
      return partText(firstChildWithTag(element, "legend"), context);
    case "table":
      return partText(firstChildWithTag(element, "caption"), context);
    case "figure":
      return partText(firstChildWithTag(element, "figcaption"), context);
    case "optgroup":
    case "option":
      return attr(element, "label");
  }
  if (namespaceOf(element) === SVG) {
    const title = firstChildWithTag(element, "title");
    return title ? textContentOf(title) : "";
  }
  const placeholder = role === "textbox" || role === "searchbox" || role === "combobox"
    ? saidOf(element, "aria-placeholder") : "";
  return placeholder;
}

/** An attribute that says what an element is: of a placeholder what is the same on another day. */
const saidOf = (element, name) => (name.endsWith("placeholder") ? undated(attr(element, name)) : attr(element, name));

/** A placeholder with the form of a date or time in its place: many fields show the present one as an example. */
const undated = (text) => text.replace(DATE_OR_TIME, formOf);

const DATES = [/\d{1,4}([./-] ?)\d\d?\1\d{1,4}/, /\d\d?(?:st|nd|rd|th|\.)? \p{L}{3,9}\.?,? \d{4}/, /\p{L}{3,9}\.? \d\d?(?:st|nd|rd|th)?,? \d{4}/];
const TIME = /\d\d?:\d\d(?::\d\d(?:\.\d+)?)?(?: ?[ap]m)?/;
const DATE_OR_TIME = new RegExp(`(?<![\\d:/-]|\\d\\.)(?:${[...DATES, TIME].map(({ source }) => source).join("|")})(?![\\d:/-]|\\.\\d)`, "giu");
const formOf = (moment) => moment.replace(/\p{L}+/gu, "").replace(/\d+/g, (digits) => (digits.length > 2 ? "0000" : "00"));

/** Text of the flat tree under an element, CSS content and embedded names included. */
function nameFromContent(element, context) {
  const { reading } = context;
  // No page that a person made nests this deep; one that does must not exhaust the stack.
  const depth = (context.depth ?? 0) + 1;
  if (depth > NAME_DEPTH) return "";
  const veiled = isVeiled(element, context);
  const parts = [veiled ? "" : pseudoContent(element, "::before", context)];
  const inner = { ...context, mode: "content", depth };
  const hasParts = HAS_PARTS.has(roleOf(context.root, reading));
  const add = (child) => {
    const type = nodeTypeOf(child);
    if (type === 3) {
      if (!veiled) parts.push(dataOf(child));
    } else if (type === 1) {
      const tag = tagOf(child);
      if (tag === "br") {
        parts.push(" ");
        return;
      }
      if (tag === "script" || tag === "style" || tag === "template" || tag === "noscript") return;
      if (hasParts && isPart(child, reading)) return;
      const text = computeName(child, inner);
      if (!text) return;
      const display = reading.display(child);
      const inline = display === "inline" || (display === "contents" && tag !== "slot");
      parts.push(inline ? text : ` ${text} `);
    }
  };
  someFlatChild(element, add);
  if (reading.marks(element) & OWNING) for (const child of ownedBy(element)) add(child);
  parts.push(pseudoContent(element, "::after", context));
  return parts.join("");
}

function isPart(element, reading) {
  if (!PARTS.has(roleOf(element, reading)) || hasAuthorName(element)) return false;
  // A table that heads nothing is there for the layout: its cells are read as if they stood side by side.
  return tagOf(element) !== "table" || queryAll(element, "th,caption,thead").length > 0;
}

/** The elements that aria-owns puts behind an element's children, as far as they are not in it anyway. */
function ownedBy(element) {
  const root = getRoot(element);
  return attr(element, "aria-owns").trim().split(/\s+/).map((id) => byId(root, id))
    .filter((owned) => owned && !flatContains(owned, element) && !flatContains(element, owned));
}

/** The words of a CSS `content`; counters, images and quotes are no text. */
function pseudoContent(element, which, context) {
  if (!pagePseudos(context.reading)) return "";
  const style = getComputedStyle(element, which);
  const { content } = style;
  if (content === "none" || content === "normal" || !content) return "";
  if (style.display === "none" || style.visibility === "hidden") return "";
  // After a slash comes the alternative text, which replaces the rest.
  const alternative = /\/\s*("(?:[^"\\]|\\.)*")\s*$/.exec(content);
  const strings = (alternative ? alternative[1] : content).match(/"(?:[^"\\]|\\.)*"/g) ?? [];
  const text = strings.map((string) => string.slice(1, -1).replace(/\\(["\\])/g, "$1")).join("");
  return (style.display === "inline" && !alternative) || !text ? text : ` ${text} `;
}

/**
 * Returns whether any style sheet speaks of ::before or ::after. Asking for pseudo styles costs as much as everything else
 * together, and many pages have none. A sheet that cannot be read, or a large one, counts as if it did.
 */
function pagePseudos(reading) {
  if (reading.pseudo === null) reading.pseudo = reading.roots.some(sheetsSpeakOfPseudos);
  return reading.pseudo;
}

const sheetVerdicts = new WeakMap();

function sheetsSpeakOfPseudos(root) {
  const prototype = nodeTypeOf(root) === 9 ? Document.prototype : ShadowRoot.prototype;
  const sheets = Object.getOwnPropertyDescriptor(prototype, "styleSheets").get.call(root);
  const adopted = Object.getOwnPropertyDescriptor(prototype, "adoptedStyleSheets").get.call(root);
  return [...sheets, ...adopted].some((sheet) => {
    try {
      const known = sheetVerdicts.get(sheet);
      if (known && known.count === sheet.cssRules.length) return known.speaks;
      const speaks = rulesSpeakOfPseudos(sheet.cssRules, { left: 5000 });
      sheetVerdicts.set(sheet, { count: sheet.cssRules.length, speaks });
      return speaks;
    } catch {
      return true;
    }
  });
}

function rulesSpeakOfPseudos(rules, budget) {
  for (const rule of rules) {
    if (--budget.left < 0) return true;
    if (rule instanceof CSSImportRule) return true;
    if (rule instanceof CSSStyleRule && /:(?:before|after)/.test(rule.selectorText) && rule.style.content !== "") {
      return true;
    }
    if (rule.cssRules?.length && rulesSpeakOfPseudos(rule.cssRules, budget)) return true;
  }
  return false;
}
