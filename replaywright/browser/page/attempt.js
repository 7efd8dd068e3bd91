/*
 * One attempt: find the element, make it ready, guard the input, say what was seen afterwards.
 *
 * Nothing is polled: looks are set off by mutations, frames and events. A slow tick remains as a net under what
 * sends no event at all (a property set by a script, a shadow root attached late).
 */

const SETTLE_LIMIT_MS = 3000;
const OBSERVE_EVERY_MS = 25;
const SAFETY_TICK_MS = 250;
/** An attempt that nobody ended lets go of the page by itself: a person may be working in it by then. */
const ATTEMPT_LIFE_MS = 120000;
/** Input comes right after `ready`; a guard that waits longer would swallow what a person does. */
const GUARD_LIFE_MS = 30000;
/** After it landed, a second press of the same gesture (a double click) is still guarded. */
const GUARD_AFTER_LANDING_MS = 1000;

const POINTER_NEEDS = new Set(["click", "check", "hover"]);
const KEY_NEEDS = new Set(["fill", "type", "focus"]);
const NEEDS_ENABLED = new Set(["click", "check", "fill", "type", "select"]);
const LOOK_EVENTS = ["load", "transitionend", "transitioncancel", "animationend", "animationcancel", "scroll", "resize",
  "toggle", "focusin", "slotchange"];
const OBSERVE_EVENTS = ["input", "change", "load", "toggle", "transitionend", "animationend", "close", "reset"];
const TEXT_INPUTS = /^(?:text|search|email|url|tel|password|number)$/;
const SETTABLE_INPUTS = /^(?:date|time|datetime-local|month|week|color|range)$/;

const setInputValue = Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value").set;
const setOptionSelected = Object.getOwnPropertyDescriptor(HTMLOptionElement.prototype, "selected").set;
const focusElement = (element) => {
  const prototype = element instanceof SVGElement ? SVGElement.prototype : HTMLElement.prototype;
  prototype.focus.call(element, { preventScroll: true });
};

/** Input that is being swallowed because its beginning arrived elsewhere; ends with the gesture, not the attempt. */
let swallowing = null;

class Attempt {
  constructor(spec, send) {
    this.spec = spec;
    this.post = send;
    this.started = performance.now();
    this.phase = "locating";
    this.element = null;
    this.identity = "";
    this.chosenTier = "";
    this.offered = [];
    this.offeredKey = "";
    this.total = 0;
    this.blockedBy = new Set();
    this.lastBox = null;
    this.sameBoxes = 0;
    this.refused = false;
    this.scrolls = 0;
    this.lastChange = this.started;
    this.lastSettled = 0;
    this.armed = false;
    this.landed = false;
    this.pressed = false;
    this.checkedIdentity = false;
    this.changed = false;
    this.touched = false;
    this.lastObserved = "";
    this.lastObservedAt = 0;
    this.timers = new Map();
    this.watchedRoots = new WeakSet();
    this.observer = new MutationObserver((records) => this.guarded(() => this.onMutations(records)));
    this.onEvent = (event) => this.guarded(() => this.onPageEvent(event));
  }

  send(type, fields = {}) {
    this.post({ attempt: this.spec.attempt, type, ...fields });
  }

  /** Runs a part of the attempt; whatever goes wrong is told, and never reaches the page. */
  guarded(work) {
    if (this.phase === "over") return;
    try {
      work();
    } catch (error) {
      this.stop();
      this.send("failed", { reason: cut(String(error?.stack ?? error), 1000) });
    }
  }

  start() {
    this.guarded(() => {
      for (const type of new Set([...LOOK_EVENTS, ...OBSERVE_EVENTS])) addListener(window, type, this.onEvent, true);
      for (const type of ["popstate", "hashchange"]) addListener(window, type, this.onEvent);
      window.navigation?.addEventListener("currententrychange", this.onEvent);
      this.watchRoot(document);
      this.later("life", ATTEMPT_LIFE_MS, () => this.stop());
      this.tick();
      if (readyStateOf(document) !== "loading") this.look();
    });
  }

  /** DOMContentLoaded: before it, neither "the only one" nor "none" can be said. */
  documentIsLoaded() {
    this.lastChange = performance.now();
    this.started = this.lastChange;
    // The page's own listeners for this event come after ours: what they do belongs to the document that is looked at.
    inNewTask(() => this.guarded(() => this.phase === "locating" && this.look()));
  }

