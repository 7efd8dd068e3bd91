/*
 * Choosing from a list that the page makes itself: a combobox, a button with a popup list, a listbox.
 *
 * The agent requests the next trusted input (`wants`), Python gives it. Every input is an attempt of its
 * own, with the same care: visible, still, uncovered, guarded. Options are awaited by events; what is not among them
 * is looked for by typing (where the control takes text), then by scrolling through the list. Only the one option
 * that answers to the label is pressed, and in the end the control has to show it.
 */

/** Limit of windows in the search through a virtual list. */
const WINDOW_LIMIT = 400;
/** Wait for a list to draw new options after it was scrolled. */
const DRAWN_MS = 120;
const STOPPED_LIMIT = 3;

/** One trusted input on one element of the page that is not the step's own. */
class Part extends Attempt {
  constructor(number, element, need, reading, { onMessage, lost }) {
    super({ attempt: number, need, probes: [] }, onMessage);
    this.lost = lost;
    this.element = element;
    this.identity = elementHash(element, reading);
    this.candidates = [];
    this.index = -1;
    this.phase = "preparing";
  }

  /** The element is gone, or has become another. */
  find() {
    this.stop();
    this.lost();
    return false;
  }

  describeChosen() {
    return [];
  }
}

const clickAt = (point) => ({ input: "click", point });
const keysFor = (keys) => () => ({ input: "press", keys });
const typing = (text) => () => ({ input: "type", text });

class Choosing {
  constructor(attempt, control) {
    this.attempt = attempt;
    this.control = control;
    this.wanted = wantedOptions(attempt.spec);
    this.number = attempt.spec.attempt;
    this.part = null;
    this.waiting = false;
    this.tried = new Set();
    this.chosen = new Set();
    this.confirmed = false;
    this.presses = 0;
    this.stopped = 0;
    this.scan = null;
    this.typed = "";
    this.shownBefore = new Set();
    /** Labels that the field showed at first: lists leave out chosen options. */
    this.chips = null;
  }

  stop() {
    this.part?.stop();
    this.part = null;
  }

  /** Reason why the option cannot be chosen, known before any input; null if it may be there. */
  obstacle(reading) {
    const { control } = this;
    const own = control instanceof HTMLInputElement && has(control, "list") ? suggestionsOf(control)
      : isListbox(control) && !scrollerOf(control, control) ? optionsIn(control, reading) : null;
    const missing = own && this.wanted.map((label) => pick(own, label, reading)).find(({ option }) => !option);
    if (own && this.wanted.length > 1 && own[0] instanceof HTMLOptionElement) return ["no_such_option", "it takes one only"];
    return missing ? (missing.why === "disabled" ? ["disabled"] : ["no_such_option", missing.why]) : null;
  }

  // ------------------------------------------------------------------------------------------- what next

  /** Called whenever something happened in the page. */
  look() {
    const { attempt, control } = this;
    if (this.waiting) return;
    const reading = attempt.newReading();
    if (!isConnected(control)) {
      attempt.followRedrawn(reading);
      if (!isConnected(attempt.control)) return this.whenQuiet(() => attempt.block("invisible"));
      this.control = attempt.control;
    }
    if (suggestionsOf(control).length && !has(control, "aria-controls")) return this.enterSuggestion();
    this.chips ??= new Set(isListbox(control) ? [] : this.wanted.filter((label) => isChipOf(control, label, reading)));
    const options = this.options(reading);
    if (!options.length) return this.open(reading);
    if (this.typed && !this.hasTaken()) return this.whenQuiet(() => this.next(this.options(attempt.newReading()), reading));
    this.next(options, reading);
  }

  next(options, reading) {
    if (isMultiple(options, this.control)) return this.toggle(options, reading);
    const label = this.wanted.find((each) => !this.chosen.has(each));
    if (label === undefined) return this.finish();
    this.choose(label, options, reading, () => this.chosen.add(label));
  }

