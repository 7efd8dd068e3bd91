/* Fields and lists: the control that an element stands for, its accepted values, and its state. */

const TEXT_INPUTS = /^(?:text|search|email|url|tel|password|number)$/;
/** Limit of steps by which a native slider is moved with its keys. */
const MOST_STEPS = 500;
const SETTABLE_INPUTS = /^(?:date|time|datetime-local|month|week|color|range)$/;
/** Example values by type; the browser silently refuses any other form. */
const VALUE_FORMS = { date: "2026-11-21", time: "14:30", "datetime-local": "2026-11-21T14:30", month: "2026-11",
  week: "2026-W47", color: "#1a2b3c" };
const TEXT_NEEDS = new Set(["fill", "type", "paste"]);
const TICKED = "input[type=checkbox],input[type=radio],[role=checkbox],[role=radio],[role=switch]," +
  "[role=menuitemcheckbox],[role=menuitemradio],[aria-pressed]";
const CHOSEN_FROM = "select,[role=combobox],[role=listbox],[aria-haspopup=listbox],input[list]";
const INSIDE_LIMIT = 5000;

const takesSeveral = getterOf(HTMLSelectElement.prototype, "multiple");
const setInputValue = setterOf(HTMLInputElement.prototype, "value");
const setOptionSelected = setterOf(HTMLOptionElement.prototype, "selected");
const focusElement = (element) => {
  const prototype = element instanceof SVGElement ? SVGElement.prototype : HTMLElement.prototype;
  prototype.focus.call(element, { preventScroll: true });
};

// ------------------------------------------------------------------------------------ which control is meant

/** Elements under `element` in the flat tree that pass `test`, in order, without elements inside one of them. */
function innerElements(element, test, limit = INSIDE_LIMIT) {
  const found = [];
  let left = limit;
  const visit = (parent) => {
    for (const child of flatChildren(parent)) {
      if (!isElement(child) || --left < 0) continue;
      if (test(child)) found.push(child);
      else visit(child);
    }
  };
  visit(element);
  return found;
}

const isTicked = (element) => matches(element, TICKED);
const isList = (element) => matches(element, CHOSEN_FROM);

/** The control that `element` stands for: itself, what it is a part of, the one it labels, or the only one of its kind inside it. */
function controlFor(element, { need, text }, reading) {
  const kind = TEXT_NEEDS.has(need) ? isEditable : need === "select" ? isList : need === "check" ? isTicked
    : need === "expand" ? isExpandable : null;
  if (!kind) return element;
  if (kind(element)) {
    const whole = need === "fill" && isNumberPart(element) ? wholeOf(element, text, reading) : null;
    return whole ?? (TEXT_NEEDS.has(need) ? editedWith(element, reading) : element);
  }
  const labelled = controlOf(element) ?? (need === "expand" ? closest(element, "summary,[aria-expanded],[popovertarget]") : null);
  if (labelled && kind(labelled)) return labelled;
  const inside = innerElements(element, kind);
  const drawn = TEXT_NEEDS.has(need) ? inside.filter((inner) => reading.surfaceOf(inner)) : [];
  if (drawn.length === 1) return drawn[0];
  // The native control that a styled one stands for may be hidden; of several, the reader sees the ones shown.
  const shown = inside.length > 1 ? inside.filter((inner) => reading.isShown(inner)) : inside;
  return shown.length === 1 ? shown[0] : element;
}

const isFilledList = (element, { need, secret, text }) => need === "fill" && !secret && given(text) &&
  (element instanceof HTMLSelectElement || controlOf(element) instanceof HTMLSelectElement);

const isExpandable = (element) => expandedOf(element) !== null;

/** The element to edit for a part of an editor: the editor, if the part is all of its content. */
function editedWith(element, reading) {
  let host = element;
  for (let at = flatParent(host); at && isElement(at) && tagOf(at) !== "html" && isEditor(host) && isEditor(at); at = flatParent(at)) {
    host = at;
  }
  return host === element || plainLines(readText(host, reading)) !== plainLines(readText(element, reading)) ? element : host;
}

