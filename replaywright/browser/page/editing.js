/*
 * Filling an editor that draws its text itself (drawn.js), as a person does: press into what is drawn, select all with
 * the keyboard, paste or type. Each input is an attempt of its own that the agent requests, as for a list. After the press
 * the field must have the focus: else it is no field of this editor, and gets nothing.
 */

/** Wait for the focus after the press, and for the text to be drawn after it was entered. */
const FOCUSED_MS = 1000;
const TEXT_DRAWN_MS = 600;

/** Trusted keys for a field that has the focus and cannot be seen. */
class KeysPart extends Part {
  prepare(reading) {
    if (deepActive() !== this.element || !isConnected(this.element)) return void this.find();
    this.control = this.element;
    this.arm(this.element, reading);
    this.sendReady(reading, { point: { x: 0, y: 0 } });
  }
}

class Editing extends Choosing {
  constructor(attempt, control, surface) {
    super(attempt, control);
    this.surface = surface;
    this.done = { press: false, select: false, enter: false, begin: false };
    this.since = 0;
    this.timesBefore = 0;
    /** The editor draws only a part of the text, and that was its end after the input, then its beginning. */
    this.isInPart = false;
  }

  /** Called whenever something happened in the page. */
  look() {
    const { attempt, control, done } = this;
    if (this.waiting) return;
    const reading = attempt.newReading();
    if (!isConnected(control)) return attempt.block("invisible", "", true);
    if (!done.press) return this.press(reading);
    if (deepActive() !== control) return this.orLater(FOCUSED_MS, () => attempt.block("invisible", "", true));
    if (!done.select) return this.keys("select", { input: "press", keys: "Control+A" }, reading);
    if (!done.enter) return this.keys("enter", { input: "enter" }, reading);
    this.verify(reading);
  }

  press(reading) {
    const surface = reading.surfaceOf(this.control);
    if (!surface) return this.attempt.block("invisible", "", true);
    this.surface = surface;
    this.timesBefore = this.timesDrawn(reading);
    this.act(surface, "click", clickAt, reading, () => this.did("press"));
  }

  did(what) {
    this.done[what] = true;
    this.since = performance.now();
  }

  /** Gives up when nothing has come of the last input for so long; until then every change is looked at. */
  orLater(wait, giveUp) {
    const left = this.since + wait - performance.now();
    if (left <= 0) return giveUp();
    this.attempt.later("editing", left + 1, () => this.attempt.phase === "choosing" && !this.waiting && this.look());
  }

  keys(what, wish, reading) {
    this.act(this.control, "type", () => wish, reading, () => this.did(what), KeysPart);
  }

  timesDrawn(reading) {
    const wanted = solid(this.attempt.spec.text);
    return wanted ? solid(drawnText(this.surface, reading)).split(wanted).length - 1 : 0;
  }

  /** Returns whether the text is drawn: alone, or after keys and a paste among others, once more than before. */
  isDrawn(reading) {
    const { text, need } = this.attempt.spec;
    return holdsDrawn(this.surface, text, reading) || (need !== "fill" && this.timesDrawn(reading) > this.timesBefore);
  }

  /** Ends when the text is drawn; of a text that is drawn in part only, its beginning is looked at, too. */
  verify(reading) {
    const { attempt, done } = this;
    const land = () => attempt.land();
    if (this.isDrawn(reading)) return land();
    const drawn = solid(drawnText(this.surface, reading)), wanted = solid(attempt.spec.text);
    if (!drawn || !wanted.includes(drawn)) return this.orLater(TEXT_DRAWN_MS, land);
    if (!done.begin) return this.orLater(TEXT_DRAWN_MS, () => this.keys("begin", { input: "press", keys: "Control+Home" }, attempt.newReading()));
    this.isInPart = wanted.startsWith(drawn);
    if (this.isInPart) return land();
    this.orLater(TEXT_DRAWN_MS, land);
  }

  isDone(reading) {
    return !isConnected(this.surface) || this.isInPart || this.isDrawn(reading);
  }
}