  stop() {
    this.phase = "over";
    this.armed = false;
    this.observer.disconnect();
    for (const timer of this.timers.values()) clearTimeout(timer);
    this.timers.clear();
    if (this.frame) cancelAnimationFrame(this.frame);
    for (const type of new Set([...LOOK_EVENTS, ...OBSERVE_EVENTS])) removeListener(window, type, this.onEvent, true);
    for (const type of ["popstate", "hashchange"]) removeListener(window, type, this.onEvent);
    window.navigation?.removeEventListener("currententrychange", this.onEvent);
    this.spec.text = null;
  }

  later(name, delay, work) {
    clearTimeout(this.timers.get(name));
    this.timers.set(name, setTimeout(() => {
      this.timers.delete(name);
      this.guarded(work);
    }, delay));
  }

  tick() {
    this.later("tick", SAFETY_TICK_MS, () => {
      if (this.phase === "locating" || this.phase === "preparing") this.scheduleLook();
      else if (this.phase === "observing") this.observe();
      this.tick();
    });
  }

  watchRoot(root) {
    if (this.watchedRoots.has(root)) return;
    this.watchedRoots.add(root);
    this.observer.observe(root, { subtree: true, childList: true, attributes: true, characterData: true });
  }

  newReading() {
    const reading = new Reading();
    for (const root of reading.roots) this.watchRoot(root);
    return reading;
  }

  // ---------------------------------------------------------------------------------------- what happens

  onMutations(records) {
    if (!records.length) return;
    this.lastChange = performance.now();
    this.changed = true;
    if (this.element && !this.touched) {
      this.touched = records.some(({ target }) => flatContains(this.element, target));
    }
    if (this.phase === "locating" || this.phase === "preparing") {
      this.armSettle();
      this.scheduleLook();
    } else if (this.phase === "observing") {
      this.scheduleObserve();
    }
  }

  onPageEvent(event) {
    if (this.phase === "locating" || this.phase === "preparing") this.scheduleLook();
    else if (this.phase === "observing" && event.type !== "scroll" && event.type !== "focusin") this.scheduleObserve();
  }

  /** At the next frame, or soon where no frames are drawn. */
  scheduleLook() {
    if (this.frame || readyStateOf(document) === "loading") return;
    const run = () => {
      cancelAnimationFrame(this.frame);
      clearTimeout(this.timers.get("frame"));
      this.frame = 0;
      if (this.phase === "locating" || this.phase === "preparing") this.look();
    };
    this.frame = requestAnimationFrame(() => this.guarded(run));
    this.later("frame", 100, run);
  }

  // ------------------------------------------------------------------------------------------- locating

  look() {
    const reading = this.newReading();
    if (this.phase === "locating" && !this.find(reading)) return;
    if (this.phase === "preparing" && this.element && !isConnected(this.element)) {
      // It was taken away while it was made ready: look again, from the start.
      this.forget();
      if (!this.find(reading)) return;
    }
    this.prepare(reading);
  }

  forget() {
    this.phase = "locating";
    this.element = null;
    this.lastBox = null;
  }

  /** Whether the attempt knows its element, or needs none. */
  find(reading) {
    const { target, query } = this.spec;
    if (!target && !query) {
      this.phase = "preparing";
      return true;
    }
    let certain = null;
    if (query) {
      const found = findAll(query, reading);
      this.total = found.length;
      this.candidates = found.slice(0, CANDIDATE_LIMIT).map((element) => ({ element, tier: "query" }));
      if (found.length === 1) certain = this.candidates[0];
    } else {
      const { candidates, total } = locate(target, reading);
      this.total = total;
      this.candidates = candidates;
      certain = certainOf(target, candidates, total, reading);
    }
    if (certain) {
      this.choose(certain, reading);
      return true;
    }
    this.offer(reading);
    this.armSettle();
    return false;
  }

  choose({ element, tier }, reading) {
    this.element = element;
    this.chosenTier = tier;
    this.identity = elementHash(element, reading);
    this.index = this.candidates.findIndex((candidate) => candidate.element === element);
    this.phase = "preparing";
    this.touched = false;
    this.byPython = false;
  }

  /** Tells the candidates when they are others than those told before. */
  offer(reading) {
    const key = this.candidates.map(({ element }) => `${numberOf(element)}:${elementHash(element, reading)}`).join();
    if (key === this.offeredKey) return;
    this.offeredKey = key;
    this.offered = this.candidates;
    this.send("candidates", { candidates: this.describeCandidates(reading), total: this.total, settled: this.isSettled() });
  }

  describeCandidates(reading) {
    return this.candidates.map(({ element, tier }, index) => ({ index, tier, target: describe(element, reading) }));
  }

