/*
 * Lists that pages make themselves: which belong to a control, what their options are called, and which are chosen.
 */

const LISTS = "[role=listbox],[role=menu],[role=tree],[role=grid],[role=dialog]";
const OPTIONS = "[role=option],[role=treeitem],[role=menuitemradio],[role=menuitemcheckbox],[role=menuitem]";
const CONTROL_LIKE = "input:not([type=hidden]),select,textarea,button,[role=combobox],[role=button]";
const OPTION_LIMIT = 20000;

const isListbox = (element) => /^(?:listbox|tree)$/.test(attr(element, "role"));
/** The box that an option shows its state with: it is ticked and unticked, and no other option with it. */
const tickOf = (option) => (attr(option, "role") === "option" ? innerElements(option, isTicked)[0] ?? null : null);

function isSelected(option) {
  if (attr(option, "aria-selected") === "true" || attr(option, "aria-checked") === "true") return true;
  const tick = has(option, "aria-selected") || has(option, "aria-checked") ? null : tickOf(option);
  return Boolean(tick) && checkedOf(tick) === true;
}

const takesKeys = (element) => element.tabIndex >= 0;

const suggestionsOf = (input) => {
  const list = inputTypeOf(input) && has(input, "list") ? byId(getRoot(input), attr(input, "list")) : null;
  return list instanceof HTMLDataListElement ? Array.from(queryAll(list, "option")) : [];
};

/** Returns whether several can be chosen: the list declares it, its options have checkboxes, or several are chosen. */
function isMultiple(options, control) {
  const marked = [options[0], control].map((element) => closest(element, "[aria-multiselectable]")).filter(Boolean);
  if (marked.some((element) => attr(element, "aria-multiselectable") === "true")) return true;
  const ticks = options.map(tickOf).filter(Boolean);
  return ticks.some((tick) => inputTypeOf(tick) === "checkbox" || attr(tick, "role") === "checkbox")
    || options.filter(isSelected).length > 1;
}

/** Lists that the control, or what has the focus in it, points to. */
function linkedLists(control, reading) {
  const found = new Set();
  for (const element of [control, ...innerElements(control, isEditable)]) {
    const root = getRoot(element);
    const ids = ["aria-controls", "aria-owns"].flatMap((name) => attr(element, name).split(/\s+/)).filter(Boolean);
    for (const id of ids) {
      const list = byId(root, id) ?? byId(document, id);
      if (list && reading.isShown(list)) found.add(list);
    }
    const active = byId(root, attr(element, "aria-activedescendant"));
    const around = active && closest(active, LISTS);
    if (around && reading.isShown(around)) found.add(around);
  }
  return Array.from(found);
}

/** Lists that can be seen, without those inside another, and options in no list. */
function shownLists(reading) {
  const all = reading.roots.flatMap((root) => Array.from(queryAll(root, `${LISTS},${OPTIONS}`)));
  const shown = all.filter((element) => reading.isShown(element));
  const lists = shown.filter((element) => optionsIn(element, reading).length > 0 || matches(element, OPTIONS));
  return lists.filter((element) => !lists.some((other) => other !== element && flatContains(other, element)));
}

/** The options of a list that are drawn; items of a list that gives them no role, if it has no other. */
function optionsIn(list, reading) {
  if (matches(list, OPTIONS)) return [list];
  const drawn = (test) => innerElements(list, test, OPTION_LIMIT).filter((option) => reading.isShown(option));
  const options = drawn((element) => matches(element, OPTIONS));
  return options.length || !matches(list, "[role=listbox],ul,ol") ? options : drawn((element) => tagOf(element) === "li");
}

function labelOfOption(option, reading) {
  return option instanceof HTMLOptionElement ? optionLabelOf(option)
    : collapse(nameOf(option, reading)) || collapse(readText(option, reading));
}

/** The one option with this label. */
function pick(options, label, reading) {
  if (options[0] instanceof HTMLOptionElement) return optionFor(options, label, NATIVE);
  return optionFor(options, label, {
    label: (option) => labelOfOption(option, reading),
    value: (option) => attr(option, "data-value") || attr(option, "value"),
    others: (option) => readText(option, reading).split("\n"),
    isDisabled,
  });
}

/** Scrolling container of the options, or null. */
function scrollerOf(element, stop) {
  for (let at = element; at; at = flatParent(at)) {
    const scrolls = /^(?:auto|scroll|overlay)$/.test(getComputedStyle(at).overflowY);
    if (scrolls && scrollHeightOf(at) > clientHeightOf(at) + 1) return tagOf(at) === "body" || tagOf(at) === "html" ? null : at;
    if (at === stop || (matches(at, LISTS) && !flatParent(at))) return null;
  }
  return null;
}

/** Returns whether the list draws only some of its options. */
function isWindowed(options, scroller) {
  const size = Number(attr(options[0], "aria-setsize"));
  if (size > options.length) return true;
  const rects = options.map(rectOf);
  const extent = Math.max(...rects.map(({ bottom }) => bottom)) - Math.min(...rects.map(({ top }) => top));
  return scrollHeightOf(scroller) > extent + 4 * (rects[0].height || 20);
}

/** Returns whether exactly this is chosen before any input, by the list or the control's text. */
function isChosenAlready(control, wanted, reading) {
  if (isListbox(control)) {
    const options = optionsIn(control, reading);
    const chosen = wanted.map((label) => pick(options, label, reading).option);
    return chosen.every(Boolean) && options.length > 0 && options.every((option) => isSelected(option) === chosen.includes(option));
  }
  // What stands in a field may have been typed and never chosen.
  if (isEditable(control) || innerElements(control, isEditable).length || wanted.length > 1) return false;
  return normalise(readText(control, reading)) === normalise(wanted[0]);
}

const LETTER = /[\p{L}\p{N}]/u;

/** Returns whether a text has the label in it as words of its own. */
function says(text, label) {
  const words = normalise(label), line = normalise(text);
  if (!words) return !line;
  for (let at = line.indexOf(words); at >= 0; at = line.indexOf(words, at + 1)) {
    const around = [line[at - 1], line[at + words.length]];
    if (!around.some((letter) => letter !== undefined && LETTER.test(letter))) return true;
  }
  return false;
}

/** Returns whether the label stands beside the text field of the control, as what was chosen of several does. */
function isChipOf(control, label, reading) {
  const fields = isEditable(control) ? [control] : innerElements(control, isEditable);
  if (!fields.length || fields.some((field) => normalise(valueOf(field, reading)) === normalise(label))) return false;
  return isShownAt(control, label, reading);
}

/** Returns whether the control shows the label: in its field, its text, or the box that it stands in with nothing else. */
function isShownAt(control, label, reading) {
  const fields = isEditable(control) ? [control] : innerElements(control, isEditable);
  if (fields.some((field) => normalise(valueOf(field, reading)) === normalise(label))) return true;
  if (!isEditable(control) && says(readText(control, reading), label)) return true;
  for (let at = flatParent(control), depth = 0; at && depth < 4; at = flatParent(at), depth++) {
    const inside = innerElements(at, (element) => element === control || matches(element, `${LISTS},${CONTROL_LIKE}`));
    // Further out are other controls, and an open list contains every label.
    const others = inside.filter((element) => element !== control && !flatContains(element, control) && reading.isShown(element));
    if (others.some((element) => matches(element, LISTS) || isEditable(element) || isList(element))) return false;
    if (says(readText(at, reading), label)) return true;
  }
  return false;
}