  /** Presses the option with this label; looks for it first when it is not among those drawn. */
  choose(label, options, reading, then) {
    const found = pick(options, label, reading);
    if (found.several) return this.attempt.block("no_such_option", found.why);
    if (!found.option && this.chips.has(label)) return void (this.chosen.add(label), this.look());
    if (this.isToBeScanned(found, options, label, reading)) return;
    if (!found.option) return this.whenQuiet(() => this.search(label, found.why));
    if (this.presses++ > 3 * this.wanted.length + 10) return this.attempt.block("not_choosable");
    this.scan = null;
    this.typed = "";
    // For the next one the list may have to be opened and filtered again.
    this.tried = new Set(["opened"]);
    this.act(found.option, "click", clickAt, reading, () => {
      this.press = { label, wasSelected: isSelected(found.option) };
      then();
    });
  }

  /** Brings a list of multiple choice to the wanted state. */
  toggle(options, reading) {
    const wanted = this.wanted.map((label) => ({ label, ...pick(options, label, reading) }));
    for (const { label, option } of wanted) {
      // What was chosen may not be drawn any more: filtered out, or taken out of the list.
      if (option ? isSelected(option) : this.press?.label === label && isShownAt(this.control, label, reading)) this.chosen.add(label);
    }
    const off = wanted.find(({ label, option }) => (option ? !isSelected(option) : !this.chosen.has(label)));
    const tooMany = options.find((option) => isSelected(option) && !wanted.some((each) => each.option === option));
    // A list whose options replace one another is added to as lists of the desktop are: with Control held.
    if (this.press && this.pressedAlone(wanted)) this.adding = true;
    const next = off ?? (tooMany && { label: labelOfOption(tooMany, reading), option: tooMany });
    if (!next) {
      this.confirmed = true;
      return this.finish();
    }
    if (this.press?.label === next.label && !this.attempt.isSettled()) return this.whenQuiet(() => {});
    const already = wanted.filter(({ option }) => option && isSelected(option)).map(({ label }) => label);
    this.choose(next.label, options, reading, () => {
      this.press = { label: next.label, already };
    });
  }

  /** Returns whether the last press took away what was chosen before it. */
  pressedAlone(wanted) {
    const { already = [] } = this.press;
    return already.some((label) => wanted.some((each) => each.label === label && each.option && !isSelected(each.option)));
  }

  /** Opens the list: by a press on the control, then a key, then typing. */
  open(reading) {
    const { control } = this;
    if (isListbox(control)) return this.whenQuiet(() => this.attempt.block("no_such_option", "it is empty"));
    if (this.chosen.size === this.wanted.length) return this.finish();
    const expanded = attr(control, "aria-expanded") === "true";
    if (!this.tried.has("click") && !expanded) {
      this.tried.add("click");
      this.shownBefore = new Set(shownLists(reading));
      return this.act(control, "click", clickAt, reading);
    }
    this.whenQuiet(() => {
      if (this.options(this.attempt.newReading()).length) return this.look();
      if (!this.tried.has("key") && !expanded && takesKeys(control)) {
        this.tried.add("key");
        return this.act(control, "focus", keysFor("ArrowDown"), this.attempt.newReading());
      }
      const label = this.wanted.find((each) => !this.chosen.has(each));
      this.search(label, "it did not open, or is empty");
    });
  }

  /** Types the label to filter the list, as the option is not drawn; otherwise reports what there is. */
  search(label, why) {
    const reading = this.attempt.newReading();
    const input = this.filterInput(reading);
    if (input && !this.tried.has("filter")) {
      this.tried.add("filter");
      this.typed = label;
      this.input = input;
      this.scan = null;
      return this.act(input, "type", typing(label), reading);
    }
    this.attempt.block(why === "disabled" ? "disabled" : "no_such_option", why === "disabled" ? "" : why);
  }

  /** Field to type the label in: the focused one in the control or its list, or the control itself. */
  filterInput(reading) {
    const takes = (element) => isEditable(element) && !isReadonly(element) && !SETTABLE_INPUTS.test(inputTypeOf(element));
    const active = deepActive();
    const lists = this.lists(reading);
    const box = innerElements(this.control, takes);
    if (active && takes(active) && [this.control, ...lists].some((part) => flatContains(part, active))) return active;
    if (takes(this.control)) return this.control;
    if (box.length === 1) return box[0];
    // A popup that brings its own field takes the focus into it.
    return active && takes(active) && !this.shownBefore.has(active) ? active : null;
  }