  /** What Python chose from, or the one that was certain: the others have another role or name. */
  describeChosen(reading) {
    if (this.byPython) return this.describeCandidates(reading);
    return [{ index: this.index, tier: this.chosenTier, target: describe(this.element, reading) }];
  }

  isSettled() {
    return performance.now() - this.lastChange >= this.settleMs;
  }

  get settleMs() {
    return this.spec.settleMs ?? 250;
  }

  armSettle() {
    if (this.phase !== "locating" || readyStateOf(document) === "loading") return;
    if (this.lastSettled && this.lastSettled >= this.lastChange) return;
    const quiet = this.settleMs - (performance.now() - this.lastChange);
    const limit = this.lastSettled ? Infinity : this.started + SETTLE_LIMIT_MS - performance.now();
    this.later("settle", Math.max(0, Math.min(quiet, limit)), () => this.settle());
  }

  settle() {
    if (this.phase !== "locating") return;
    this.look();
    if (this.phase !== "locating") return;
    this.lastSettled = performance.now();
    const reading = this.newReading();
    this.offered = this.candidates;
    this.send("settled", { candidates: this.describeCandidates(reading), total: this.total });
  }

  /** Python decided. Its index is that of the last candidates it was told. */
  pick(index) {
    this.guarded(() => {
      const chosen = this.offered[index];
      if (this.phase !== "locating" || !chosen) return;
      const reading = this.newReading();
      if (!isConnected(chosen.element)) {
        this.offeredKey = "";
        this.look();
        return;
      }
      this.candidates = this.offered;
      this.choose(chosen, reading);
      this.byPython = true;
      this.prepare(reading);
    });
  }

  // ------------------------------------------------------------------------------------------ preparing

  block(reason, by = "") {
    if (!this.blockedBy.has(reason)) {
      this.blockedBy.add(reason);
      this.send("blocked", { reason, by });
    }
    // Properties that hold an element back (a box that moves, a cover that fades) may change without a mutation.
    if (reason === "moving" || reason === "covered") this.scheduleLook();
  }

  prepare(reading) {
    const { need } = this.spec;
    const { element } = this;
    if (!element) return this.prepareNothing(reading);
    if (elementHash(element, reading) !== this.identity) {
      // The same node says something else now: it is not what was chosen.
      this.forget();
      this.offeredKey = "";
      return void this.find(reading);
    }
    if (need === "read" || need === "none") return this.readyToRead(reading);
    if (!reading.isShown(element)) return this.block("invisible");
    if (NEEDS_ENABLED.has(need) && isDisabled(element)) return this.block("disabled");
    if (this.isAlready(reading)) return this.alreadyThere(reading);
    if (need === "fill" || need === "type") {
      const obstacle = editObstacle(element, need);
      if (obstacle) return this.block(...obstacle);
    }
    if (need === "select") return this.prepareSelect(reading);
    if (need === "fill" && inputTypeOf(element) && SETTABLE_INPUTS.test(inputTypeOf(element))) {
      return this.prepareSetting(reading);
    }
    // A styled checkbox has no size of its own: then its label is what can be seen and pressed.
    const place = [element, ...labelsOf(element)].find((part) => boxesOf(part).length) ?? element;
    const area = this.bringIntoView(place);
    if (!area) return this.block("invisible");
    if (POINTER_NEEDS.has(need) && !this.isStill(element)) return this.block("moving");
    if (need === "scroll") return this.readyAndDone(reading);
    if (POINTER_NEEDS.has(need)) return this.preparePointer(reading);
    this.prepareKeys(reading, area);
  }

  prepareNothing(reading) {
    const { need } = this.spec;
    if (need === "none") return this.beginObserving();
    const active = need === "focus" ? deepActive() : null;
    this.index = -1;
    if (need === "read" || need === "scroll") return this.readyToRead(reading);
    this.arm();
    this.send("ready", this.readyFields(reading, { element: active }));
  }

  readyFields(reading, { element = this.element, point = null, already = false } = {}) {
    const fields = {
      candidates: element && this.candidates ? this.describeChosen(reading) : [],
      total: this.total,
      index: this.index,
      target: element ? describe(element, reading) : null,
      point,
      state: element ? { ...this.stateOf(element, reading), already } : null,
      before: answer(this.spec.probes, reading),
    };
    if (this.spec.fields) fields.extracted = extractFields(element, this.spec.fields, reading);
    return fields;
  }

  readyToRead(reading) {
    this.send("ready", this.readyFields(reading));
    this.beginObserving();
  }

  readyAndDone(reading) {
    this.send("ready", this.readyFields(reading));
    this.land();
  }

  alreadyThere(reading) {
    this.send("ready", this.readyFields(reading, { already: true }));
    this.beginObserving();
  }