/** The only element with tag, role, name, attributes and row of one that is gone, or null. */
function successorOf(element, identity, row, reading) {
  const tag = tagOf(element);
  const alike = reading.roots.flatMap((root) => Array.from(queryAll(root, tag)))
    .filter((other) => elementHash(other, reading) === identity);
  const found = alike.length > 1 && row ? alike.filter((other) => rowKey(other, reading) === row) : alike;
  return found.length === 1 ? found[0] : null;
}

/** Boxes and switches that are what one is, in the order of the page. */
const switchesAlike = (identity, reading) => reading.roots.flatMap((root) => Array.from(queryAll(root, TICKED)))
  .filter((other) => elementHash(other, reading) === identity);

// -------------------------------------------------------------------------------------------------- text

function isEditable(element) {
  if (element instanceof HTMLTextAreaElement) return true;
  const type = inputTypeOf(element);
  if (type) return TEXT_INPUTS.test(type) || SETTABLE_INPUTS.test(type);
  return element.isContentEditable === true || hasEditContext(element);
}

/** Editable content with elements in it, other than a field of plain text. */
const isEditor = (element) => !inputTypeOf(element) && !(element instanceof HTMLTextAreaElement) && isEditable(element);

const isReadonly = (element) =>
  attr(element, "aria-readonly").toLowerCase() === "true" || matches(element, "input[readonly],textarea[readonly]");

/** Reason why the control cannot take the wanted value, as arguments of `block`, or null. */
function obstacleTo(control, { need, text, wanted }) {
  const type = inputTypeOf(control);
  if (need === "check") return wanted === false && type === "radio" ? ["radio"] : null;
  if (need === "expand") return isExpandable(control) ? null : ["not_expandable"];
  if (!TEXT_NEEDS.has(need)) return null;
  if (need === "fill" && isSlider(control)) return obstacleToSliding(control, text);
  if (!isEditable(control)) {
    const inside = need === "paste" ? 0 : innerElements(control, isEditable).length;
    return need === "paste" ? null : ["not_editable", inside > 1 ? `${inside} fields are inside it` : ""];
  }
  if (need !== "fill" && SETTABLE_INPUTS.test(type)) return ["not_editable", `a ${type} field takes its value by fill`];
  if (isReadonly(control)) return ["readonly"];
  const limit = Number(attr(control, "maxlength") || "NaN");
  const limited = control instanceof HTMLTextAreaElement || /^(?:text|search|email|url|tel|password)$/.test(type);
  // A pasted text may be for several fields, this one being the first.
  if (need !== "paste" && limited && limit >= 0 && unixLines(text ?? "").length > limit) return ["too_long", String(limit)];
  return null;
}

const unixLines = (text) => text.replace(/\r\n?/g, "\n");

/** Text as it is compared in an editor: lines without what editors put in between, one kind of space. */
function plainLines(text) {
  return unixLines(text).replace(/[\u200b\u2060\ufeff]/g, "").replace(/\u00a0/g, " ").replace(/[^\S\n]+/g, " ")
    .replace(/ ?\n\s*/g, "\n").trim();
}

function holdsText(element, text, reading) {
  const surface = reading?.surfaceOf(element);
  if (surface) return holdsDrawn(surface, text, reading);
  if (element instanceof HTMLTextAreaElement) return unixLines(textareaValueOf(element)) === unixLines(text);
  if (element instanceof HTMLInputElement) {
    const value = inputValueOf(element);
    const type = inputTypeOf(element);
    if ((type === "number" || type === "range") && value !== "" && text.trim() !== "") return Number(value) === Number(text);
    // An input holds one line: line feeds in the text are dropped by the browser.
    return type === "color" ? value === text.toLowerCase() : value === text.replace(/[\r\n]/g, "");
  }
  if (isSlider(element)) return text.trim() !== "" && Number(attr(element, "aria-valuenow")) === Number(text);
  if (!isEditable(element) && timeParts(element, reading)) return holdsTime(element, text, reading);
  const shown = readText(element, reading);
  // An editable part of a date shows 3 as 03, or as the name of the month.
  if (isNumberPart(element) && Number(attr(element, "aria-valuenow")) === Number(text) && text.trim() !== "") return true;
  return plainLines(shown) === plainLines(text);
}

