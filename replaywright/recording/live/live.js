/* The live view: draws the pictures of the page, passes input on in its order, and shows the state of the panel. */

"use strict";

const $ = (id) => document.getElementById(id);
const canvas = $("page");
const keys = $("keys");
let shown = { width: 1280, height: 720 };
let hasEnded = false;

// ---------------------------------------------------------------------------------------------------- sending

let sending = Promise.resolve();

/** Sends after what was sent before; a refusal is told. */
function post(path, type, body) {
  sending = sending.then(() => fetch(path, { method: "POST", headers: { "Content-Type": type }, body }))
    .then((answer) => answer.ok || answer.text().then(say), () => say("The command does not answer."));
  return sending;
}

const send = (path, data) => post(path, "application/json", JSON.stringify(data));
const give = (data) => send("input", data);
const say = (text) => { $("state").textContent = text; };

// ---------------------------------------------------------------------------------------------------- pictures

async function watch() {
  let seen = 0;
  while (!hasEnded) {
    try {
      const answer = await fetch(`picture?seen=${seen}`);
      if (answer.status !== 200) continue;
      seen = Number(answer.headers.get("X-Picture"));
      const picture = await createImageBitmap(await answer.blob());
      if (canvas.width !== picture.width || canvas.height !== picture.height) {
        canvas.width = picture.width;
        canvas.height = picture.height;
      }
      canvas.getContext("2d").drawImage(picture, 0, 0);
    } catch {
      await new Promise((done) => setTimeout(done, 500));
    }
  }
}

// ----------------------------------------------------------------------------------------------------- pointer

const BUTTONS = ["left", "middle", "right"];
const bits = (event) => event.altKey + 2 * event.ctrlKey + 4 * event.metaKey + 8 * event.shiftKey;
let moved = null;
let isMoving = false;
let last = { x: 0, y: 0, at: 0, clicks: 0 };

function at(event) {
  const box = canvas.getBoundingClientRect();
  const x = Math.round((event.clientX - box.left) * (shown.width / box.width));
  const y = Math.round((event.clientY - box.top) * (shown.height / box.height));
  return { do: "pointer", x, y, modifiers: bits(event), buttons: event.buttons };
}

canvas.addEventListener("pointermove", async (event) => {
  moved = { ...at(event), kind: "mouseMoved" };
  if (isMoving) return;
  isMoving = true;
  while (moved) {
    const next = moved;
    moved = null;
    await give(next);
  }
  isMoving = false;
});

canvas.addEventListener("pointerdown", (event) => {
  event.preventDefault();
  keys.focus({ preventScroll: true });
  canvas.setPointerCapture(event.pointerId);
  const place = at(event);
  const again = event.timeStamp - last.at < 500 && Math.hypot(place.x - last.x, place.y - last.y) < 5;
  last = { x: place.x, y: place.y, at: event.timeStamp, clicks: again ? (last.clicks % 3) + 1 : 1 };
  give({ ...place, kind: "mouseMoved", buttons: 0 });
  give({ ...place, kind: "mousePressed", button: BUTTONS[event.button] ?? "left", clicks: last.clicks });
});

canvas.addEventListener("pointerup", (event) => {
  moved = null;
  give({ ...at(event), kind: "mouseMoved", buttons: 1 });
  give({ ...at(event), kind: "mouseReleased", button: BUTTONS[event.button] ?? "left", clicks: last.clicks });
});

canvas.addEventListener("contextmenu", (event) => event.preventDefault());
canvas.addEventListener("wheel", (event) => {
  event.preventDefault();
  give({ ...at(event), kind: "mouseWheel", dx: event.deltaX, dy: event.deltaY });
}, { passive: false });

// -------------------------------------------------------------------------------------------------------- keys

const NAMED = /^(?:Enter|Tab|Escape|Backspace|Delete|Insert|Home|End|PageUp|PageDown|Arrow\w+|F\d+|ContextMenu)$/;

keys.addEventListener("keydown", (event) => {
  if (event.isComposing || ["Shift", "Control", "Alt", "Meta"].includes(event.key)) return;
  if (event.key === "Escape" && event.shiftKey) {
    event.preventDefault();
    return void document.querySelector("aside button")?.focus();
  }
  const held = [event.ctrlKey && "Control", event.altKey && "Alt", event.metaKey && "Meta"].filter(Boolean);
  const isTyped = event.key.length === 1 && (!held.length || event.getModifierState("AltGraph"));
  if ((event.ctrlKey || event.metaKey) && /^[vV]$/.test(event.key)) return; // the clipboard of this machine
  if (isTyped && !/^[ -~]$/.test(event.key)) return; // comes as a text
  if (!isTyped && !held.length && !NAMED.test(event.key)) return;
  event.preventDefault();
  if (event.shiftKey && event.key.length > 1) held.push("Shift");
  give({ do: "keys", keys: isTyped ? event.key : [...held, event.key].join("+") });
});

function entered() {
  if (keys.value) give({ do: "insert", text: keys.value });
  keys.value = "";
}

keys.addEventListener("input", (event) => event.isComposing || entered());
keys.addEventListener("compositionend", entered);