  stateOf(element, reading) {
    return {
      checked: checkedOf(element),
      value: cut(valueOf(element, reading), 10000),
      selected: element instanceof HTMLSelectElement ? selectedLabels(element) : null,
    };
  }

  /** Whether the element is as it is wanted already. */
  isAlready(reading) {
    const { need, wanted, text, option } = this.spec;
    switch (need) {
      case "check":
        return wanted !== null && wanted !== undefined && checkedOf(this.element) === wanted;
      case "select": {
        const chosen = this.element instanceof HTMLSelectElement ? optionFor(this.element, option) : null;
        return Boolean(chosen?.option && optionSelectedOf(chosen.option) && selectedLabels(this.element).length === 1);
      }
      case "fill":
        return given(text) && isEditable(this.element) && holdsText(this.element, text, reading);
    }
    return false;
  }

  valueOk(reading) {
    const { need, text } = this.spec;
    if ((need !== "fill" && need !== "type") || !this.element || !given(text)) return null;
    return isConnected(this.element) && holdsText(this.element, text, reading);
  }

  /** Scrolls only if too little of the element is to be seen; returns the visible part or null. */
  bringIntoView(element) {
    let area = visiblePart(element);
    if (!area || area.share < 0.5) {
      Element.prototype.scrollIntoView.call(element, { block: "center", inline: "center", behavior: "instant" });
      this.lastBox = null;
      area = visiblePart(element);
    }
    return area;
  }

  /** Whether the box rests. Two looks are needed only when something is animated or the box was elsewhere before. */
  isStill(element) {
    const rect = rectOf(element);
    const box = [rect.x, rect.y, rect.width, rect.height].join();
    const before = this.lastBox;
    this.lastBox = box;
    this.sameBoxes = before === box ? this.sameBoxes + 1 : 0;
    const animated = movingAnimations(element);
    // The first frame of an animation shows its start, so an equal box in the next frame proves nothing yet.
    if (animated ? this.sameBoxes >= 2 : before === null || before === box) return true;
    this.scheduleLook();
    return false;
  }

  preparePointer(reading) {
    const { element } = this;
    const places = [element, ...labelsOf(element).filter((label) => reading.isShown(label))];
    let cover = null;
    for (const place of places) {
      const found = clickablePoint(place, element);
      if (found.point && outerCover(found.point)) {
        cover ??= outerCover(found.point);
      } else if (found.point) {
        this.arm(found.point);
        return this.send("ready", this.readyFields(reading, { point: found.point }));
      }
      cover ??= found.cover;
    }
    // Something sticks to an edge of the window: another alignment may bring the element out from under it.
    const block = ["center", "end", "start", "nearest"][this.scrolls++];
    if (block) {
      Element.prototype.scrollIntoView.call(element, { block, inline: "nearest", behavior: "instant" });
      this.lastBox = null;
      this.scheduleLook();
      if (this.scrolls < 3) return;
    }
    this.block("covered", cover ? briefly(cover, reading) : "");
  }

  prepareKeys(reading, area) {
    const { element } = this;
    const { need } = this.spec;
    if (deepActive() !== element && !(need === "focus" && flatContains(element, deepActive()))) {
      focusElement(element);
      if (!isConnected(element)) return void this.scheduleLook();
      const active = deepActive();
      if (active !== element && !(active && flatContains(element, active))) {
        return this.block(need === "focus" ? "not_editable" : "covered", active ? briefly(active, reading) : "");
      }
    }
    if (need === "fill" || need === "type") selectContent(element);
    // Focusing may have changed the page: what is told now must be read now.
    const fresh = this.newReading();
    this.arm();
    this.send("ready", this.readyFields(fresh, { point: { x: area.x, y: area.y } }));
  }

  prepareSelect(reading) {
    const { element, spec } = this;
    if (!(element instanceof HTMLSelectElement)) return this.block("not_editable", briefly(element, reading));
    const { option, why } = optionFor(element, spec.option);
    if (!option) return this.block(why === "disabled" ? "disabled" : "no_such_option", why === "disabled" ? "" : why);
    this.hold(reading, () => {
      focusElement(element);
      for (const other of optionsOf(element)) if (optionSelectedOf(other) && other !== option) setOptionSelected.call(other, false);
      setOptionSelected.call(option, true);
      announceChange(element);
    });
  }

  prepareSetting(reading) {
    const { element, spec } = this;
    if (!acceptsValue(element, spec.text)) return this.block("not_editable", `the value is none for ${inputTypeOf(element)}`);
    this.hold(reading, () => {
      focusElement(element);
      setInputValue.call(element, spec.text);
      announceChange(element);
    });
  }

