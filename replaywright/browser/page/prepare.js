/*
 * Making an element ready: in sight, still, uncovered, focused, with its content selected; whatever its need takes.
 *
 * Obstacles are reported (`block`), and checked again whenever something happens in the page. Without one, the attempt
 * guards the input (`arm`) and reports that it may come (`sendReady`); steps without input are done at once (`land`).
 */

/** A selection that is no change sends no event. */
const SELECTION_MS = 100;
const NEEDS_ENABLED = new Set(["click", "check", "expand", "drag", "upload", "fill", "type", "paste", "select"]);

class Preparation {
  constructor(attempt) {
    this.attempt = attempt;
    this.lastBox = null;
    this.sameBoxes = 0;
    this.scrolls = 0;
    this.covers = new WeakSet();
    /** The editor whose content was selected. */
    this.selected = null;
    this.isSelectionHeard = false;
    /** Action of the agent itself, held back until Python calls `act`. */
    this.pending = null;
    /** What the attempt said of the element before it gave it the focus. */
    this.asFound = undefined;
  }

  /** The element is another one now. */
  forget() {
    this.lastBox = null;
    this.asFound = undefined;
  }

  /** Called whenever something happened in the page, until the element is ready. */
  prepare(reading) {
    const { attempt } = this;
    const { element, drag, files } = attempt;
    if (!element) return this.prepareNothing(reading);
    // To fill a list is to choose from it: a recording of what was entered does not say which of both it was.
    if (isFilledList(element, attempt.spec)) attempt.spec = { ...attempt.spec, need: "select", option: attempt.spec.text };
    const { spec } = attempt;
    const { need } = spec;
    if (need === "read" || need === "none") return this.readyToRead(reading);
    const field = files && !files.drop ? fileFieldFor(element) : null;
    if (field) return this.prepareFiles(field, reading);
    if (!reading.isShown(element)) return attempt.block("invisible");
    const control = (attempt.control = controlFor(element, spec, reading));
    if (NEEDS_ENABLED.has(need) && isDisabled(control)) return attempt.block("disabled");
    if (isAsWanted(control, spec, reading)) return this.alreadyThere(reading);
    if (spec.secret && !takesSecret(control)) return attempt.block(isReadonly(control) ? "readonly" : "not_editable");
    const parts = need === "fill" && !isEditable(control) ? timeParts(control, reading) : null;
    const obstacle = parts ? obstacleToParts(parts, spec.text) : obstacleTo(control, spec);
    if (obstacle) return attempt.block(...obstacle);
    const surface = reading.surfaceOf(control);
    if (surface && TEXT_NEEDS.has(need)) return this.prepareEditing(surface, reading);
    // Nobody would see what is written there: such fields are there to catch programs.
    if ((given(spec.text) || spec.secret) && isClearSpeck(control, reading)) return attempt.block("invisible");
    if (need === "select") return this.prepareSelect(reading);
    if (parts) return this.prepareWork(new PartsFilling(attempt, control), reading);
    const isSet = need === "fill" && SETTABLE_INPUTS.test(inputTypeOf(control)) && !isMovedByKeys(control, spec.text);
    if (isSet) return this.prepareSetting(reading);
    if (drag) {
      const why = drag.findDestination(element, reading);
      if (why) return attempt.block(...why);
    }
    const area = this.bringPlaceIntoView(reading);
    if (!area) return attempt.block("invisible");
    drag?.bringIntoView();
    if (POINTER_NEEDS.has(need) && !this.isStill(element)) return attempt.block("moving");
    if (need === "scroll") return this.prepareScrolling(reading);
    if (POINTER_NEEDS.has(need)) return this.preparePointer(reading);
    this.prepareKeys(reading, area);
  }

  /** Elements to press for the control: itself, its labels, or the named element that stands for it. */
  places(reading) {
    const { control, element, files } = this.attempt;
    const surface = reading.surfaceOf(control);
    if (surface) return [surface];
    const places = [control, ...labelsOf(control), element].filter((part) => part === control || reading.isShown(part));
    return Array.from(new Set(files?.drop ? [dropZoneOf(element), ...places] : places));
  }

  /** A file field need not be seen to be set. */
  prepareFiles(field, reading) {
    const { attempt } = this;
    const obstacle = obstacleToFiles(field, attempt.files.count);
    if (obstacle) return attempt.block(...obstacle);
    attempt.files.field = field;
    attempt.phase = "ready";
    attempt.sendReady(reading);
  }

