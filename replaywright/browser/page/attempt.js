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
/** The next key or press of an input of many may take this long. */
const GUARD_BETWEEN_MS = 3000;

/** A selection that is no change sends no event. */
const SELECTION_MS = 100;

/** Phases in which the page is looked at again whenever something happens in it. */
const LOOKING = new Set(["locating", "preparing", "choosing"]);
const POINTER_NEEDS = new Set(["click", "check", "hover", "drag", "upload"]);
const KEY_NEEDS = new Set(["fill", "type", "paste", "focus"]);
const NEEDS_ENABLED = new Set(["click", "check", "drag", "upload", "fill", "type", "paste", "select"]);
const LOOK_EVENTS = ["load", "transitionend", "transitioncancel", "animationend", "animationcancel", "scroll", "resize",
  "toggle", "focusin", "slotchange"];
const OBSERVE_EVENTS = ["input", "change", "load", "toggle", "transitionend", "animationend", "close", "reset"];
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
    this.control = null;
    this.receiver = null;
    this.choosing = null;
    this.selected = null;
    this.identity = "";
    this.row = null;
    this.chosenTier = "";
    this.offered = [];
    this.offeredKey = "";
    this.total = 0;
    this.namesakes = 0;
    this.blockedBy = new Set();
    this.lastBox = null;
    this.sameBoxes = 0;
    this.refused = false;
    this.scrolls = 0;
    this.covers = new WeakSet();
    this.lastChange = this.started;
    this.lastSettled = 0;
    this.armed = false;
    this.landed = false;
    this.pressed = false;
    this.checkedIdentity = false;
    this.changed = false;
    this.touched = false;
    this.drag = spec.need === "drag" ? new Drag(spec.drop) : null;
    this.search = null;
    this.files = spec.need === "upload" ? new Files(spec.files, (...told) => this.guarded(() => this.filesSet(...told))) : null;
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
    this.drag?.onMutations(records);
    this.search?.onMutations(records);
    if (this.element && !this.touched) {
      this.touched = records.some(({ target }) => flatContains(this.element, target));
    }
    if (LOOKING.has(this.phase)) {
      this.armSettle();
      this.scheduleLook();
    } else if (this.phase === "observing") {
      this.scheduleObserve();
    }
  }

  onPageEvent(event) {
    if (LOOKING.has(this.phase)) this.scheduleLook();
    else if (this.phase === "observing" && event.type !== "scroll") this.scheduleObserve();
  }

  /** At the next frame, or soon where no frames are drawn. */
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
      let found = findAll(query, reading);
      if (this.files && !found.length) found = hiddenFileFields(query, reading);
      this.total = found.length;
      this.candidates = found.slice(0, CANDIDATE_LIMIT).map((element) => ({ element, tier: "query" }));
      if (found.length === 1) certain = this.candidates[0];
    } else {
      ({ candidates: this.candidates, total: this.total, namesakes: this.namesakes, certain } = lookUp(target, reading));
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
    this.row = null;
    this.index = this.candidates.findIndex((candidate) => candidate.element === element);
    this.phase = "preparing";
    this.touched = false;
    this.byPython = false;
  }

  /** Tells the candidates when they are others than those told before. */
  offer(reading) {
    const offered = this.signed(reading);
    const key = offered.map(({ element, signature }) => `${numberOf(element)}:${signature}`).join();
    if (key === this.offeredKey) return;
    this.offeredKey = key;
    this.offered = offered;
    this.send("candidates", { candidates: this.describeCandidates(reading), total: this.total, settled: this.isSettled() });
  }

  /** The candidates with what they say now, row included: lists use the same nodes again for other rows. */
  signed(reading) {
    return this.candidates.map(({ element, tier }) => {
      return { element, tier, signature: elementHash(element, reading) + rowKey(element, reading) };
    });
  }

  describeCandidates(reading) {
    return this.candidates.map(({ element, tier }, index) => ({ index, tier, target: describe(element, reading) }));
  }

  /** What Python chose from, or the one that was certain: the others have another role or name. */
  describeChosen(reading) {
    if (this.byPython) return this.describeCandidates(reading);
    return [{ index: this.index, tier: this.chosenTier, target: describe(this.element, reading) }];
  }

  /** The element as it is recorded: with how many of its role and name there are. */
  describeFound(element, reading) {
    const namesakes = this.spec.target ? this.namesakes : namesakesOf(identityOf(element, reading), reading).length;
    return { ...describe(element, reading), namesakes };
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
    this.offered = this.signed(reading);
    this.send("settled", { candidates: this.describeCandidates(reading), total: this.total });
  }

  /** Python decided. Its index is that of the last candidates it was told. */
  pick(index) {
    this.guarded(() => {
      const chosen = this.offered[index];
      if (this.phase !== "locating" || !chosen) return;
      const reading = this.newReading();
      const row = rowKey(chosen.element, reading);
      if (!isConnected(chosen.element) || elementHash(chosen.element, reading) + row !== chosen.signature) {
        this.offeredKey = "";
        this.look();
        return;
      }
      this.candidates = this.offered;
      this.choose(chosen, reading);
      this.byPython = true;
      // Of several that are alike, it was the row that told them apart.
      if (this.offered.length > 1) this.row = row;
      this.prepare(reading);
    });
  }

  // ------------------------------------------------------------------------------------------ preparing

  block(reason, by = "") {
    // What a list has instead may change while its options come; what covers the element, while it is scrolled.
    const told = reason === "no_such_option" || reason === "covered" ? `${reason} ${by}` : reason;
    if (!this.blockedBy.has(told)) {
      this.blockedBy.add(told);
      this.send("blocked", { reason, by });
    }
    // Properties that hold an element back (a box that moves, a cover that fades) may change without a mutation.
    if (reason === "moving" || reason === "covered") this.scheduleLook();
  }

  prepare(reading) {
    const { need } = this.spec;
    const { element } = this;
    if (!element) return this.prepareNothing(reading);
    if (!this.saysTheSame(reading)) {
      // The same node says something else now: it is not what was chosen.
      this.forget();
      this.offeredKey = "";
      return void this.find(reading);
    }
    if (need === "read" || need === "none") return this.readyToRead(reading);
    const field = this.files && !this.files.drop ? fileFieldFor(element) : null;
    if (field) return this.prepareFiles(field, reading);
    if (!reading.isShown(element)) return this.block("invisible");
    const control = (this.control = controlFor(element, need, reading));
    if (NEEDS_ENABLED.has(need) && isDisabled(control)) return this.block("disabled");
    if (this.isAlready(reading)) return this.alreadyThere(reading);
    const obstacle = obstacleTo(control, this.spec);
    if (obstacle) return this.block(...obstacle);
    if (need === "select") return this.prepareSelect(reading);
    if (need === "fill" && SETTABLE_INPUTS.test(inputTypeOf(control))) return this.prepareSetting(reading);
    if (this.drag) {
      const why = this.drag.findDestination(element, reading);
      if (why) return this.block(...why);
    }
    // A styled checkbox has no size of its own: then its label is what can be seen and pressed.
    const place = this.places(reading).find((part) => boxesOf(part).length) ?? element;
    const area = this.bringIntoView(place);
    if (!area) return this.block("invisible");
    this.drag?.bringIntoView();
    if (POINTER_NEEDS.has(need) && !this.isStill(element)) return this.block("moving");
    if (need === "scroll" && this.spec.end && !scrollToEnd(element, this.spec.end)) return this.block("not_scrollable");
    if (need === "scroll") return this.readyAndDone(reading);
    if (POINTER_NEEDS.has(need)) return this.preparePointer(reading);
    this.prepareKeys(reading, area);
  }

  /** Where the control can be pressed: on itself, on its labels, or on what was named and stands for it. */
  places(reading) {
    const { control, element } = this;
    const places = [control, ...labelsOf(control), element].filter((part) => part === control || reading.isShown(part));
    return Array.from(new Set(places));
  }

  /** A file field need not be seen to be set. */
  prepareFiles(field, reading) {
    const obstacle = obstacleToFiles(field, this.files.count);
    if (obstacle) return this.block(...obstacle);
    this.fileField = field;
    this.phase = "ready";
    this.send("ready", this.readyFields(reading));
  }

  /** The field whose files the browser is to set; what it then holds is told. */
  takeFiles(field = this.fileField) {
    if (field && this.files) this.files.listen(field);
    return field ?? null;
  }

  filesSet(files, unchanged) {
    this.send("uploaded", { files, unchanged });
    if (!this.landed) this.land();
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
      target: element ? this.describeFound(element, reading) : null,
      point,
      state: element ? { ...this.stateOf(this.control ?? element, reading), already } : null,
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
      checked: isMixed(element) ? null : checkedOf(element),
      value: cut(valueOf(element, reading), 10000),
      selected: element instanceof HTMLSelectElement ? selectedLabels(element) : null,
      mixed: isMixed(element),
      editor: isEditor(element),
      slider: sliderState(element),
    };
  }

  /** Whether the element is as it is wanted already. */
  isAlready(reading) {
    const { need, wanted, text } = this.spec;
    const { control } = this;
    switch (need) {
      case "check":
        return given(wanted) && checkedOf(control) === wanted && !isMixed(control);
      case "select":
        return control instanceof HTMLSelectElement ? holdsOptions(control, wantedOptions(this.spec))
          : isChosenAlready(control, wantedOptions(this.spec), reading);
      case "fill":
        return given(text) && (isEditable(control) || isSlider(control)) && holdsText(control, text, reading);
    }
    return false;
  }

  valueOk(reading) {
    const { need, text } = this.spec;
    const { control } = this;
    if (need === "select") {
      if (!control) return null;
      // What was chosen may have led on to where the list is no more.
      if (!isConnected(control)) return true;
      return this.choosing ? this.choosing.isDone(reading) : holdsOptions(control, wantedOptions(this.spec));
    }
    if (!TEXT_NEEDS.has(need) || !control || !given(text)) return null;
    if (need === "paste" && this.isTakenOver()) return true;
    return (isConnected(control) && holdsText(control, text, reading));
  }

  /** Whether the page took what was pasted into its own hands: where it went then is for the page to show. */
  isTakenOver() {
    return Boolean(this.pasted) && (this.pasted.defaultPrevented || !isEditable(this.control));
  }

  /** After the input: a page that draws the control anew has put an equal one in its place. */
  followRedrawn(reading) {
    if (!this.element || !this.control || isConnected(this.control)) return;
    const element = isConnected(this.element) ? this.element : successorOf(this.element, this.identity, reading);
    if (!element) return;
    this.element = element;
    this.control = controlFor(element, this.spec.need, reading);
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
    const { element, control } = this;
    if (this.spec.position) return this.preparePlace(reading);
    let cover = null;
    for (const place of this.places(reading)) {
      this.receiver = place === element ? element : control;
      const found = clickablePoint(place, this.receiver);
      if (found.point && outerCover(found.point)) {
        cover ??= outerCover(found.point);
      } else if (found.point) {
        return this.readyAt(found.point, reading);
      }
      cover ??= found.cover;
    }
    // Something sticks to an edge of the window: another alignment may bring the element out from under it.
    // While something else lay over everything, they were tried in vain.
    if (cover && !this.covers.has(cover)) this.scrolls = 0;
    if (cover) this.covers.add(cover);
    const block = ["center", "end", "start", "nearest"][this.scrolls++];
    if (block) {
      Element.prototype.scrollIntoView.call(element, { block, inline: "nearest", behavior: "instant" });
      this.lastBox = null;
      this.scheduleLook();
      if (this.scrolls < 3) return;
    }
    this.block("covered", cover ? briefly(cover, reading) : "");
  }

  /** The place in the element that the step names: there, or nowhere. */
  preparePlace(reading) {
    const { element, spec } = this;
    this.receiver = element;
    if (!placeIn(element, spec.position)) return this.block("position_outside", sizeOf(element));
    let cover = null;
    for (const share of [0.5, 0.25, 0.75]) {
      scrollPlaceIntoView(element, spec.position, share);
      const point = placeIn(element, spec.position);
      const hit = deepFromPoint(point.x, point.y);
      if (hit && reaches(hit, element) && !outerCover(point)) return this.readyAt(point, reading);
      cover ??= hit;
    }
    this.block("covered", cover ? briefly(cover, reading) : "");
  }

  /** The pointer may come. */
  readyAt(point, reading) {
    if (this.drag) {
      this.drag.begin(point);
      const { why } = this.drag.aimed();
      if (why) return this.block(...why);
    }
    this.arm(point);
    this.send("ready", this.readyFields(reading, { point }));
  }

  prepareKeys(reading, area) {
    const { control } = this;
    const { need } = this.spec;
    // In a frame, an element may have kept the focus of its document while the keys go to another one.
    const here = Document.prototype.hasFocus.call(document);
    if (!here) window.focus();
    if (!here || (deepActive() !== control && !(need === "focus" && flatContains(control, deepActive())))) {
      focusElement(control);
      if (!isConnected(control)) return void this.scheduleLook();
      const active = deepActive();
      if (active !== control && !(active && flatContains(control, active)) && !isSlider(control)) {
        const takesKeys = need !== "focus" && need !== "paste";
        return this.block(takesKeys ? "covered" : "not_editable", active ? briefly(active, reading) : "");
      }
    }
    if (TEXT_NEEDS.has(need) && isEditable(control) && !this.hasSelected(control)) return;
    // Focusing may have changed the page: what is told now must be read now.
    const fresh = this.newReading();
    this.receiver = control;
    this.arm();
    this.send("ready", this.readyFields(fresh, { point: { x: area.x, y: area.y } }));
  }

  /** Selects what the control holds; false while an editor has yet to hear of it: it keeps a selection of its own. */
  hasSelected(control) {
    if (this.selected === control) return true;
    selectContent(control);
    if (!isEditor(control)) return true;
    this.selected = control;
    const heard = () => this.guarded(() => this.phase === "preparing" && this.look());
    // The editor's own listeners for this event come after ours.
    addListener(document, "selectionchange", () => inNewTask(heard), { capture: true, once: true });
    this.later("selection", SELECTION_MS, heard);
    return false;
  }

  prepareSelect(reading) {
    const { control, spec } = this;
    if (!(control instanceof HTMLSelectElement)) return this.prepareChoosing(reading);
    const { options, why } = optionsFor(control, wantedOptions(spec));
    if (!options) return this.block(why === "disabled" ? "disabled" : "no_such_option", why === "disabled" ? "" : why);
    this.hold(reading, () => {
      focusElement(control);
      for (const option of optionsOf(control)) {
        const chosen = options.includes(option);
        if (optionSelectedOf(option) !== chosen) setOptionSelected.call(option, chosen);
      }
      announceChange(control);
      this.land();
    });
  }

  /** A list that the page makes itself is worked with trusted input, one piece after the other; see choose.js. */
  prepareChoosing(reading) {
    const { element, control } = this;
    if (!isList(control)) return this.block("not_editable", briefly(element, reading));
    const choosing = new Choosing(this, control);
    const obstacle = choosing.obstacle(reading);
    if (obstacle) return this.block(...obstacle);
    this.hold(reading, () => {
      this.choosing = choosing;
      this.phase = "choosing";
      choosing.look();
    });
  }

  prepareSetting(reading) {
    const { control, spec } = this;
    if (!acceptsValue(control, spec.text)) return this.block("no_such_value", valueFormOf(control));
    this.hold(reading, () => {
      focusElement(control);
      setInputValue.call(control, spec.text);
      announceChange(control);
      this.land();
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
    };
    if (this.spec.hold) this.pending = act;
    else act();
  }

  act() {
    this.guarded(() => this.pending?.());
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
    const receiver = this.receiver ?? this.element;
    if (!receiver || path.includes(receiver)) return true;
    if (labelsOf(receiver).some((label) => path.includes(label))) return true;
    const label = receiver instanceof HTMLLabelElement ? receiver : closest(receiver, "label");
    const control = label ? controlOf(label) : null;
    return Boolean(control && path.includes(control));
  }

  /** Whether the element says what it said when it was chosen. */
  saysTheSame(reading) {
    if (this.row !== null && rowKey(this.element, reading) !== this.row) return false;
    return elementHash(this.element, reading) === this.identity;
  }

  /** Whether the element still says what it said when it was ready; asked once, before the page sees the input. */
  isSame() {
    if (this.refused) return false;
    if (this.checkedIdentity || !this.element) return true;
    this.checkedIdentity = true;
    this.onMutations(this.observer.takeRecords());
    return (!this.touched && this.row === null) || this.saysTheSame(new Reading());
  }

  /** One trusted input event, before anything in the page sees it. */
  onInput(event) {
    if (!this.armed) return;
    const { need } = this.spec;
    if (KEY_NEEDS.has(need) && event.type === "pointerdown" && isSlider(this.control)) this.onSlideInput(event);
    else if (KEY_NEEDS.has(need)) this.onKeyInput(event);
    else if (need === "hover") this.onHoverInput(event);
    else if (this.drag) this.onDragInput(event);
    else if (this.files?.drop) this.onFilesInput(event);
    else if (POINTER_NEEDS.has(need)) this.onClickInput(event);
  }

  onKeyInput(event) {
    if (!/^(?:keydown|beforeinput|paste)$/.test(event.type)) return;
    if (event.type === "paste") this.pasted = event;
    const path = event.composedPath();
    if (this.receiver && !(path.includes(this.receiver) && this.isSame())) return this.intercept(event, path);
    if (!this.landed) this.land();
    if (isSlider(this.control)) this.guardSlide();
  }

  /** A slider takes many keys, and then the pointer if need be: each must arrive at it. */
  onSlideInput(event) {
    if (event.type !== "pointerdown") return;
    const path = event.composedPath();
    if (!path.includes(this.control)) return this.intercept(event, path);
    if (!this.landed) this.land();
    this.guardSlide();
  }

  guardSlide() {
    this.later("guard", GUARD_BETWEEN_MS, () => {
      this.armed = false;
    });
  }

  onFilesInput(event) {
    if (event.type !== "drop") return;
    const path = event.composedPath();
    if (!path.includes(this.element) || !this.isSame()) return this.intercept(event, path);
    this.filesSet(toldFiles(transferredFilesOf(event.dataTransfer)), false);
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

  onDragInput(event) {
    const { drag } = this;
    const path = event.composedPath();
    switch (event.type) {
      case "pointermove":
      case "dragover":
        drag.pointer = { x: event.clientX, y: event.clientY };
      case "pointerover":
        if (!this.pressed && this.accepts(path) && !this.isSame()) this.intercept(event, path);
        return;
      case "pointerdown":
      case "mousedown":
        if (event.type === "mousedown" && this.pressed) return;
        if (!this.accepts(path) || !this.isSame()) return this.intercept(event, path);
        this.pressed = true;
        this.send("pressed");
        return;
      case "dragstart":
        // What is draggable may be around the element, or inside it; never beside it.
        if (!flatContains(this.element, path[0]) && !path.includes(this.element)) {
          if (!flatContains(path[0], this.element)) return this.intercept(event, path);
        }
        // The page may refuse it, and do the dragging itself: known when its listeners have run.
        inNewTask(() => (drag.native = !event.defaultPrevented));
        return;
      case "drop":
      case "pointerup":
      case "mouseup":
        if (event.type !== "drop" && (drag.native || this.landed)) return;
        if (this.refused || !drag.isOver({ x: event.clientX, y: event.clientY }, true)) {
          return this.intercept(event, event.type === "drop" ? path : deepStack(event.clientX, event.clientY));
        }
        if (event.type !== "pointerup") this.land();
        return;
      case "dragend":
        if (this.landed || this.refused) return;
        // Lists that make room on the way and take no drop are done with the release; others did not accept it.
        if (drag.rearranged && drag.isOver(drag.pointer, true)) this.land();
        else this.send("undropped");
    }
  }

  intercept(event, path) {
    stopEvent(event);
    if (/^(?:pointerdown|mousedown|touchstart)$/.test(event.type)) swallow("pointer");
    else if (event.type === "keydown") swallow("keys");
    // Whatever of this input is still on its way is refused as well, until the next attempt.
    const first = !this.refused;
    this.refused = true;
    const hit = path.find((node) => node instanceof Element && !this.drag?.isDragged(node));
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
    this.followRedrawn(reading);
    const shown = this.control ?? this.element;
    const seen = {
      probes: answer(this.spec.probes, reading),
      state: shown && isConnected(shown) ? this.stateOf(shown, reading) : null,
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

/** The texts of the row that the element stands in, as one. */
const rowKey = (element, reading) => JSON.stringify(rowOf(element, reading));

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

function announceChange(element) {
  dispatch(element, new Event("input", { bubbles: true, composed: true }));
  dispatch(element, new Event("change", { bubbles: true }));
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
      if (isDrawnOtherwise(frame, view.parent)) return null; // Python knows where that is
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

/** Whether a frame is turned, scaled or zoomed: then its own pixels are not those of the document around it. */
function isDrawnOtherwise(frame, view) {
  if ((frame.currentCSSZoom ?? 1) !== 1) return true;
  for (let around = frame; around && isElement(around); around = flatParent(around)) {
    const style = view.getComputedStyle(around);
    if (style.transform !== "none" || style.rotate !== "none" || style.scale !== "none") return true;
  }
  return false;
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