  /** `ready`, then what the agent does itself: at once, or when Python says `act` if the spec says `hold`. */
  hold(reading, work) {
    this.bringIntoView(this.element);
    this.send("ready", this.readyFields(reading));
    this.phase = "ready";
    const act = () => {
      this.pending = null;
      this.observer.takeRecords();
      this.changed = false;
      work();
      this.land();
    };
    if (this.spec.hold) this.pending = act;
    else act();
  }

  act() {
    this.guarded(() => this.pending?.());
  }

  // ---------------------------------------------------------------------------------------------- guard

  arm(point = null) {
    this.phase = "ready";
    this.armed = true;
    this.point = point;
    this.pressed = false;
    this.checkedIdentity = false;
    this.onMutations(this.observer.takeRecords());
    this.touched = false;
    this.later("guard", GUARD_LIFE_MS, () => {
      this.armed = false;
    });
  }

  /** Whether input that takes this path arrives at the element, or at what stands for it. */
  accepts(path) {
    const { element } = this;
    if (!element || path.includes(element)) return true;
    if (labelsOf(element).some((label) => path.includes(label))) return true;
    const label = element instanceof HTMLLabelElement ? element : closest(element, "label");
    const control = label ? controlOf(label) : null;
    return Boolean(control && path.includes(control));
  }

  /** Whether the element still says what it said when it was ready; asked once, before the page sees the input. */
  isSame() {
    if (this.refused) return false;
    if (this.checkedIdentity || !this.element) return true;
    this.checkedIdentity = true;
    this.onMutations(this.observer.takeRecords());
    return !this.touched || elementHash(this.element, new Reading()) === this.identity;
  }

  /** One trusted input event, before anything in the page sees it. */
  onInput(event) {
    if (!this.armed) return;
    const { need } = this.spec;
    if (KEY_NEEDS.has(need)) this.onKeyInput(event);
    else if (need === "hover") this.onHoverInput(event);
    else if (POINTER_NEEDS.has(need)) this.onClickInput(event);
  }

  onKeyInput(event) {
    if (event.type !== "keydown" && event.type !== "beforeinput") return;
    const path = event.composedPath();
    if (this.element && !(path.includes(this.element) && this.isSame())) return this.intercept(event, path);
    if (!this.landed) this.land();
  }

  onHoverInput(event) {
    if (event.type !== "pointermove" && event.type !== "mousemove" && event.type !== "pointerover") return;
    if (this.landed || this.refused) return;
    const path = event.composedPath();
    if (this.accepts(path)) {
      if (!this.isSame()) return this.intercept(event, path);
      this.land();
    } else if (this.point && event.type !== "pointerover" && Math.abs(event.clientX - this.point.x) < 2 &&
      Math.abs(event.clientY - this.point.y) < 2) {
      // Moves elsewhere are on the way; one that reaches the point and not the element is not.
      this.intercept(event, path);
    }
  }

  onClickInput(event) {
    const path = event.composedPath();
    switch (event.type) {
      case "pointerover":
      case "pointermove":
        if (this.accepts(path) && !this.isSame()) this.intercept(event, path);
        return;
      case "pointerdown":
      case "mousedown":
      case "touchstart":
        if (event.type === "mousedown" && this.pressed) return;
        if (!this.accepts(path) || !this.isSame()) return this.intercept(event, path);
        this.pressed = true;
        return;
      case "mouseup":
        // The page may have replaced the element on the way down: then no click follows, and yet it was pressed.
        if (this.pressed && !this.landed) inNewTask(() => this.guarded(() => this.landed || this.land()));
        if (this.pressed) inNewTask(() => (this.pressed = false));
        return;
      case "click":
      case "auxclick":
      case "contextmenu":
        // A click without a pointer is one the browser makes itself: of a label for its control, of Enter for a button.
        if (event.pointerType === "" && event.detail === 0) return;
        if (this.refused || (!this.pressed && !this.accepts(path))) return this.intercept(event, path);
        if (!this.landed) {
          // The last listener of the page has run when this one does; the next task may wait for a frame to be drawn.
          const seen = () => this.guarded(() => this.phase === "landing" && this.beginObserving());
          if (event.type === "click") addEventListener("click", seen, { once: true });
          this.land();
        }
    }
  }

