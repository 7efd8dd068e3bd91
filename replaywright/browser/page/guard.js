/*
 * The guard of input: what reaches the page is the input that was meant, where it was meant; anything else is stopped
 * before a listener of the page sees it.
 *
 * It reads from its attempt the action and its element (`spec`, `element`, `control`, `drag`, `files`), whether it has
 * landed (`landed`), and whether the element is unchanged (`isUnchanged`). It calls `land` and `filesSet`,
 * and sends `pressed`, `undropped` and `intercepted`.
 */

/** Input comes right after `ready`; a guard that waits longer would swallow what a person does. */
const GUARD_LIFE_MS = 30000;
/** A second press of the same gesture (double click) is guarded for so long after the first. */
const GUARD_AFTER_LANDING_MS = 1000;
/** The next key or press of an input of many may take this long. */
const GUARD_BETWEEN_MS = 3000;
const POINTER_NEEDS = new Set(["click", "check", "expand", "hover", "drag", "upload"]);
const KEY_NEEDS = new Set(["fill", "type", "paste", "focus"]);

class Guard {
  constructor(attempt) {
    this.attempt = attempt;
    this.armed = false;
    /** Element that the input has to reach; null for the focused one. */
    this.receiver = null;
    this.point = null;
    this.pressed = false;
    /** Whether the page had changed when the press moved the focus; null while it has not. */
    this.changedBeforeFocus = null;
    /** True after input was stopped: the rest of it is stopped as well. */
    this.refused = false;
    /** Something changed in the element since it was ready. */
    this.touched = false;
    this.checkedIdentity = false;
    /** The last event by which something was pasted. */
    this.pasted = null;
  }

  arm(receiver, point) {
    this.armed = true;
    this.receiver = receiver;
    this.point = point;
    this.pressed = false;
    this.changedBeforeFocus = null;
    this.touched = false;
    this.checkedIdentity = false;
    this.endIn(GUARD_LIFE_MS);
  }

  end() {
    this.armed = false;
  }

  endIn(delay) {
    this.attempt.later("guard", delay, () => this.end());
  }

  onMutations(records) {
    const { element } = this.attempt;
    if (element && !this.touched) this.touched = records.some(({ target }) => flatContains(element, target));
  }

  /** Follows a page that replaces the element while the input is on its way. */
  followRedrawn() {
    const { attempt, receiver } = this;
    if (!receiver || isConnected(receiver)) return;
    const isElement = receiver === attempt.element;
    attempt.followRedrawn(new Reading());
    this.receiver = isElement ? attempt.element : attempt.control;
  }

  /** Returns whether input that takes this path arrives at the element, or at what stands for it. */
  accepts(path) {
    const { receiver } = this;
    if (!receiver || path.includes(receiver)) return true;
    if (labelsOf(receiver).some((label) => path.includes(label))) return true;
    const label = receiver instanceof HTMLLabelElement ? receiver : closest(receiver, "label");
    const control = label ? controlOf(label) : null;
    return Boolean(control && path.includes(control));
  }

  /** Returns whether the element is unchanged since it was ready; checked once, before the page sees the input. */
  isSame() {
    const { attempt } = this;
    if (this.refused) return false;
    if (this.checkedIdentity || !attempt.element) return true;
    this.checkedIdentity = true;
    attempt.takeMutations();
    return (!this.touched && attempt.row === null) || attempt.isUnchanged(new Reading());
  }

  /** Handles one trusted input event before any listener of the page. */
  onInput(event) {
    const { attempt } = this;
    if (!this.armed) return;
    this.followRedrawn();
    const { need } = attempt.spec;
    if (KEY_NEEDS.has(need) && event.type === "pointerdown" && isSlider(attempt.control)) this.onSlideInput(event);
    else if (KEY_NEEDS.has(need)) this.onKeyInput(event);
    else if (need === "hover") this.onHoverInput(event);
    else if (attempt.drag) this.onDragInput(event);
    else if (attempt.files?.drop) this.onFilesInput(event);
    else if (POINTER_NEEDS.has(need)) this.onClickInput(event);
  }

  onKeyInput(event) {
    const { attempt } = this;
    if (!/^(?:keydown|beforeinput|paste)$/.test(event.type)) return;
    if (event.type === "paste") this.pasted = event;
    const path = event.composedPath();
    if (this.receiver && !(path.includes(this.receiver) && this.isSame())) return this.intercept(event, path);
    if (!attempt.landed) attempt.land();
    if (isSlider(attempt.control)) this.endIn(GUARD_BETWEEN_MS);
  }