  prepareNothing(reading) {
    const { attempt } = this;
    const { need } = attempt.spec;
    if (need === "none") {
      attempt.forgetChanges();
      return attempt.beginObserving();
    }
    const active = need === "focus" ? deepActive() : null;
    if (need === "read" || need === "scroll") return this.readyToRead(reading);
    attempt.arm(null, reading);
    attempt.sendReady(reading, { element: active });
  }

  readyToRead(reading) {
    this.attempt.sendReady(reading);
    this.attempt.beginObserving();
  }

  alreadyThere(reading) {
    this.attempt.sendReady(reading, { already: true });
    this.attempt.beginObserving();
  }

  /** A styled checkbox has no size of its own, or is clipped away: then its label is what can be seen and pressed. */
  bringPlaceIntoView(reading) {
    const places = this.places(reading).filter((part) => boxesOf(part).length);
    for (const place of places.length ? places : [this.attempt.element]) {
      const area = this.bringIntoView(place);
      if (area) return area;
    }
    return null;
  }

  /** Scrolls only if too little of the element is to be seen; returns the visible part or null. */
  bringIntoView(element) {
    let area = visiblePart(element);
    if (!area || area.share < 0.5) {
      scrollIntoView(element, "center", "center");
      this.lastBox = null;
      area = visiblePart(element);
    }
    return area;
  }

  /** Returns whether the box rests. Two looks are needed only when something is animated or the box was elsewhere before. */
  isStill(element) {
    const rect = rectOf(element);
    const box = [rect.x, rect.y, rect.width, rect.height].join();
    const before = this.lastBox;
    this.lastBox = box;
    this.sameBoxes = before === box ? this.sameBoxes + 1 : 0;
    const animated = movingAnimations(element);
    // The first frame of an animation shows its start, so an equal box in the next frame proves nothing yet.
    if (animated ? this.sameBoxes >= 2 : before === null || before === box) return true;
    this.attempt.scheduleLook();
    return false;
  }

  preparePointer(reading) {
    const { attempt } = this;
    const { element, control } = attempt;
    if (attempt.spec.position) return this.preparePlace(reading);
    let cover = null;
    for (const place of this.places(reading)) {
      const receiver = place === element || place === reading.surfaceOf(control) ? place : control;
      const found = clickablePoint(place, receiver);
      if (found.point && outerCover(found.point)) {
        cover ??= outerCover(found.point);
      } else if (found.point) {
        return this.readyAt(found.point, receiver, reading);
      }
      cover ??= found.cover;
    }
    // Something sticks to an edge of the window: another alignment may bring the element out from under it.
    // While something else lay over everything, they were tried in vain.
    if (cover && !this.covers.has(cover)) this.scrolls = 0;
    if (cover) this.covers.add(cover);
    const block = ["center", "end", "start", "nearest"][this.scrolls++];
    if (block) {
      scrollIntoView(element, block);
      this.lastBox = null;
      attempt.scheduleLook();
      if (this.scrolls < 3) return;
    }
    attempt.block("covered", cover ? briefly(cover, reading) : "");
  }

  /** Prepares a press at the position that the step names. */
  preparePlace(reading) {
    const { attempt } = this;
    const { element, spec } = attempt;
    if (!placeIn(element, spec.position)) return attempt.block("position_outside", sizeOf(element));
    let cover = null;
    for (const share of [0.5, 0.25, 0.75]) {
      scrollPlaceIntoView(element, spec.position, share);
      const point = placeIn(element, spec.position);
      const hit = deepFromPoint(point.x, point.y);
      if (hit && reaches(hit, element) && !outerCover(point)) return this.readyAt(point, element, reading);
      cover ??= hit;
    }
    attempt.block("covered", cover ? briefly(cover, reading) : "");
  }

  /** The pointer may come. */
  readyAt(point, receiver, reading) {
    const { attempt } = this;
    const { drag } = attempt;
    if (drag) {
      drag.begin(point);
      const { why } = drag.aimed();
      if (why) return attempt.block(...why);
    }
    attempt.arm(receiver, reading, point);
    attempt.sendReady(reading, { point });
  }