  intercept(event, path) {
    stopEvent(event);
    if (/^(?:pointerdown|mousedown|touchstart)$/.test(event.type)) swallow("pointer");
    else if (event.type === "keydown") swallow("keys");
    // Whatever of this input is still on its way is refused as well, until the next attempt.
    const first = !this.refused;
    this.refused = true;
    const hit = path.find((node) => node instanceof Element);
    if (first) this.send("intercepted", { by: hit ? briefly(hit) : "" });
  }

  // ------------------------------------------------------------------------------------------ observing

  land() {
    this.landed = true;
    this.observer.takeRecords();
    this.changed = false;
    this.send("landed");
    this.later("guard", GUARD_AFTER_LANDING_MS, () => {
      this.armed = false;
    });
    // The page's own handlers run in this task: what they did is to be seen in the next.
    this.phase = "landing";
    inNewTask(() => this.guarded(() => this.beginObserving()));
  }

  beginObserving() {
    this.phase = "observing";
    this.observe();
  }

  scheduleObserve() {
    if (this.timers.has("observe")) return;
    const wait = this.lastObservedAt + OBSERVE_EVERY_MS - performance.now();
    if (wait <= 0) inNewTask(() => this.guarded(() => this.phase === "observing" && this.observe()));
    else this.later("observe", wait, () => this.observe());
  }

  observe() {
    if (readyStateOf(document) === "loading") return;
    if (this.observer.takeRecords().length) this.changed = true;
    const reading = this.newReading();
    this.lastObservedAt = performance.now();
    const seen = {
      probes: answer(this.spec.probes, reading),
      state: this.element && isConnected(this.element) ? this.stateOf(this.element, reading) : null,
      valueOk: this.valueOk(reading),
      changed: this.changed,
    };
    const key = JSON.stringify([seen, location.href, titleOf(document)]);
    if (key === this.lastObserved) return;
    this.lastObserved = key;
    this.send("observed", seen);
  }
}

// ------------------------------------------------------------------------------------------------- parts

const numbers = new WeakMap();
let lastNumber = 0;

/** A number for an element, the same as long as the element lives. */
function numberOf(element) {
  let number = numbers.get(element);
  if (!number) numbers.set(element, (number = ++lastNumber));
  return number;
}

const taskChannel = new MessageChannel();
const tasks = [];
taskChannel.port1.onmessage = () => tasks.shift()?.();

/** Runs `work` in a task of its own, as soon as there is one: timers would wait for a millisecond or more. */
function inNewTask(work) {
  tasks.push(work);
  taskChannel.port2.postMessage(0);
}

function stopEvent(event) {
  // A pointer event that is prevented takes the mouse events with it, but not what they do by default.
  if (!event.type.startsWith("pointer")) event.preventDefault();
  event.stopImmediatePropagation();
}

/** Swallows the rest of a gesture. Ends after the button or key is up again, or after two seconds. */
function swallow(kind) {
  clearTimeout(swallowing?.timer);
  swallowing = { kind, released: false, timer: setTimeout(() => (swallowing = null), 2000) };
}

const SWALLOWED = {
  pointer: new Set(["pointerdown", "mousedown", "touchstart", "touchend", "pointerup", "mouseup", "click", "auxclick",
    "dblclick", "contextmenu", "dragstart"]),
  keys: new Set(["keydown", "keypress", "keyup", "beforeinput"]),
};

/** Whether this event belongs to a gesture that is being swallowed. */
function isSwallowed(event) {
  if (!swallowing || !SWALLOWED[swallowing.kind].has(event.type)) return false;
  if (swallowing.released && /^(?:pointerdown|touchstart|keydown)$/.test(event.type)) {
    // The next gesture has begun: input may overtake the task that was to end this one.
    endSwallowing(swallowing);
    return false;
  }
  if (/^(?:pointerup|mouseup|keyup|touchend)$/.test(event.type)) {
    swallowing.released = true;
    // The click comes in the same task as the button going up.
    const ended = swallowing;
    inNewTask(() => endSwallowing(ended));
  }
  return true;
}

function endSwallowing(gesture) {
  if (swallowing !== gesture) return;
  clearTimeout(gesture.timer);
  swallowing = null;
}

function isDisabled(element) {
  if (matches(element, ":disabled")) return true;
  for (let at = element; at; at = flatParent(at)) if (attr(at, "aria-disabled").toLowerCase() === "true") return true;
  return false;
}

function isEditable(element) {
  if (element instanceof HTMLTextAreaElement) return true;
  const type = inputTypeOf(element);
  return type ? TEXT_INPUTS.test(type) || SETTABLE_INPUTS.test(type) : element.isContentEditable === true;
}