  /** A slider takes many keys, and then the pointer if need be: each must arrive at it. */
  onSlideInput(event) {
    const { attempt } = this;
    if (event.type !== "pointerdown") return;
    const path = event.composedPath();
    if (!path.includes(attempt.control)) return this.intercept(event, path);
    if (!attempt.landed) attempt.land();
    this.endIn(GUARD_BETWEEN_MS);
  }

  onFilesInput(event) {
    const { attempt } = this;
    if (event.type !== "drop") return;
    const path = event.composedPath();
    if (!path.includes(attempt.element) || !this.isSame()) return this.intercept(event, path);
    attempt.filesSet(fileFacts(transferredFilesOf(event.dataTransfer)), false);
  }

  onHoverInput(event) {
    const { attempt } = this;
    if (event.type !== "pointermove" && event.type !== "mousemove" && event.type !== "pointerover") return;
    if (attempt.landed || this.refused) return;
    const path = event.composedPath();
    if (this.accepts(path)) {
      if (!this.isSame()) return this.intercept(event, path);
      attempt.land();
    } else if (this.point && event.type !== "pointerover" && Math.abs(event.clientX - this.point.x) < 2 &&
      Math.abs(event.clientY - this.point.y) < 2) {
      // Moves elsewhere are on the way; one that reaches the point and not the element is not.
      this.intercept(event, path);
    }
  }

  onClickInput(event) {
    const { attempt } = this;
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
        attempt.forgetChanges(); // menus act before the click, when the button goes down or up
        return;
      case "blur":
      case "focus":
        // What a page does because the focus moves, such as checking the field before, is not of the press.
        if (!this.pressed || this.changedBeforeFocus !== null) return;
        attempt.takeMutations();
        this.changedBeforeFocus = attempt.changed;
        return;
      case "pointerup":
      case "mouseup":
        if (this.changedBeforeFocus !== null) attempt.forgetChanges(this.changedBeforeFocus);
        this.changedBeforeFocus = null;
        // The page may have taken the element away on the way: then no click follows, and yet it was pressed. Where it
        // prevents what the pointer does by default, no mouse button goes up either.
        if (this.pressed && !attempt.landed) inNewTask(() => attempt.guarded(() => attempt.landed || attempt.land()));
        if (this.pressed) inNewTask(() => (this.pressed = false));
        return;
      case "click":
      case "auxclick":
      case "contextmenu":
        // A click without a pointer is one the browser makes itself: of a label for its control, of Enter for a button.
        if (event.pointerType === "" && event.detail === 0) return;
        if (this.refused || (!this.pressed && !this.accepts(path))) return this.intercept(event, path);
        if (!attempt.landed) attempt.land(event.type === "click" ? "click" : "");
    }
  }

  onDragInput(event) {
    const { attempt } = this;
    const { drag } = attempt;
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
        attempt.send("pressed");
        return;
      case "dragstart":
        // What is draggable may be around the element, or inside it; never beside it.
        if (!flatContains(attempt.element, path[0]) && !path.includes(attempt.element)) {
          if (!flatContains(path[0], attempt.element)) return this.intercept(event, path);
        }
        // The page may refuse it, and do the dragging itself: known when its listeners have run.
        inNewTask(() => (drag.native = !event.defaultPrevented));
        return;
      case "drop":
      case "pointerup":
      case "mouseup":
        if (event.type !== "drop" && (drag.native || attempt.landed)) return;
        if (this.refused || !drag.isOver({ x: event.clientX, y: event.clientY }, true)) {
          return this.intercept(event, event.type === "drop" ? path : deepStack(event.clientX, event.clientY));
        }
        if (event.type !== "pointerup") attempt.land();
        return;
      case "dragend":
        if (attempt.landed || this.refused) return;
        // Lists that make room on the way and take no drop are done with the release; others did not accept it.
        if (drag.rearranged && drag.isOver(drag.pointer, true)) attempt.land();
        else attempt.send("undropped");
    }
  }

  intercept(event, path) {
    const { attempt } = this;
    stopEvent(event);
    if (/^(?:pointerdown|mousedown|touchstart)$/.test(event.type)) swallow("pointer");
    else if (event.type === "keydown") swallow("keys");
    // Whatever of this input is still on its way is refused as well, until the next attempt.
    const first = !this.refused;
    this.refused = true;
    const hit = path.find((node) => node instanceof Element && !attempt.drag?.isDragged(node));
    if (first) attempt.send("intercepted", { by: hit ? briefly(hit) : "" });
  }
}

// ------------------------------------------------------------------------------------- the rest of a gesture

/** Input that is being swallowed because its beginning arrived elsewhere; ends with the gesture, not the attempt. */
let swallowing = null;

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

/** Returns whether this event belongs to a gesture that is being swallowed. */
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
