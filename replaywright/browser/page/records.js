/* A snapshot's records of the picked elements. */

function neighboursAt(item, walk) {
  const near = [];
  for (let i = item.textFrom - 1; i >= 0 && near.length < NEIGHBOURS; i--) collectText(i, near, walk);
  const most = near.length + NEIGHBOURS;
  for (let i = item.textTo; i < walk.texts.length && near.length < most; i++) collectText(i, near, walk);
  return nearest(walk.reading.box(item.element), near);
}

function collectText(at, near, walk) {
  let entry = walk.entries[at];
  if (entry === undefined) walk.entries[at] = entry = textEntry(walk.texts[at], walk.reading);
  if (entry !== null) near.push(entry);
}

/** Prefers actionable elements and those on the screen; keeps the document's order. */
function chosenOf(walk) {
  const { reading, limits } = walk;
  const picked = forReader(walk.picked.filter(Boolean), walk);
  if (picked.length <= limits.maxElements) return picked;
  const rank = (item) => (item.frame ? 4 : 0) + (item.actionable ? 2 : 0) +
    (!item.light && isOnScreen(reading.box(item.element), walk) ? 3 : 0);
  const ranked = picked.map((item, order) => ({ item, order, rank: rank(item) }));
  ranked.sort((a, b) => b.rank - a.rank || a.order - b.order);
  const kept = new Set(ranked.slice(0, limits.maxElements).map(({ item }) => item));
  walk.notes.add(`${picked.length - kept.size} of ${picked.length} elements left out: more than ${limits.maxElements}`);
  return picked.filter((item) => kept.has(item));
}

function describePicked(walk) {
  const { reading, limits } = walk;
  const chosen = chosenOf(walk);
  walk.entries = new Array(walk.texts.length);
  const elements = [];
  let looked = 0;
  for (const item of chosen) {
    if ((++looked & 31) === 0 && performance.now() - walk.started > limits.maxMs) {
      walk.notes.add(`${chosen.length - looked} elements left out: the page took too long to describe`);
      break;
    }
    const whole = item.actionable || item.frame || item.scrolling.length > 0;
    if (!whole && !hasContent(item, reading)) continue;
    item.id = `e${elements.length + 1}`;
    elements.push(elementRecord(item, whole, walk));
  }
  walk.frames = walk.frames.map((frame) => frameRecord(frame));
  return elements;
}

/** An Element: what equals the defaults of the Python model is left out. */
function elementRecord(item, whole, walk) {
  const { reading } = walk;
  const { element, role, actionable, repeated } = item;
  const target = whole ? describe(element, reading, { neighbours: neighboursAt(item, walk) }) : describeContext(item, walk);
  const record = { id: item.id, target };
  if (!actionable) record.actionable = false;
  if (item.light || !isOnScreen(reading.box(element), walk)) record.inViewport = false;
  const value = actionable ? cut(valueOf(element, reading), 500) : "";
  if (value) record.value = value;
  const states = actionable ? [...statesOf(element, role, reading), ...item.scrolling] : item.scrolling;
  if (states.length) record.states = states;
  if (element instanceof HTMLSelectElement) record.options = optionsShown(element);
  if (repeated) {
    record.group = repeated.group;
    record.groupItem = repeated.number;
  }
  return record;
}

function optionsShown(select) {
  const options = optionsOf(select);
  const shown = [];
  for (let i = 0; i < options.length && i < 30; i++) shown.push(cut(collapse(optionLabelOf(options[i])), 60));
  return shown;
}

const hasContent = (item, reading) =>
  item.role === "img" || item.role === "progressbar" || item.role === "meter" || item.role === "dialog"
    ? Boolean(nameOf(item.element, reading)) : WORD.test(textOf(item.element, reading, 200));

/** Context is for reading: only what a line of text and a place in the page need; in later rows no more than the text. */
function describeContext(item, walk) {
  const { reading } = walk;
  const { element, role, tag } = item;
  const isPart = role === "dialog" || role === "alertdialog";
  const text = isPart ? "" : textOf(element, reading, CONTEXT_TEXT_LIMIT);
  const target = { tag, role, text, xpath: xpathOf(element, reading) };
  if (item.light) return target;
  const name = NAMED_CONTEXT.has(role) ? nameOf(element, reading) : "";
  if (name) target.name = cut(name, 200);
  const label = tag === "td" ? columnOf(element, walk) : "";
  if (label) target.label = label;
  const container = containerOf(element, reading);
  if (container) target.container = container;
  target.box = pageBox(element, reading);
  return target;
}

/** The header of the column that a cell stands in, where the table's first row is nothing but headers, one per column. */
function columnOf(cell, walk) {
  const table = closest(cell, "table");
  if (!table) return "";
  let headers = walk.headers.get(table);
  if (!headers) {
    const [first] = queryAll(table, "tr");
    const cells = first ? Array.from(childrenOf(first)) : [];
    const plain = cells.every((one) => tagOf(one) === "th" && !has(one, "colspan"));
    headers = plain ? cells.map((one) => textOf(one, walk.reading, 60)) : [];
    walk.headers.set(table, headers);
  }
  return headers[cellIndexOf(cell)] ?? "";
}

function statesOf(element, role, reading) {
  const states = [];
  const stating = (reading.marks(element) & STATING) !== 0;
  const aria = (name) => (stating ? attr(element, name).toLowerCase() : "");
  if (matches(element, ":disabled") || aria("aria-disabled") === "true") states.push("disabled");
  const checked = checkedState(element, stating);
  if (checked) states.push(checked);
  const pressed = aria("aria-pressed");
  if (pressed === "true") states.push("pressed");
  if (pressed === "mixed") states.push("mixed");
  const expanded = aria("aria-expanded") ||
    (tagOf(element) === "summary" ? String(has(parentNodeOf(element), "open")) : "");
  if (expanded === "true") states.push("expanded");
  if (expanded === "false") states.push("collapsed");
  if ((stating && has(element, "required")) || aria("aria-required") === "true") states.push("required");
  if (aria("aria-invalid") && aria("aria-invalid") !== "false") states.push("invalid");
  else if (matches(element, ":user-invalid")) states.push("invalid");
  if (aria("aria-selected") === "true" || (aria("aria-current") && aria("aria-current") !== "false")) states.push("selected");
  if (aria("aria-readonly") === "true" || (stating && has(element, "readonly") && /^(?:input|textarea)$/.test(tagOf(element)))) {
    states.push("readonly");
  }
  if (element === reading.active) states.push("focused");
  return states;
}

/** `checked`, `mixed` or "": a native box says itself what it is, whatever an attribute says. */
function checkedState(element, stating) {
  if (/^(?:checkbox|radio)$/.test(inputTypeOf(element))) {
    return inputIndeterminateOf(element) ? "mixed" : inputCheckedOf(element) ? "checked" : "";
  }
  const checked = stating ? attr(element, "aria-checked").toLowerCase() : "";
  return checked === "true" ? "checked" : checked === "mixed" ? "mixed" : "";
}