/** Why text cannot be entered, as the arguments of `block`, or null. */
function editObstacle(element, need) {
  const type = inputTypeOf(element);
  if (!isEditable(element) || (need === "type" && type && !TEXT_INPUTS.test(type))) return ["not_editable"];
  const readonly = attr(element, "aria-readonly").toLowerCase() === "true" || matches(element, "input[readonly],textarea[readonly]");
  return readonly ? ["readonly"] : null;
}

const unixLines = (text) => text.replace(/\r\n?/g, "\n");

function holdsText(element, text, reading) {
  if (element instanceof HTMLTextAreaElement) return unixLines(textareaValueOf(element)) === unixLines(text);
  if (element instanceof HTMLInputElement) {
    const value = inputValueOf(element);
    const type = inputTypeOf(element);
    if ((type === "number" || type === "range") && value !== "" && text.trim() !== "") return Number(value) === Number(text);
    // An input holds one line: line feeds in the text are dropped by the browser.
    return type === "color" ? value === text.toLowerCase() : value === text.replace(/[\r\n]/g, "");
  }
  const shown = readText(element, reading).replace(/\u00a0/g, " ");
  const wanted = unixLines(text).replace(/\u00a0/g, " ").replace(/[^\S\n]+/g, " ").replace(/ ?\n\s*/g, "\n").trim();
  return shown === wanted;
}

/** Whether an input of this type takes the value as it is; tried on a copy that the page never sees. */
function acceptsValue(element, text) {
  const copy = Document.prototype.createElement.call(document, "input");
  for (const name of ["type", "min", "max", "step"]) if (has(element, name)) copy.setAttribute(name, attr(element, name));
  copy.value = text;
  return holdsText(copy, text, null);
}

function announceChange(element) {
  dispatch(element, new Event("input", { bubbles: true, composed: true }));
  dispatch(element, new Event("change", { bubbles: true }));
}

/** The option with this label, else with this value; never one of several. */
function optionFor(select, wanted) {
  const options = Array.from(optionsOf(select));
  const text = wanted ?? "";
  const tests = [
    (option) => collapse(optionLabelOf(option)) === collapse(text),
    (option) => normalise(optionLabelOf(option)) === normalise(text),
    (option) => optionValueOf(option) === text,
  ];
  for (const test of tests) {
    const found = options.filter(test);
    const usable = found.filter((option) => !optionDisabledOf(option) && !matches(option, "optgroup[disabled] > option"));
    if (usable.length === 1) return { option: usable[0] };
    if (usable.length > 1) return { option: null, why: `${usable.length} options are called so` };
    if (found.length) return { option: null, why: "disabled" };
  }
  return { option: null, why: cut(options.map((option) => collapse(optionLabelOf(option))).join(" | "), 200) };
}

function selectContent(element) {
  if (element instanceof HTMLInputElement) HTMLInputElement.prototype.select.call(element);
  else if (element instanceof HTMLTextAreaElement) HTMLTextAreaElement.prototype.select.call(element);
  else getSelection().selectAllChildren(element);
}

// ------------------------------------------------------------------------------------------- geometry

/** The window, and what scrolling ancestors leave of it. */
function clipOf(element) {
  const clip = { left: 0, top: 0, right: innerWidth, bottom: innerHeight };
  let position = getComputedStyle(element).position;
  for (let at = flatParent(element); at; at = flatParent(at)) {
    const style = getComputedStyle(at);
    // What is fixed is clipped by nothing but the window; what is absolute, not by ancestors it is not placed in.
    if (position === "fixed") break;
    const placed = style.position !== "static" || style.transform !== "none";
    if (position === "absolute" && !placed) continue;
    const tag = tagOf(at);
    if (tag !== "html" && tag !== "body" && (style.overflowX !== "visible" || style.overflowY !== "visible")) {
      const rect = rectOf(at);
      clip.left = Math.max(clip.left, rect.left);
      clip.right = Math.min(clip.right, rect.right);
      clip.top = Math.max(clip.top, rect.top);
      clip.bottom = Math.min(clip.bottom, rect.bottom);
    }
    position = style.position;
  }
  return clip;
}

function clipped(rect, clip) {
  const left = Math.max(rect.left, clip.left), right = Math.min(rect.right, clip.right);
  const top = Math.max(rect.top, clip.top), bottom = Math.min(rect.bottom, clip.bottom);
  return right - left >= 1 && bottom - top >= 1 ? { left, right, top, bottom } : null;
}

/** Boxes to press on: those of the element, or of its contents when it has none itself. */
function boxesOf(element) {
  const boxes = Array.from(rectsOf(element)).filter((rect) => rect.width >= 1 && rect.height >= 1).slice(0, 8);
  if (boxes.length) return boxes;
  for (const child of flatChildren(element)) {
    if (isElement(child)) boxes.push(...boxesOf(child));
    else if (isText(child)) {
      const box = textBox(child);
      if (box) boxes.push(box);
    }
    if (boxes.length >= 8) break;
  }
  return boxes;
}