/** A spin button whose text can be edited, as dates are made of. */
const isNumberPart = (element) =>
  isEditor(element) && attr(element, "role") === "spinbutton" && has(element, "aria-valuenow");

// ------------------------------------------------------------------------------------------------ sliders

const isRange = (element) => inputTypeOf(element) === "range";

/** Returns whether keys or pointer set it: a native slider, or an ARIA slider or spin button that is no field. */
const isSlider = (element) => isRange(element) ||
  (/^(?:slider|spinbutton)$/i.test(attr(element, "role").trim()) && has(element, "aria-valuenow") && !isEditable(element));

const numberIn = (element, name) => (attr(element, name).trim() === "" ? null : Number(attr(element, name)));

/** State of a slider; null for any other element. */
function sliderState(element) {
  if (!isSlider(element)) return null;
  if (isRange(element)) return { ...scaleOf(element), vertical: false, focused: deepActive() === element };
  return {
    now: numberIn(element, "aria-valuenow"),
    min: numberIn(element, "aria-valuemin"),
    max: numberIn(element, "aria-valuemax"),
    vertical: attr(element, "aria-orientation") === "vertical",
    focused: deepActive() === element,
  };
}

const scaleOf = (range) =>
  ({ now: Number(inputValueOf(range)), min: numberIn(range, "min") ?? 0, max: numberIn(range, "max") ?? 100 });

/**
 * Returns whether a native slider is moved there by its keys, as a person would: pages may take its value only when a key or the
 * pointer is let go. A value between its steps, or many presses away, is set.
 */
function isMovedByKeys(element, text) {
  const step = has(element, "step") ? Number(attr(element, "step")) : 1;
  if (!isRange(element) || !(step > 0)) return false;
  const { now, min } = scaleOf(element);
  const steps = (Number(text) - min) / step;
  return Math.abs(steps - Math.round(steps)) < 1e-6 && Math.abs(Number(text) - now) / step <= MOST_STEPS;
}

function obstacleToSliding(element, text) {
  const { min, max } = sliderState(element);
  const wanted = text.trim() === "" ? NaN : Number(text);
  const range = `${min ?? "…"} to ${max ?? "…"}`;
  if (!Number.isFinite(wanted)) return ["no_such_value", `it takes a number from ${range}`];
  if ((min !== null && wanted < min) || (max !== null && wanted > max)) return ["no_such_value", `it goes from ${range}`];
  return isReadonly(element) ? ["readonly"] : null;
}

/** Returns whether an input of this type takes the value as it is; tried on a copy that the page never sees. */
function acceptsValue(element, text) {
  const copy = Document.prototype.createElement.call(document, "input");
  for (const name of ["type", "min", "max", "step"]) if (has(element, name)) copy.setAttribute(name, attr(element, name));
  copy.value = text;
  const { rangeUnderflow, rangeOverflow, stepMismatch } = copy.validity;
  return holdsText(copy, text, null) && !rangeUnderflow && !rangeOverflow && !stepMismatch;
}

/** Description of the values that a field without text takes. */
function valueFormOf(element) {
  const type = inputTypeOf(element);
  const limits = ["min", "max", "step"].filter((name) => attr(element, name)).map((name) => `${name} ${attr(element, name)}`);
  const form = VALUE_FORMS[type] ? `values such as ${VALUE_FORMS[type]}` : "numbers";
  return `a ${type} field takes ${form}${limits.length ? `, ${limits.join(", ")}` : ""}`;
}

function selectContent(element) {
  if (element instanceof HTMLInputElement) return void HTMLInputElement.prototype.select.call(element);
  if (element instanceof HTMLTextAreaElement) return void HTMLTextAreaElement.prototype.select.call(element);
  getSelection().selectAllChildren(element);
}

function isDisabled(element) {
  if (matches(element, ":disabled")) return true;
  for (let at = element; at; at = flatParent(at)) if (attr(at, "aria-disabled").toLowerCase() === "true") return true;
  return false;
}

/** Returns whether it is neither on nor off. */
const isMixed = (element) =>
  inputTypeOf(element) === "checkbox" ? inputIndeterminateOf(element)
    : attr(element, "aria-checked") === "mixed" || attr(element, "aria-pressed") === "mixed";