  prepareKeys(reading, area) {
    const { attempt } = this;
    const { control } = attempt;
    const { need } = attempt.spec;
    // In a frame, an element may have kept the focus of its document while the keys go to another one.
    const here = Document.prototype.hasFocus.call(document);
    if (!here) window.focus();
    if (!here || (deepActive() !== control && !(need === "focus" && flatContains(control, deepActive())))) {
      // What opens for a field that has the focus is not what it is found by.
      this.asFound = attempt.described(attempt.element, reading);
      focusElement(control);
      if (!isConnected(control)) return void attempt.scheduleLook();
      const active = deepActive();
      if (active !== control && !(active && flatContains(control, active)) && !isSlider(control)) {
        const takesKeys = need !== "focus" && need !== "paste";
        return attempt.block(takesKeys ? "covered" : "not_editable", active ? briefly(active, reading) : "");
      }
    }
    if (TEXT_NEEDS.has(need) && isEditable(control) && !isRange(control) && !this.hasSelected(control)) return;
    // Focusing may have changed the page: read it again for what is said of its state.
    const fresh = attempt.newReading();
    attempt.arm(control, fresh);
    attempt.sendReady(fresh, { point: { x: area.x, y: area.y }, found: this.asFound });
  }

  /** Selects the control's content; false until an editor, which has its own selection, has noticed. */
  hasSelected(control) {
    if (this.selected === control) return this.isSelectionHeard;
    selectContent(control);
    if (!isEditor(control)) return true;
    this.selected = control;
    this.isSelectionHeard = false; // whatever else makes the page be looked at meanwhile
    const { attempt } = this;
    const heard = () => {
      if (this.selected !== control) return;
      this.isSelectionHeard = true;
      attempt.guarded(() => attempt.phase === "preparing" && attempt.look());
    };
    // The editor's own listeners for this event come after ours.
    addListener(document, "selectionchange", () => inNewTask(heard), { capture: true, once: true });
    attempt.later("selection", SELECTION_MS, heard);
    return false;
  }

  prepareSelect(reading) {
    const { attempt } = this;
    const { control, spec } = attempt;
    if (!(control instanceof HTMLSelectElement)) return this.prepareChoosing(reading);
    const { options, why } = optionsFor(control, wantedOptions(spec));
    if (!options) return attempt.block(why === "disabled" ? "disabled" : "no_such_option", why === "disabled" ? "" : why);
    this.hold(reading, () => {
      setOptions(control, options);
      attempt.land();
    });
  }

  /** A list that the page makes itself is worked with trusted input, one piece after the other; see choose.js. */
  prepareChoosing(reading) {
    const { attempt } = this;
    const { element, control } = attempt;
    if (!isList(control)) return attempt.block("no_list", briefly(element, reading));
    const choosing = new Choosing(attempt, control);
    const obstacle = choosing.obstacle(reading);
    if (obstacle) return attempt.block(...obstacle);
    this.prepareWork(choosing, reading);
  }

  /** Text for a field that cannot be seen is entered where it is drawn; see editing.js. No secret is: it would be drawn. */
  prepareEditing(surface, reading) {
    const { attempt } = this;
    if (attempt.spec.secret) return attempt.block("not_editable", "it draws its text itself");
    this.prepareWork(new Editing(attempt, attempt.control, surface), reading);
  }

  /** Prepares work that takes several trusted inputs. */
  prepareWork(choosing, reading) {
    const { attempt } = this;
    this.hold(reading, () => {
      attempt.choosing = choosing;
      attempt.phase = "choosing";
      choosing.look();
    });
  }

  prepareSetting(reading) {
    const { attempt } = this;
    const { control, spec } = attempt;
    if (!acceptsValue(control, spec.text)) return attempt.block("no_such_value", valueFormOf(control));
    this.hold(reading, () => {
      setValue(control, spec.text);
      attempt.land();
    });
  }

  /** An element alone is in view already; of an area, the end is shown. */
  prepareScrolling(reading) {
    const { attempt } = this;
    const { element, spec } = attempt;
    if (spec.end && !areaOf(element)) return attempt.block("not_scrollable");
    this.hold(reading, () => {
      if (spec.end) scrollToEnd(element, spec.end);
      attempt.land();
    });
  }

  /** Sends `ready`, then lets the agent act: at once, or after `act` if the spec says `hold`. */
  hold(reading, work) {
    const { attempt } = this;
    this.bringIntoView(attempt.element);
    attempt.sendReady(reading);
    attempt.phase = "ready";
    const act = () => {
      this.pending = null;
      attempt.forgetChanges();
      work();
    };
    if (attempt.spec.hold) this.pending = act;
    else act();
  }
}