/** Centre of the visible part, and which share of the element can be seen; null when nothing can. */
function visiblePart(element) {
  const clip = clipOf(element);
  let all = 0, seen = 0, first = null;
  for (const box of boxesOf(element)) {
    // Of what is larger than the window, a window full is all that can be wanted.
    all += Math.min(box.width, innerWidth) * Math.min(box.height, innerHeight);
    const part = clipped(box, clip);
    if (!part) continue;
    seen += (part.right - part.left) * (part.bottom - part.top);
    first ??= part;
  }
  return first ? { x: (first.left + first.right) / 2, y: (first.top + first.bottom) / 2, share: seen / all } : null;
}

/** Where in a box to try: its centre first. */
const SPOTS = [[0.5, 0.5], [0.25, 0.5], [0.75, 0.5], [0.5, 0.25], [0.5, 0.75], [0.1, 0.5], [0.9, 0.5]];
const INTERACTIVE = "a[href],button,input,select,textarea,summary,[role=button],[role=link],[role=checkbox]," +
  "[role=menuitem],[role=tab],[role=switch],[onclick]";

/** A point of `place` where a press reaches `element`; else what is in the way at the centre. */
function clickablePoint(place, element) {
  const clip = clipOf(place);
  let cover = null, nested = null;
  for (const box of boxesOf(place)) {
    const part = clipped(box, clip);
    if (!part) continue;
    for (const [across, down] of SPOTS) {
      const point = { x: part.left + (part.right - part.left) * across, y: part.top + (part.bottom - part.top) * down };
      const hit = deepFromPoint(point.x, point.y);
      if (!hit) continue;
      if (!reaches(hit, element)) {
        cover ??= hit;
        continue;
      }
      if (!hitsInner(hit, element)) return { point };
      nested ??= point;
    }
  }
  return { point: nested, cover };
}

function reaches(hit, element) {
  return flatContains(element, hit) || labelsOf(element).some((label) => flatContains(label, hit));
}

/** Whether a press there would work another control that lies inside the element. */
function hitsInner(hit, element) {
  const label = labelsOf(element);
  for (let at = hit; at && at !== element && !label.includes(at); at = flatParent(at)) if (matches(at, INTERACTIVE)) return true;
  return false;
}

/** What covers this frame at a point of it, in the documents around it; null if nothing, or if they cannot be seen. */
function outerCover(point) {
  let { x, y } = point;
  try {
    for (let view = window; view !== view.top && view.frameElement; view = view.parent) {
      const frame = view.frameElement;
      const rect = rectOf(frame);
      const style = view.parent.getComputedStyle(frame);
      x += rect.left + frame.clientLeft + parseFloat(style.paddingLeft);
      y += rect.top + frame.clientTop + parseFloat(style.paddingTop);
      const outer = view.parent.document;
      let hit = documentFromPoint(outer, x, y);
      while (hit && hit !== frame && shadowOf(hit)) {
        const inner = shadowFromPoint(shadowOf(hit), x, y);
        if (!inner || inner === hit) break;
        hit = inner;
      }
      if (hit !== frame) return hit ?? frame;
    }
  } catch {
    return null;
  }
  return null;
}

/** What an animation may change without moving anything. */
const RESTING = new Set(["offset", "computedOffset", "easing", "composite", "opacity", "color", "backgroundColor",
  "backgroundPosition", "backgroundPositionX", "backgroundPositionY", "boxShadow", "borderColor", "borderTopColor",
  "borderRightColor", "borderBottomColor", "borderLeftColor", "outlineColor", "textDecorationColor", "fill", "stroke",
  "visibility", "filter", "backdropFilter", "caretColor"]);

function moves(animation, element) {
  if (animation.playState !== "running") return false;
  const target = animation.effect?.target;
  if (!target || !flatContains(target, element)) return false;
  return animation.effect.getKeyframes().some((frame) => Object.keys(frame).some((name) => !RESTING.has(name)));
}

/** Whether an animation or transition that may move the element is running on it or around it. */
function movingAnimations(element) {
  const running = [...Document.prototype.getAnimations.call(document)];
  for (let root = getRoot(element); isShadowRoot(root); root = getRoot(hostOf(root))) {
    running.push(...ShadowRoot.prototype.getAnimations.call(root));
  }
  return running.some((animation) => moves(animation, element));
}
