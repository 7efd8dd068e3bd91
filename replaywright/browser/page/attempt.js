/*
 * One attempt: find the element, have it prepared (prepare.js) and its input guarded (guard.js), report the consequences
 * afterwards.
 *
 * Nothing is polled: looks are set off by mutations, frames and events. A slow tick remains as a net under what
 * sends no event at all (a property set by a script, a shadow root attached late).
 */

const SETTLE_LIMIT_MS = 3000;
const OBSERVE_EVERY_MS = 25;
const SAFETY_TICK_MS = 250;
/** An attempt ends by itself after this time: a person may be working in the page by then. */
const ATTEMPT_LIFE_MS = 120000;

/** Phases in which the page is looked at again whenever something happens in it. */
const LOOKING = new Set(["locating", "preparing", "choosing"]);
const LOOK_EVENTS = ["load", "transitionend", "transitioncancel", "animationend", "animationcancel", "scroll", "resize",
  "toggle", "focusin", "slotchange"];
const OBSERVE_EVENTS = ["input", "change", "load", "toggle", "transitionend", "animationend", "close", "reset"];

class Attempt {
  constructor(spec, send) {
    this.spec = spec;
    this.post = send;
    this.started = performance.now();
    this.phase = "locating";
    /** Nothing is made ready until `move`. */
    this.isStill = Boolean(spec.still);
    this.element = null;
    this.control = null;
    this.choosing = null;
    this.identity = "";
    this.row = null;
    this.rowWhenReady = null;
    /** Boxes like the one to tick, itself among them, before the input. */
    this.switches = [];
    this.chosenTier = "";
    this.place = null;
    this.offered = [];
    /** Element that was chosen → whether it had the focus then: the attempt may have given it the focus since. */
    this.hadFocus = new Map();
    this.offeredKey = null;
    this.index = -1;
    this.total = 0;
    this.others = { namesakes: 0, alike: [] };
    this.blockedBy = new Set();
    this.lastChange = this.started;
    const restingSince = documentRest.take();
    /** Since when nothing has changed in the document nor was entered; what is told by its position waits anew. */
    this.restingSince = spec.query ? this.started : restingSince;
    this.lastSettled = 0;
    this.hasRested = false;
    /** The element is looked for as it was recorded, although another was asked for that looks like it. */
    this.isRecorded = false;
    this.landed = false;
    this.changed = false;
    this.weighs = false;
    this.stateBefore = null;
    this.preparation = new Preparation(this);
    this.guard = new Guard(this);
    this.drag = spec.need === "drag" ? new Drag(spec.drop) : null;
    this.search = null;
    this.files = spec.need === "upload" ? new Files(spec.files, (...report) => this.guarded(() => this.filesSet(...report))) : null;
    this.lastObserved = "";
    this.lastObservedAt = 0;
    this.timers = new Map();
    this.watched = new Set();
    this.observer = new MutationObserver((records) => this.guarded(() => this.onMutations(records)));
    this.onEvent = (event) => this.guarded(() => this.onPageEvent(event));
  }

  send(type, fields = {}) {
    this.post({ attempt: this.spec.attempt, type, ...fields });
  }

  /** Runs a part of the attempt; an error is reported, and does not reach the page. */
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

  /** Handles DOMContentLoaded: before it, neither "the only one" nor "none" is certain. */
  documentIsLoaded() {
    this.lastChange = performance.now();
    this.restingSince = this.lastChange;
    this.started = this.lastChange;
    // The page's own listeners for this event come after ours: what they do belongs to the document that is looked at.
    inNewTask(() => this.guarded(() => this.phase === "locating" && this.look()));
  }