// ------------------------------------------------------------------------------------------ native lists

const wantedOptions = ({ options, option }) => options ?? [option ?? ""];

/** The option of a list with this label, else with this value; never one of several. `kind` reads an option. */
function optionFor(options, wanted, kind) {
  const tests = [
    (option) => collapse(kind.label(option)) === collapse(wanted),
    (option) => normalise(kind.label(option)) === normalise(wanted),
    (option) => kind.value(option) === wanted,
    (option) => kind.others(option).some((text) => normalise(text) === normalise(wanted)),
  ];
  for (const test of tests) {
    const found = options.filter(test);
    const usable = found.filter((option) => !kind.isDisabled(option));
    if (usable.length === 1) return { option: usable[0] };
    if (usable.length > 1) return { option: null, several: true, why: `${usable.length} options are called ${wanted}` };
    if (found.length) return { option: null, why: "disabled" };
  }
  return { option: null, why: cut(options.map((option) => collapse(kind.label(option))).join(" | "), 200) };
}

const NATIVE = {
  label: optionLabelOf,
  value: optionValueOf,
  others(option) {
    const group = closest(option, "optgroup");
    return group ? [`${attr(group, "label")} / ${optionLabelOf(option)}`] : [];
  },
  isDisabled: (option) => optionDisabledOf(option) || matches(option, "optgroup[disabled] > option"),
};

/** The options of a <select> to choose, or why they cannot be chosen. */
function optionsFor(select, wanted) {
  if (wanted.length > 1 && !takesSeveral(select)) return { options: null, why: "it takes one option only" };
  const all = Array.from(optionsOf(select));
  const options = [];
  for (const each of wanted) {
    const { option, why } = optionFor(all, each, NATIVE);
    if (!option) return { options: null, why };
    options.push(option);
  }
  return { options };
}

/** Returns whether exactly the wanted options of a <select> are chosen. */
function holdsOptions(select, wanted) {
  const { options } = optionsFor(select, wanted);
  return Boolean(options) && Array.from(optionsOf(select)).every((option) => optionSelectedOf(option) === options.includes(option));
}

/** The same, also of a list that the page draws. */
function holdsChosen(control, wanted, reading) {
  return control instanceof HTMLSelectElement ? holdsOptions(control, wanted) : isChosenAlready(control, wanted, reading);
}

// --------------------------------------------------------------------------------------- state and change

/** State of a control for Python. */
function stateOf(element, reading) {
  return {
    checked: isMixed(element) ? null : checkedOf(element),
    expanded: expandedOf(element),
    value: cut(valueOf(element, reading), 10000),
    selected: element instanceof HTMLSelectElement ? selectedLabels(element) : null,
    mixed: isMixed(element),
    editor: isEditor(element),
    drawn: Boolean(reading.surfaceOf(element)),
    slider: sliderState(element),
  };
}

/** Returns whether the control is as it is wanted before anything is done. */
function isAsWanted(control, spec, reading) {
  const { need, wanted, text, always } = spec;
  if (always) return false;
  switch (need) {
    case "expand":
      return expandedOf(control) === wanted;
    case "check":
      return given(wanted) && checkedOf(control) === wanted && !isMixed(control);
    case "select":
      return holdsChosen(control, wantedOptions(spec), reading);
    case "fill":
      // Of a drawn editor it is not known how lines are indented.
      if (reading.surfaceOf(control)) return false;
      return given(text) && (isEditable(control) || isSlider(control) || timeParts(control, reading)) && holdsText(control, text, reading);
  }
  return false;
}

/** Chooses exactly these options of a <select>, with the events of a person's choice. */
function setOptions(select, options) {
  focusElement(select);
  for (const option of optionsOf(select)) {
    const chosen = options.includes(option);
    if (optionSelectedOf(option) !== chosen) setOptionSelected(option, chosen);
  }
  announceChange(select);
}

/** Sets the value of an input that takes no text. */
function setValue(input, value) {
  focusElement(input);
  setInputValue(input, value);
  announceChange(input);
}

function announceChange(element) {
  dispatch(element, new Event("input", { bubbles: true, composed: true }));
  dispatch(element, new Event("change", { bubbles: true }));
}