  hasTaken() {
    return !this.input || !isConnected(this.input) || holdsText(this.input, this.typed, null);
  }

  /** Types the value of a datalist's option: the browser's own suggestions take no press. */
  enterSuggestion() {
    const { option, why } = pick(suggestionsOf(this.control), this.wanted[0], null);
    if (!option) return this.attempt.block("no_such_option", why);
    const text = optionValueOf(option);
    this.suggestion = text;
    this.act(this.control, "type", typing(text), this.attempt.newReading(), () => this.finish());
  }

  /** Closes what is still open after all is chosen. */
  finish() {
    const { attempt, control } = this;
    const reading = attempt.newReading();
    const open = !isListbox(control) && attr(control, "aria-expanded") === "true" && this.options(reading).length > 0;
    if (open && !this.tried.has("close")) {
      return this.whenQuiet(() => {
        this.tried.add("close");
        if (!this.options(attempt.newReading()).length || attr(control, "aria-expanded") !== "true") return this.finish();
        if (isEditable(control) || !takesKeys(control)) {
          return this.act(control, "focus", keysFor("Escape"), attempt.newReading());
        }
        this.act(control, "click", clickAt, attempt.newReading());
      });
    }
    attempt.land();
  }

  // ---------------------------------------------------------------------------------------- one input each

  /** Prepares `element`, requests the input, and goes on when it has arrived. */
  act(element, need, input, reading, then = () => {}, Kind = Part) {
    this.part?.stop();
    this.waiting = true;
    const again = () => {
      this.waiting = false;
      this.attempt.lastChange = performance.now();
      inNewTask(() => this.attempt.guarded(() => this.attempt.phase === "choosing" && this.look()));
    };
    const part = new Kind(this.number, element, need, reading, {
      lost: () => inNewTask(again),
      onMessage: (message) => this.onMessage(part, message, input, then, again),
    });
    this.part = part;
    part.start();
  }

  onMessage(part, message, input, then, again) {
    const { attempt } = this;
    if (part !== this.part) return;
    switch (message.type) {
      case "ready": {
        const request = input(message.point);
        if (request.input === "click" && this.adding) request.modifier = "Control";
        return attempt.send("wants", request);
      }
      case "blocked":
        return attempt.block(message.reason, message.by);
      case "intercepted":
        // It was stopped before the page saw it: the list was redrawn under the pointer, so look again.
        part.stop();
        if (++this.stopped >= STOPPED_LIMIT) return attempt.send("intercepted", { by: message.by });
        return again();
      case "failed":
        return attempt.send("failed", { reason: message.reason });
      case "landed":
        // The page's own handlers run in this task; a part that takes keys guards those that follow, too.
        if (part.spec.need === "click") inNewTask(() => part === this.part && part.stop());
        then();
        if (attempt.phase === "choosing") again();
    }
  }

  /** Goes on when the page has not changed for a while; every change calls `look` first. */
  whenQuiet(work) {
    const { attempt } = this;
    const left = attempt.settleMs - (performance.now() - attempt.lastChange);
    if (left <= 0) return work();
    attempt.later("choosing", left + 1, () => attempt.phase === "choosing" && !this.waiting && this.look());
  }

  // ------------------------------------------------------------------------------------- lists and options

  /** The lists that belong to the control: linked by it, inside it, or come since it was pressed. */
  lists(reading) {
    const { control } = this;
    if (isListbox(control)) return [control];
    const linked = linkedLists(control, reading).filter((list) => optionsIn(list, reading).length);
    if (linked.length) return linked;
    const inside = innerElements(control, (element) => matches(element, LISTS) && reading.isShown(element));
    if (inside.length) return inside;
    return this.tried.size || attr(control, "aria-expanded") === "true"
      ? shownLists(reading).filter((list) => !this.shownBefore.has(list)) : [];
  }