  stop() {
    if (this.phase === "over") return;
    this.phase = "over";
    if (this.observer.takeRecords().length) this.restingSince = performance.now();
    documentRest.watch(this.watched, this.restingSince);
    this.guard.end();
    this.choosing?.stop();
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
      if (LOOKING.has(this.phase)) this.scheduleLook();
      else if (this.phase === "observing") this.observe();
      this.tick();
    });
  }

  watchRoot(root) {
    if (this.watched.has(root)) return;
    this.watched.add(root);
    this.observer.observe(root, { subtree: true, childList: true, attributeOldValue: true, characterDataOldValue: true });
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
    this.restingSince = this.lastChange;
    this.weigh(records);
    this.drag?.onMutations(records);
    this.search?.onMutations(records);
    this.guard.onMutations(records);
    if (LOOKING.has(this.phase)) {
      this.armSettle();
      this.scheduleLook();
    } else if (this.phase === "observing") {
      this.scheduleObserve();
    }
  }

  /** Since the input: whether the page has changed because of it. */
  weigh(records) {
    if (this.weighs && !this.changed) this.changed = records.some((record) => isConsequence(record, this.element));
  }

  /** Processes mutations that the observer has not delivered yet. */
  takeMutations() {
    this.onMutations(this.observer.takeRecords());
  }

  /** Later changes count as consequences of the input, and those before if they have been `changed`. */
  forgetChanges(changed = false) {
    this.observer.takeRecords();
    this.changed = changed;
    this.weighs = true;
  }

  onPageEvent(event) {
    if (LOOKING.has(this.phase)) this.scheduleLook();
    else if (this.phase === "observing" && event.type !== "scroll") this.scheduleObserve();
  }

  /** Looks at the next frame, or soon where no frames are drawn. */
  scheduleLook() {
    if (this.frame || readyStateOf(document) === "loading") return;
    const run = () => {
      cancelAnimationFrame(this.frame);
      clearTimeout(this.timers.get("frame"));
      this.frame = 0;
      if (LOOKING.has(this.phase)) this.look();
    };
    this.frame = requestAnimationFrame(() => this.guarded(run));
    this.later("frame", 100, run);
  }

  // ------------------------------------------------------------------------------------------- locating

  look() {
    if (this.phase === "choosing") return this.choosing.look();
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
    this.preparation.forget();
  }

  /** Returns whether the attempt knows its element, or needs none. */
  find(reading) {
    if (!this.spec.target && !this.spec.query) {
      this.phase = "preparing";
      return true;
    }
    this.turnToRecorded(reading);
    const { target, query } = this.spec;
    let certain = null;
    if (query) {
      let found = findAll(query, reading);
      if (this.files && !found.length) found = hiddenFileFields(query, reading);
      // While a page fills, the same position is that of one element after the other.
      if (isPlaced(query) && !this.hasRested) found = [];
      this.total = found.length;
      this.candidates = found.slice(0, CANDIDATE_LIMIT).map((element) => ({ element, tier: "query" }));
      if (found.length === 1) certain = this.candidates[0];
    } else {
      ({ candidates: this.candidates, total: this.total, certain, ...this.others } = lookUp(target, reading));
    }
    if (certain) {
      this.choose(certain, reading);
      return true;
    }
    this.offer(reading);
    this.armSettle();
    return false;
  }

  /** The element as it was recorded has come after all: it is made ready, and not what looked like it. */
  turnToRecorded(reading) {
    if (!this.isRecordedHere(reading)) return;
    this.spec = { ...this.spec, target: this.spec.recorded, recorded: null };
    this.isRecorded = true;
  }

  isRecordedHere(reading) {
    return Boolean(this.spec.recorded) && lookUp(this.spec.recorded, reading).certain !== null;
  }

  choose({ element, tier }, reading) {
    if (!this.hadFocus.has(element)) this.hadFocus.set(element, holdsFocus(element));
    this.element = element;
    this.chosenTier = tier;
    this.place = shownBoxOf(element);
    this.identity = elementHash(element, reading);
    this.row = null;
    this.rowWhenReady = null;
    this.index = this.candidates.findIndex((candidate) => candidate.element === element);
    this.phase = "preparing";
    this.byPython = false;
  }

  /** Sends the candidates if they have changed since they were last sent. */
  offer(reading) {
    const offered = this.signed(reading);
    const active = deepActive();
    const key = offered.map((one) => `${numberOf(one.element)}:${one.signature}:${one.element === active}`).join();
    if (key === this.offeredKey) return;
    this.offeredKey = key;
    this.offered = offered;
    this.sendCandidates("candidates", reading, { settled: this.isSettled() });
  }

  /** The candidates with their present content, row included: lists reuse nodes for other rows. */
  signed(reading) {
    return this.candidates.map(({ element, tier }) => {
      return { element, tier, signature: elementHash(element, reading) + rowKey(element, reading) };
    });
  }

  describeCandidates(reading) {
    return this.candidates.map(({ element, tier }, index) => ({ index, tier, target: this.describeNow(element, reading) }));
  }

  /** A candidate with how many are called as the recorded element now. */
  describeNow(element, reading) {
    return { ...describe(element, reading), namesakes: this.others.namesakes };
  }

  /** The candidates that Python chose from, or the certain one: the others have another role or name. */
  describeChosen(reading) {
    if (this.byPython) return this.describeCandidates(reading);
    return [{ index: this.index, tier: this.chosenTier, target: this.describeNow(this.element, reading) }];
  }

  /** The element as it is recorded: with how many are called as it is, and what others are called nearly so. */
  describeFound(element, reading) {
    const described = describe(element, reading);
    const others = this.spec.target ? this.others : othersOf(described, reading);
    return { ...described, ...others, focused: this.hadFocus.get(element) ?? false };
  }

  /** The element as it is recorded, and the candidates that it was chosen from, as Python takes them. */
  described(element, reading) {
    return {
      candidates: element && this.candidates ? this.describeChosen(reading) : [],
      target: element ? this.describeFound(element, reading) : null,
    };
  }

  isSettled() {
    return this.restedMs >= this.settleMs;
  }

  get restedMs() {
    return performance.now() - this.restingSince;
  }

  get settleMs() {
    return this.spec.settleMs ?? 250;
  }

  armSettle() {
    if (this.phase !== "locating" || readyStateOf(document) === "loading") return;
    if (this.lastSettled && this.lastSettled >= this.lastChange) return;
    const quiet = this.settleMs - this.restedMs;
    const limit = this.lastSettled ? Infinity : this.started + SETTLE_LIMIT_MS - performance.now();
    this.later("settle", Math.max(0, Math.min(quiet, limit)), () => this.settle());
  }

  settle() {
    if (this.phase !== "locating") return;
    this.hasRested = true;
    this.look();
    if (this.phase !== "locating") return;
    this.lastSettled = performance.now();
    const reading = this.newReading();
    this.offered = this.signed(reading);
    this.sendCandidates("settled", reading);
  }

  sendCandidates(type, reading, fields = {}) {
    this.send(type, { candidates: this.describeCandidates(reading), total: this.total, restedMs: this.restedMs, ...fields });
  }

  /** Takes Python's choice, an index into the last candidates that were sent. */
  pick(index) {
    this.guarded(() => {
      const chosen = this.offered[index];
      if (this.phase !== "locating" || !chosen) return;
      const reading = this.newReading();
      const row = rowKey(chosen.element, reading);
      if (!isConnected(chosen.element) || elementHash(chosen.element, reading) + row !== chosen.signature) {
        this.offeredKey = null;
        this.look();
        return;
      }
      this.candidates = this.offered;
      this.choose(chosen, reading);
      this.byPython = true;
      // The row distinguishes several similar candidates.
      if (this.offered.length > 1) this.row = row;
      this.prepare(reading);
    });
  }

  // ------------------------------------------------------------------------------------------ preparing

  /** Says why the element cannot take the input; `final` when no change of the page can be expected to mend that. */
  block(reason, by = "", final = false) {
    // What a list has instead may change while its options come; what covers the element, while it is scrolled.
    const key = reason === "no_such_option" || reason === "covered" ? `${reason} ${by}` : reason;
    if (!this.blockedBy.has(key)) {
      this.blockedBy.add(key);
      this.send("blocked", { reason, by, final });
    }
    // Properties that hold an element back (a box that moves, a cover that fades) may change without a mutation.
    if (reason === "moving" || reason === "covered") this.scheduleLook();
  }

  prepare(reading) {
    if (this.element && (!this.isUnchanged(reading) || this.isRecordedHere(reading))) {
      // The node has other content now, or the element as recorded has come: it is not the chosen element.
      this.forget();
      this.offeredKey = null;
      return void this.find(reading);
    }
    if (!this.isStill) this.preparation.prepare(reading);
  }

  move() {
    this.isStill = false;
    if (LOOKING.has(this.phase)) this.guarded(() => this.look());
  }

  /** The element can take the input, or needs none. */
  sendReady(reading, { element = this.element, point = null, already = false, found = this.described(element, reading) } = {}) {
    const state = element ? stateOf(this.control ?? element, reading) : null;
    this.stateBefore = state && JSON.stringify(state);
    const fields = {
      ...found,
      total: this.total,
      index: this.index,
      isRecorded: this.isRecorded,
      point,
      place: element && this.place,
      state: state && { ...state, already },
      before: this.spec.before === false ? null : answer(this.spec.probes, reading, { nearest: false }),
    };
    if (this.spec.fields) fields.extracted = extractFields(element, this.spec.fields, reading);
    this.send("ready", fields);
  }

  /** From here on only input that arrives at `receiver` reaches the page. */
  arm(receiver, reading, point = null) {
    this.phase = "ready";
    this.rowWhenReady = this.element && rowKey(this.element, reading);
    this.switches = this.spec.need === "check" ? switchesAlike(this.identity, reading) : [];
    this.takeMutations();
    this.guard.arm(receiver, point);
  }

  /** Returns whether the element has the content that it had when it was chosen. */
  isUnchanged(reading) {
    if (this.row !== null && rowKey(this.element, reading) !== this.row) return false;
    return elementHash(this.element, reading) === this.identity;
  }

  // ---------------------------------------------------------------------------------- what Python asks for

  act() {
    this.guarded(() => this.preparation.pending?.());
  }

  /**
   * Enters a secret into the control that is ready; see secret.js.
   *
   * @returns {string} empty, or why not: `moved`, `gone`, `focus_lost`, `too_long`
   */
  enter(text, origins) {
    const { control, spec } = this;
    if (originsHere().join() !== origins.join()) return "moved";
    if (this.phase !== "ready" || !control || !isConnected(control)) return "gone";
    this.takeMutations();
    if (!this.isUnchanged(new Reading()) || !takesSecret(control)) return "gone";
    if (obstacleTo(control, { ...spec, text })) return "too_long";
    if (deepActive() !== control) {
      focusElement(control);
      if (deepActive() !== control) return "focus_lost";
    }
    selectContent(control);
    spec.text = text;
    this.guarded(() => this.land());
    const give = { type: typeText, paste: pasteText }[spec.need] ?? insertText;
    this.guarded(() => (this.guard.pasted = give(control, text) ?? null));
    return "";
  }

  /**
   * Scrolls one page further in search of the element, and looks.
   *
   * @returns {Promise<{found: boolean, more: boolean}>} whether it is made ready by now; else whether there is more to see
   */
  async searchOn() {
    this.search ??= new Search(searchableAreas(this.spec.target?.container, this.newReading()));
    const more = this.phase === "locating" && (await this.search.step());
    if (this.phase === "locating") this.guarded(() => this.look());
    return { found: this.phase !== "locating", more };
  }

  aim() {
    return this.drag && this.phase === "ready" ? this.drag.aim() : null;
  }

  /** Returns the field whose files the browser sets; its files are reported then. */
  takeFiles(field = this.files?.field) {
    if (field && this.files) this.files.listen(field);
    return field ?? null;
  }

  // ------------------------------------------------------------------------------------------ observing

  filesSet(files, unchanged) {
    this.send("uploaded", { files, unchanged });
    if (!this.landed) this.land();
  }

  /**
   * The input has arrived.
   *
   * @param {string} last the last event of this gesture; "" when there is none
   */
  land(last = "") {
    const seen = () => this.guarded(() => this.phase === "landing" && this.beginObserving());
    // The last listener of the page has run when this one does; the next task may wait for a frame to be drawn.
    if (last) addEventListener(last, seen, { once: true });
    this.landed = true;
    this.restingSince = performance.now();
    if (!this.weighs) this.forgetChanges();
    this.send("landed");
    this.guard.endIn(GUARD_AFTER_LANDING_MS);
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
    this.weigh(this.observer.takeRecords());
    const reading = this.newReading();
    this.lastObservedAt = performance.now();
    this.followRedrawn(reading);
    const shown = this.control ?? this.element;
    const state = shown && isConnected(shown) ? stateOf(shown, reading) : null;
    if (state && this.stateBefore && JSON.stringify(state) !== this.stateBefore) this.changed = true;
    const valueOk = this.valueOk(reading);
    if (state && (valueOk || (this.spec.need === "check" && state.checked === this.spec.wanted))) {
      rememberEntry(shown, nameOf(this.element, reading), reading);
    }
    const seen = {
      probes: answer(this.spec.probes, reading),
      state,
      valueOk,
      changed: this.changed,
    };
    const key = JSON.stringify([seen, location.href, titleOf(document)]);
    if (key === this.lastObserved) return;
    this.lastObserved = key;
    this.send("observed", seen);
  }

  valueOk(reading) {
    const { need, text } = this.spec;
    const { control } = this;
    if (need === "select") {
      if (!control) return null;
      // What was chosen may have led on to where the list is no more.
      if (!isConnected(control)) return true;
      return this.choosing ? this.choosing.isDone(reading) : holdsChosen(control, wantedOptions(this.spec), reading);
    }
    if (this.choosing instanceof Editing) return this.choosing.isDone(reading);
    if (!TEXT_NEEDS.has(need) || !control || !given(text)) return null;
    if (need === "paste" && this.isTakenOver()) return true;
    return isConnected(control) && holdsText(control, text, reading);
  }

  /** Returns whether the page took what was pasted into its own hands: where it went then is for the page to show. */
  isTakenOver() {
    return Boolean(this.guard.pasted) && (this.guard.pasted.defaultPrevented || !isEditable(this.control));
  }

  /** Follows a page that has replaced the control by an equal one after the input. */
  followRedrawn(reading) {
    if (!this.element || !this.control || isConnected(this.control)) return;
    const { element: known, identity, rowWhenReady } = this;
    const element = isConnected(known) ? known : successorOf(known, identity, rowWhenReady, reading) ?? this.redrawn(reading);
    if (!element) return;
    this.element = element;
    this.control = controlFor(element, this.spec, reading);
  }

  /** The box that stands where one of several equal ones stood: as many are there, and none of those left has moved. */
  redrawn(reading) {
    const at = this.switches.indexOf(this.element);
    if (at < 0) return null;
    const now = switchesAlike(this.identity, reading);
    const isSame = now.length === this.switches.length && this.switches.every((one, place) => !isConnected(one) || now[place] === one);
    if (isSame) this.switches = now;
    return isSame ? now[at] : null;
  }
}

const numbers = new WeakMap();
let lastNumber = 0;

/** A number for an element, the same as long as the element lives. */
function numberOf(element) {
  let number = numbers.get(element);
  if (!number) numbers.set(element, (number = ++lastNumber));
  return number;
}

/** The texts of the row that the element stands in, as one. */
const rowKey = (element, reading) => JSON.stringify(rowOf(element, reading));
