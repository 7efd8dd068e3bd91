/*
 * What a person does in the page, told while a demonstration is recorded. It runs in the agent's scope, listens before
 * the page does, and describes each element as it is before the page reacts.
 */

const PERSON = -1;
const HELD_KEYS = ["Alt", "Control", "Meta", "Shift"];
const ACTED_ON = new Set(["button", "link", "checkbox", "radio", "switch", "tab", "option", "menuitem", "menuitemcheckbox",
  "menuitemradio", "treeitem", "combobox", "listbox", "textbox", "searchbox", "spinbutton", "slider"]);
const TICKED_ROLES = new Set(["checkbox", "switch", "menuitemcheckbox", "radio", "menuitemradio"]);
const PLACES = new Set(["row", "listitem", "article", "dialog", "alertdialog", "form", "region", "group", "navigation",
  "main", "table", "list", "tabpanel"]);
const DRAGGED_PX = 8;
const documentNumber = Math.random().toString(36).slice(2);

const person = { on: true, pointing: false, listsHidden: false, pressed: null, key: null, dragged: null, isDrag: false };

const tell = (act, more) => post({ attempt: PERSON, type: "person", act, ...more });

/** The control that a person means who hits a part of it, such as the icon in a button. */
function actedOn(inner, reading) {
  for (let at = inner, steps = 0; at && steps < 8; at = flatParent(at), steps += 1) {
    if (!isElement(at)) continue;
    if (ACTED_ON.has(roleOf(at, reading)) || tagOf(at) === "summary" || isEditingHost(at)) return at;
  }
  return inner;
}

// ------------------------------------------------------------------------------------------------ queries