  options(reading) {
    const found = new Set(this.lists(reading).flatMap((list) => optionsIn(list, reading)));
    return Array.from(found);
  }

  /**
   * Whether the list goes on being looked through: one that draws only a part of its options may have the option, or a
   * second one of its name, where it is not drawn.
   */
  isToBeScanned(found, options, label, reading) {
    const scroller = scrollerOf(options[0], null);
    if (!scroller || (found.option && !isWindowed(options, scroller))) return false;
    // A list that can be filtered is filtered first: what is left is short.
    if (!found.option && !this.tried.has("filter") && this.filterInput(reading)) return false;
    const { scan } = this;
    if (scan?.label !== label || scan.scroller !== scroller) {
      if (!found.option && !this.attempt.isSettled()) {
        this.whenQuiet(() => {});
        return true;
      }
      this.scan = { label, scroller, over: false, returned: false, steps: 0, hits: new Map(), since: 0 };
      setScrollTop(scroller, 0);
      this.drawn();
      return true;
    }
    if (scan.over) return this.takeFromScan(found, scroller);
    if (!this.isDrawn(options, scroller)) return true;
    const top = scrollTopOf(scroller);
    const origin = rectOf(scroller).top - top;
    if (found.option) {
      const place = attr(found.option, "aria-posinset") || String(Math.round((rectOf(found.option).top - origin) / 4));
      scan.hits.set(place, rectOf(found.option).top - origin);
    }
    if (scan.hits.size > 1 || scan.steps++ > WINDOW_LIMIT) {
      const why = scan.hits.size > 1 ? `${scan.hits.size} options are called ${label}` : "the list is too long to look through";
      this.attempt.block("no_such_option", why, true);
      return true;
    }
    if (top + clientHeightOf(scroller) >= scrollHeightOf(scroller) - 1) {
      scan.over = true;
      return this.takeFromScan(found, scroller);
    }
    setScrollTop(scroller, top + Math.max(20, clientHeightOf(scroller) * 0.8));
    this.drawn();
    return true;
  }

  /** Scrolls back to the option after the whole list was searched. */
  takeFromScan(found, scroller) {
    const { scan } = this;
    const [place] = scan.hits.values();
    if (place === undefined || found.option) {
      // The end brought more, as endless lists do: go on.
      const more = scrollTopOf(scroller) + clientHeightOf(scroller) < scrollHeightOf(scroller) - 1;
      if (!found.option && more) scan.over = false;
      if (!found.option && more) this.attempt.scheduleLook();
      return !found.option && more;
    }
    if (scan.returned) return false;
    scan.returned = true;
    setScrollTop(scroller, Math.max(0, place - clientHeightOf(scroller) / 2));
    this.drawn();
    return true;
  }

  /** Looks again when the scrolled list has drawn; without any change, after a moment. */
  drawn() {
    this.scan.since = performance.now();
    this.attempt.later("drawn", DRAWN_MS, () => this.attempt.phase === "choosing" && this.look());
  }

  /** Returns whether the drawn options fill the list's window, or no more came for a while. */
  isDrawn(options, scroller) {
    if (performance.now() - this.scan.since >= DRAWN_MS) return true;
    const window = rectOf(scroller);
    const rects = options.map(rectOf);
    const from = Math.min(...rects.map(({ top }) => top)), to = Math.max(...rects.map(({ bottom }) => bottom));
    return from <= window.top + 1 && to >= window.bottom - 1;
  }

  // ------------------------------------------------------------------------------------------- the outcome

  /** Returns whether the control shows what was to be chosen. */
  isDone(reading) {
    const { control, wanted } = this;
    if (this.confirmed) return true;
    if (given(this.suggestion)) return holdsText(control, this.suggestion, reading);
    if (isListbox(control)) return isChosenAlready(control, wanted, reading);
    if (wanted.every((label) => isShownAt(control, label, reading))) return true;
    const options = this.options(reading);
    const pressed = options.length ? pick(options, this.press?.label ?? "", reading).option : null;
    return Boolean(wanted.length === 1 && pressed && isSelected(pressed) && !this.press.wasSelected);
  }
}
