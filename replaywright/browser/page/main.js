/* The agent's interface: functions that Python calls, and messages to Python. */

const BINDING = "__replaywright";
const unsent = [];
let attempt = null;

function post(message) {
  unsent.push(JSON.stringify({ ...message, url: location.href, title: titleOf(document) }));
  const send = globalThis[BINDING];
  // A world that is older than its binding keeps messages until the binding exists.
  if (typeof send !== "function") return;
  while (unsent.length) send(unsent.shift());
}

const INPUT_EVENTS = ["pointerover", "pointermove", "mousemove", "pointerdown", "mousedown", "touchstart", "touchend",
  "pointerup", "mouseup", "click", "auxclick", "dblclick", "contextmenu", "dragstart", "dragover", "drop", "dragend",
  "keydown", "keypress", "keyup", "beforeinput", "paste", "blur", "focus"];

function onInputEvent(event) {
  if (!event.isTrusted) return;
  if (isSwallowed(event)) return stopEvent(event);
  const acting = attempt?.choosing?.part ?? attempt;
  if (acting?.guard.armed) acting.guarded(() => acting.guard.onInput(event));
}

function begin(spec) {
  attempt?.stop();
  standGuard();
  attempt = new Attempt({ need: "none", probes: [], ...spec }, post);
  attempt.start();
}

/** The attempt of this number, if it is the present one. */
const present = (number) => (attempt?.spec.attempt === number ? attempt : null);

const api = {
  begin,
  choose: (number, index) => present(number)?.pick(index),
  move: (number) => present(number)?.move(),
  act: (number) => present(number)?.act(),
  takeFiles: (number, field) => present(number)?.takeFiles(field) ?? null,
  searchOn: (number) => present(number)?.searchOn() ?? { found: false, more: false },
  aim: (number) => present(number)?.aim() ?? null,
  carry,
  /** Scrolls the page, or the largest area in it, to an end. */
  scrollPage: (end) => void scrollToEnd(wholePage(), end),
  origins: originsHere,
  enter: (number, text, origins) => present(number)?.enter(text, origins) ?? "gone",
  enterHere,
  /** Returns whether the focus is in this document, and not in a frame of it. */
  hasFocus: hasFocusHere,
  watch(number, probes) {
    begin({ attempt: number, need: "none", probes });
  },
  cancel() {
    attempt?.stop();
    attempt = null;
  },
  takeEntries,
  /** Answers at once; an attempt in progress is not affected. */
  probe: (probes) => answer(probes, new Reading(), { nearest: false }),
  snapshot: takeSnapshot,
  outline,
  suspects,
  roots: () => allRoots().slice(0, ROOTS_HEARD),
  hearsPresses,
  picturedAt,
  extract(number, fields) {
    const element = present(number)?.element;
    return extractFields(element && isConnected(element) ? element : null, fields, new Reading());
  },
  /** For benchmarks: candidates of all tiers, without an attempt. */
  lookUpAll,
  /** For tests and the recorder: description of an element. */
  describe: (element) => describe(element),
  normalise,
  contains,
};
Object.defineProperty(globalThis, "replaywright", { value: Object.freeze(api) });

function standGuard() {
  for (const type of INPUT_EVENTS) addListener(window, type, onInputEvent, { capture: true, passive: false });
}

// Installed with the document, so before any listener of the page: nothing sees input that the guard stops. A page
// that writes its document anew (`document.open`) takes all listeners away: then the next attempt puts them back.
standGuard();

function sendLoaded() {
  post({ attempt: 0, type: "loaded" });
  if (attempt) attempt.documentIsLoaded();
  else documentRest.watch([document], performance.now());
}

post({ attempt: 0, type: "document", top: window === window.top });
if (readyStateOf(document) === "loading") addListener(document, "DOMContentLoaded", sendLoaded, { once: true });
else sendLoaded();