/** Queries that may say which element it is, the most telling first, each with whether it only says where it is. */
function* queriesFor(element, target, reading) {
  const role = target.role || null;
  const name = given(target.name) && target.name.length <= 120 ? target.name : "";
  const test = TEST_IDS.map((id) => attr(element, id)).find(Boolean);
  if (test) yield [{ test_id: test }];
  const unnumbered = role && /\d/.test(name) ? name.split(/[^\p{L}]*\d[^\p{L}]*/u).sort((one, other) => other.length - one.length)[0] : "";
  if (unnumbered && findAll({ role, name_contains: unnumbered }, reading).length === 1) yield [{ role, name, name_contains: unnumbered }];
  if (role && name) yield [{ role, name }];
  const label = target.label ? { role, label: target.label.replace(/[\s:*]+$/, "") } : null;
  const isDeclared = label !== null && isCalled(element, target.label, reading);
  if (isDeclared) yield [label];
  const placeholder = saidOf(element, "placeholder");
  if (placeholder) yield [{ role, placeholder }];
  const isAnchored = !/:nth-of-type|[ ]/.test(target.css);
  if (!role && name) {
    if (isAnchored) yield [{ css: target.css, text: name }];
    yield [{ text: name }];
  }
  const isByAddress = /\[href=[^ ]*$/.test(target.css); // it may hold a number for what its row says in words
  if (isAnchored && !isByAddress) yield [{ css: target.css }];
  if (label && !isDeclared) yield [label]; // a text that only stands beside it may be content, which changes
  const own = role && name ? { role, name } : role ? { role } : name ? { text: name } : null;
  if (own) for (const within of placesOf(element, reading)) yield [{ ...own, within }];
  if (isAnchored && isByAddress) yield [{ css: target.css }];
  if (role && !name) yield [{ role }];
  for (const css of tellingOf(element, reading)) yield [{ css }];
  if (isToldByLooks(element)) return;
  const nth = own ? inPageOrder(findAll(own, reading)).indexOf(element) + 1 : 0;
  if (nth) yield [{ ...own, nth }, true];
  if (target.css) yield [{ css: target.css }, true];
}

const COLOURS = ["backgroundColor", "backgroundImage", "color", "fill"];

/** Attributes of the page's own that hold a word: a number is a place, what a program made is another next time. */
function* wordsIn(element, isSaid) {
  for (const name of getAttributeNames.call(element)) {
    const value = attr(element, name);
    if (!/^(?:data-|title$|value$|alt$)/.test(name) || value.length > 80) continue;
    if (/[^\d\W]/.test(value) && (!looksGenerated(value) || isSaid(value))) yield [name, value];
  }
}

/** Selectors by such a word, those first that the page shows. Words that several beside it share are states, which pass. */
function tellingOf(element, reading) {
  const shown = normalise(textOf(bodyOf(document), reading, 20_000));
  const isSaid = (word) => ` ${shown.replace(/[^\p{L}\p{N}]+/gu, " ")} `.includes(` ${normalise(word)} `);
  const tag = escapedTag(element);
  const group = [element, ...siblingsAlike(element)];
  const isOwn = ([name]) => new Set(group.map((each) => attr(each, name))).size === group.length;
  const found = [...wordsIn(element, isSaid)].filter(isOwn).map(([name, value]) => [`${tag}[${name}=${quoted(value)}]`, isSaid(value)]);
  return found.sort(([, one], [, other]) => Number(other) - Number(one)).map(([css]) => css);
}

/** Returns whether those beside it are alike but for their words or colours: its place would be taken for what tells it. */
function isToldByLooks(element) {
  const looks = (each) => [...wordsIn(each, () => false), ...COLOURS.map((key) => each.style?.[key] ?? ""), attr(each, "fill")].join();
  return siblingsAlike(element).some((other) => looks(other) !== looks(element));
}

/** The shown texts in a row or card, each as it stands by itself. */
function textsIn(row, reading) {
  const texts = [];
  const visit = (node) => {
    const text = isText(node) ? collapse(dataOf(node)) : "";
    if (WORD.test(text) && text.length <= 80) texts.push(text);
    if (isElement(node) && !reading.isInEditor(node) && reading.isShown(node)) for (const child of flatChildren(node)) visit(child);
  };
  visit(row);
  return texts.slice(0, TEXTS_OF_ROW);
}
const TEXTS_OF_ROW = 24;
const TOLD_BY_TEXT = new Set(["row", "listitem", "article"]);

/** How likely a text is another one next time: its digits count, and nothing but digits is a number that was given. */
const changes = (text) => text.replace(/\D/g, "").length + (/\p{L}/u.test(text) ? 0 : 100);

/** Queries for what the element stands in, from the inside out: rows by each of their texts, other places by name. */
function* placesOf(element, reading) {
  for (let at = flatParent(element); at; at = flatParent(at)) {
    if (!isElement(at)) continue;
    const role = roleOf(at, reading);
    if (!PLACES.has(role)) continue;
    const name = nameOf(at, reading);
    if (name && name.length <= 120) yield { role, name };
    if (TOLD_BY_TEXT.has(role)) {
      for (const text of textsIn(at, reading).sort((one, other) => changes(one) - changes(other))) {
        yield { role, text };
        yield { role, text: EDGE + text + EDGE };
      }
    }
  }
}

/** A query as a file has it: without empty fields, and with words that must be whole marked by a field of its own. */
function written({ within, ...query }) {
  const fields = Object.fromEntries(Object.entries(query).filter(([, value]) => value));
  if (within) fields.within = written(within);
  const { text } = fields;
  return text?.startsWith(EDGE) ? { ...fields, text: text.slice(1, -1), substring: false } : fields;
}

function described(element, reading = new Reading()) {
  const target = describe(element, reading);
  const isShown = reading.isShown(element);
  let query = null;
  let byPlace = false;
  for (const [candidate, place = false] of isShown ? queriesFor(element, target, reading) : [[{ css: target.css }]]) {
    const found = isShown ? findAll(candidate, reading) : [element];
    if (found.length !== 1 || found[0] !== element) continue;
    query = written(candidate);
    byPlace = place;
    break;
  }
  const isField = isEditable(element) || element instanceof HTMLSelectElement;
  return { number: `${documentNumber}.${numberOf(element)}`, target, query, byPlace, isField, isHidden: !isShown };
}

// ------------------------------------------------------------------------------------------------- pointer

const innermost = (event) => event.composedPath().find((node) => node.nodeType === 1) ?? null;

function onPressed(event, inner) {
  const reading = new Reading();
  const element = actedOn(inner, reading);
  const was = checkedOf(element);
  person.pressed = { inner, element, was, said: described(element, reading), x: event.clientX, y: event.clientY };
  person.isDrag = false;
  person.dragged = null;
}

function onReleased(event) {
  const { pressed } = person;
  if (!pressed || person.dragged || event.button) return;
  // A menu that acts when the button goes up, and is gone by then, gets no click.
  setTimeout(() => {
    if (isConnected(pressed.inner) || pressed.isClicked || person.isDrag) return;
    tell("click", { element: pressed.said, button: "left", modifiers: [] });
  }, 0);
  const by = { x: Math.round(event.clientX - pressed.x), y: Math.round(event.clientY - pressed.y) };
  if (Math.hypot(by.x, by.y) < DRAGGED_PX || isEditable(pressed.element) || inputTypeOf(pressed.element)) return;
  if (tagOf(pressed.inner) === "select" || !getSelection().isCollapsed) return;
  person.isDrag = true;
  const under = document.elementsFromPoint(event.clientX, event.clientY)
    .find((other) => !flatContains(pressed.inner, other) && !flatContains(other, pressed.inner));
  tell("drag", { element: pressed.said, to: placeToDrop(under), by });
}

/** Where something was dropped; null where nothing but the distance says it. */
function placeToDrop(under) {
  const said = under ? described(under) : null;
  return said?.query && !said.byPlace ? said : null;
}

function onClick(event, inner) {
  const reading = new Reading();
  const byKeys = event.detail === 0 && event.pointerType === "";
  const held = HELD_KEYS.filter((key) => event[`${key.toLowerCase() === "control" ? "ctrl" : key.toLowerCase()}Key`]);
  let { pressed } = person;
  if (pressed) pressed.isClicked = true;
  const element = actedOn(inner, reading);
  if (!pressed || byKeys || !(flatContains(pressed.element, inner) || flatContains(inner, pressed.element))) {
    pressed = { element, said: described(element, reading), was: checkedOf(element) };
  }
  if (person.isDrag) return;
  // Enter in a field presses the form's button, and a label passes its click on: neither is an act of its own.
  if (byKeys && person.key?.key === "Enter" && person.key.element !== element) return;
  const label = closest(inner, "label");
  const control = label ? controlOf(label) : null;
  const native = inputTypeOf(pressed.element);
  if (control && control !== pressed.element && (isEditable(control) || /^(?:checkbox|radio)$/.test(inputTypeOf(control)))) return;
  if (/^(?:checkbox|radio|file|range|color)$/.test(native) || /^(?:select|option|optgroup)$/.test(tagOf(inner))) return;
  const role = roleOf(pressed.element, reading);
  if (TICKED_ROLES.has(role) && pressed.was !== null && !event.button && !held.length) {
    return tell(pressed.was && !role.endsWith("radio") ? "uncheck" : "check", { element: pressed.said });
  }
  tell("click", { element: pressed.said, button: ["left", "middle", "right"][event.button] ?? "left", modifiers: held });
}

function onDragStart(event, inner) {
  person.dragged = person.pressed?.inner === inner ? described(inner) : described(closest(inner, "[draggable=true]") ?? inner);
}

function onDrop(event, inner) {
  const files = [...(event.dataTransfer?.files ?? [])].map((file) => file.name);
  if (files.length && !person.dragged) return tell("upload", { element: described(inner), values: files, drop: true });
  if (!person.dragged) return;
  const from = person.pressed ?? { x: event.clientX, y: event.clientY };
  const by = { x: Math.round(event.clientX - from.x), y: Math.round(event.clientY - from.y) };
  tell("drag", { element: person.dragged, to: placeToDrop(inner), by });
}

// ------------------------------------------------------------------------------------------------- values

const toldValues = new WeakMap();

const enteredIn = (element, reading) => (isSecret(element) ? inputValueOf(element) : valueOf(element, reading));

function onInput(_event, inner) {
  const element = editedHost(inner);
  if (!element || inputTypeOf(element) === "file") return;
  const reading = new Reading();
  const value = enteredIn(element, reading);
  if (toldValues.get(element) === value) return; // a field says `change` once more when it is left
  toldValues.set(element, value);
  const signsIn = /\bcurrent-password\b/i.test(attr(element, "autocomplete"));
  if (person.on) tell("fill", { element: described(element, reading), value, secret: isSecret(element), signsIn });
}

/** The field that is written in: of an editor, its outermost element. */
function editedHost(inner) {
  if (inputTypeOf(inner) || tagOf(inner) === "textarea") return isEditable(inner) ? inner : null;
  let host = null;
  for (let at = inner; at; at = flatParent(at)) if (isElement(at) && isEditingHost(at)) host = at;
  return host;
}

function onChange(event, inner) {
  const type = inputTypeOf(inner);
  if (type === "checkbox" || type === "radio") {
    return tell(inputCheckedOf(inner) ? "check" : "uncheck", { element: described(inner) });
  }
  if (type === "file") {
    const files = [...inner.files].map((file) => file.name);
    return void (files.length && tell("upload", { element: described(inner), values: files }));
  }
  if (inner instanceof HTMLSelectElement) {
    return tell("select", { element: described(inner), values: selectedLabels(inner) });
  }
  onInput(event, inner);
}

// --------------------------------------------------------------------------------------------------- keys

const IN_TEXT = /^(?:Arrow|Page|Home$|End$|Backspace$|Delete$|Shift$|CapsLock$|.$)/;
const OF_EDITING = /^[acvxyz]$/i;

function onKey(event, inner) {
  if (event.isComposing || event.repeat || HELD_KEYS.includes(event.key) || /^(?:Process|Dead|Unidentified)$/.test(event.key)) return;
  const reading = new Reading();
  const element = actedOn(inner, reading);
  person.key = { key: event.key, element };
  const isPlainKey = event.key.length === 1 && event.key !== " ";
  const held = [event.ctrlKey && "Control", event.altKey && "Alt", event.metaKey && "Meta",
    event.shiftKey && (!isPlainKey || event.ctrlKey || event.metaKey) && "Shift"].filter(Boolean);
  const isShortcut = event.ctrlKey || event.metaKey || (event.altKey && !event.getModifierState("AltGraph"));
  const isText = Boolean(editedHost(inner));
  const isOneLine = isText && Boolean(inputTypeOf(inner));
  const isPressed = !isText && /^(?:Enter| )$/.test(event.key) && (ACTED_ON.has(roleOf(element, reading)) || tagOf(element) === "summary");
  if (isPressed && !isShortcut) return; // a click follows
  if (isText && isShortcut && (OF_EDITING.test(event.key) || (IN_TEXT.test(event.key) && event.key.length > 1))) return;
  const isRoot = inner === bodyOf(document) || inner === rootElementOf(document);
  const said = { keys: [...held, event.key === " " ? "Space" : event.key].join("+"), element: isRoot ? null : described(element, reading) };
  const isAct = isShortcut || event.key === "Escape" || /^F\d+$/.test(event.key) || (event.key === "Enter" && (isOneLine || !isText));
  if (isAct) return tell("press", said);
  // Any other key is an act only where the page makes one of it.
  if (isText && event.key.length === 1) return;
  setTimeout(() => event.defaultPrevented && tell("press", said), 0);
}

// ------------------------------------------------------------------------------------------------- pointing

const POINTING = ["pointerdown", "mousedown", "pointerup", "mouseup", "click", "auxclick", "dblclick", "contextmenu"];

/** Returns whether the event was a pointing finger, which the page does not feel. */
function pointed(event, inner) {
  if (!person.pointing || !POINTING.includes(event.type)) return false;
  stopEvent(event);
  if (event.type === "click") tell("point", { element: described(inner), text: readText(inner, new Reading()).slice(0, 200) });
  return true;
}

/** A list whose options nobody would see stays closed: its options are told, and it is changed by keys. */
function onMouseDown(event, inner) {
  const select = closest(inner, "select");
  if (!person.listsHidden || !select || select.multiple || select.size > 1 || event.button) return;
  event.preventDefault();
  focusElement(select);
  tell("list", { values: [...optionsOf(select)].filter((option) => !optionDisabledOf(option)).map(optionLabelOf) });
}

const HEARD = {
  pointerdown: onPressed,
  mousedown: onMouseDown,
  pointerup: onReleased,
  click: onClick,
  auxclick: onClick,
  dblclick: (_event, inner) => person.isDrag || tell("double_click", { element: person.pressed?.said ?? described(inner) }),
  dragstart: onDragStart,
  drop: onDrop,
  input: onInput,
  change: onChange,
  keydown: onKey,
};

function onPersonEvent(event) {
  const inner = innermost(event);
  // Files are chosen by a person alone, though tools that stand in for one tell the page of it by an event of their own.
  const isChosenFile = event.type === "change" && inner && inputTypeOf(inner) === "file";
  if (!inner || !(event.isTrusted || isChosenFile) || pointed(event, inner)) return;
  if (person.on || /^(?:input|mousedown)$/.test(event.type)) HEARD[event.type]?.(event, inner);
}

/** Listens again where the page has written its document anew. */
function hearPerson() {
  for (const type of new Set([...Object.keys(HEARD), ...POINTING])) addListener(window, type, onPersonEvent, { capture: true, passive: false });
}

hearPerson();
Object.defineProperty(globalThis, "replaywrightPerson", {
  value: (on, pointing, listsHidden) => {
    hearPerson();
    Object.assign(person, { on, pointing, listsHidden });
  },
});
tell("document", {});