// ------------------------------------------------------------------------------------------------------- panel

function button(text, pressed) {
  const made = document.createElement("button");
  made.type = "button";
  made.textContent = text;
  made.addEventListener("click", pressed);
  return made;
}

function item(...children) {
  const made = document.createElement("li");
  made.append(...children);
  return made;
}

function field(label, type, value = "") {
  const made = document.createElement("label");
  const input = Object.assign(document.createElement("input"), { type });
  if (value) input.value = value;
  made.append(label, " ", input);
  return [made, input];
}

/** What the page asks for: a dialog's answer, an option, a file. */
function asked({ dialog, choices, wants_file: wantsFile }) {
  if (dialog) {
    const [label, input] = field(dialog.message, "text", dialog.suggested);
    const answer = (accept) => () => give({ do: "answer", accept, text: input.value });
    const text = document.createElement("p");
    text.textContent = dialog.message;
    return [dialog.kind === "prompt" ? label : text, button("OK", answer(true)),
      ...(dialog.kind === "alert" ? [] : [button("Cancel", answer(false))])];
  }
  if (choices.length) {
    return [...choices.map((choice, index) => button(choice, () => give({ do: "choose", index }))),
      button("Leave the list", () => give({ do: "choose", index: null }))];
  }
  if (!wantsFile) return [];
  const [label, input] = field("The page asks for a file:", "file");
  input.addEventListener("change", () => upload(input.files[0]));
  return [label, button("No file", () => upload(null))];
}

function upload(file) {
  const name = file ? `?name=${encodeURIComponent(file.name)}` : "";
  post(`file${name}`, "application/octet-stream", file ?? "");
}

let askedBefore = "";
let panelBefore = "";

/** A button of the panel; one that fills only begins a command, which the person ends. */
function command({ label, command: text, fills }, about = "") {
  const made = button(label, () => {
    if (!fills) return void send("command", text);
    $("command").value = text;
    $("command").focus();
  });
  if (about) made.setAttribute("aria-label", `${label}: ${about}`);
  made.dataset.command = text;
  return made;
}

function step({ text, mark = "", note = "", buttons = [] }, number) {
  const made = item(mark === "done" || mark === "failed" || mark === "changed" ? `${text} – ${mark}` : text);
  if (mark) made.className = mark;
  if (mark === "next") made.setAttribute("aria-current", "step");
  if (note) made.append(Object.assign(document.createElement("p"), { className: "note", textContent: note }));
  const group = Object.assign(document.createElement("div"), { className: "buttons" });
  group.append(...buttons.map((one) => command(one, `step ${number + 1}`)));
  if (buttons.length) made.append(group);
  return made;
}

/** Draws the panel anew, and leaves the focus where it was. */
function draw({ title, steps, commands, takesCommands = false }) {
  const focused = document.activeElement?.dataset?.command;
  $("title").textContent = title;
  document.title = `${title} – Replaywright`;
  $("steps").replaceChildren(...steps.map(step));
  $("commands").replaceChildren(...commands.map((one) => command(one)));
  $("typed").hidden = !takesCommands;
  if (focused) [...document.querySelectorAll("[data-command]")].find((one) => one.dataset.command === focused)?.focus();
}

function show(state) {
  shown = state.shown.width ? state.shown : { ...state.shown, width: canvas.width, height: canvas.height };
  hasEnded = state.hasEnded;
  say(state.state);
  if (document.activeElement !== $("url")) $("url").value = state.shown.url;
  $("tabs").replaceChildren(...state.shown.tabs.map((tab) => {
    const take = button(tab.title || "New tab", () => give({ do: "tab", id: tab.id }));
    if (tab.is_current) take.setAttribute("aria-current", "true");
    const close = button("×", () => give({ do: "tab", id: tab.id, close: true }));
    close.setAttribute("aria-label", `Close ${tab.title}`);
    return item(take, close);
  }));
  const wanted = JSON.stringify([state.shown.dialog, state.shown.choices, state.shown.wants_file]);
  if (wanted !== askedBefore) {
    askedBefore = wanted;
    $("asked").replaceChildren(...asked(state.shown));
    $("asked").querySelector("button, input")?.focus();
  }
  const panel = JSON.stringify([state.title, state.steps, state.commands]);
  if (panel !== panelBefore) {
    panelBefore = panel;
    draw(state);
  }
}

async function follow() {
  let seen = "";
  while (!hasEnded) {
    try {
      const state = await (await fetch(`state?seen=${seen}`)).json();
      seen = state.seen;
      show(state);
    } catch {
      say("The command does not answer.");
      await new Promise((done) => setTimeout(done, 1000));
    }
  }
}

$("address").addEventListener("submit", (event) => {
  event.preventDefault();
  const url = $("url").value.trim();
  give({ do: "goto", url: /^https?:\/\//.test(url) ? url : `http://${url}` });
});
$("typed").addEventListener("submit", (event) => {
  event.preventDefault();
  send("command", $("command").value);
  $("command").value = "";
});
$("back").addEventListener("click", () => give({ do: "back" }));
watch();
follow();
