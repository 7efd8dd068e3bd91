/*
 * Filling a date or a time that a page makes of one spin button for each of its parts.
 *
 * The largest value of a part identifies it: 12 months, 31 days, 23 hours, 59 minutes. The numbers are typed into the
 * parts one after the other, with trusted input that the agent requests as for a list.
 */

const WRITTEN_TIME = /^(?:(\d{4})-(\d{2})-(\d{2}))?(?:(?:^|[T ])(\d{2}):(\d{2})(?::(\d{2}))?)?$/;
const PART_NAMES = ["year", "month", "day", "hour", "minute", "second"];
/** A part that is at its end may change with one that comes after it: 31 in a month of 30 days. */
const ROUNDS_OF_PARTS = 2;

/** The numbers of a date or time in its ISO form, by the names of their parts; null for anything else. */
function writtenTime(text) {
  const found = text.trim() === "" ? null : WRITTEN_TIME.exec(text.trim());
  if (!found) return null;
  return new Map(PART_NAMES.map((name, at) => [name, found[at + 1]]).filter(([, digits]) => digits).map(([name, digits]) => [name, Number(digits)]));
}

/** The parts of a date or time that is not one field, by their names; null when it is none. */
function timeParts(element, reading) {
  const parts = innerElements(element, (inner) => isNumberPart(inner) && reading.isShown(inner));
  const fields = innerElements(element, (inner) => isEditable(inner) && reading.isShown(inner));
  if (parts.length < 2 || fields.length !== parts.length) return null;
  const named = new Map();
  for (const part of parts) {
    const most = numberIn(part, "aria-valuemax");
    const name = most === null ? "" : most > 366 ? "year" : most === 12 ? "month" : most >= 28 && most <= 31 ? "day" : most === 23 ? "hour"
      : most === 59 ? (named.has("minute") ? "second" : "minute") : "";
    if (!name || named.has(name)) return null;
    named.set(name, part);
  }
  return named;
}

/** How far around a part the others of its date or time stand. */
const WHOLE_DEPTH = 5;

/** The date or time that a part belongs to, if the text is a whole one; null if it is for the part alone. */
function wholeOf(part, text, reading) {
  if ((writtenTime(text ?? "")?.size ?? 0) < 2) return null;
  let at = reading.parent(part);
  for (let depth = 0; at && depth < WHOLE_DEPTH; depth++, at = reading.parent(at)) if (timeParts(at, reading)) return at;
  return null;
}

const partNow = (part) => numberIn(part, "aria-valuenow");

/** Returns whether every part has its number. */
function holdsTime(element, text, reading) {
  const parts = timeParts(element, reading), wanted = writtenTime(text);
  return Boolean(parts && wanted) && [...wanted].every(([name, number]) => parts.has(name) && partNow(parts.get(name)) === number);
}

/** Reason why the parts cannot take the text, as arguments of `block`, or null. */
function obstacleToParts(parts, text) {
  const wanted = writtenTime(text);
  const fits = wanted && wanted.size === parts.size && [...wanted.keys()].every((name) => parts.has(name));
  const dated = parts.has("year"), timed = parts.has("hour");
  const form = [dated && "2026-11-21", timed && (parts.has("second") ? "14:30:00" : "14:30")].filter(Boolean).join("T");
  if (!fits) return ["no_such_value", `it takes values such as ${form}`];
  return [...parts.values()].some(isReadonly) ? ["readonly"] : null;
}

class PartsFilling extends Choosing {
  constructor(attempt, control) {
    super(attempt, control);
    this.entered = new Map();
  }

  /** Called whenever something happened in the page. */
  look() {
    const { attempt, control } = this;
    if (this.waiting) return;
    const reading = attempt.newReading();
    const parts = isConnected(control) ? timeParts(control, reading) : null;
    if (!parts) return this.whenQuiet(() => attempt.block("invisible"));
    const wanted = writtenTime(attempt.spec.text);
    const [name, number] = [...wanted].find(([each, value]) => partNow(parts.get(each)) !== value) ?? [];
    if (name === undefined) return attempt.land();
    const times = this.entered.get(name) ?? 0;
    // What was typed may be taken a moment later.
    if (times && !attempt.isSettled()) return this.whenQuiet(() => {});
    if (times >= ROUNDS_OF_PARTS) return attempt.block("no_such_value", `its ${name} does not take ${number}`, true);
    this.entered.set(name, times + 1);
    this.act(parts.get(name), "type", typing(String(number)), reading);
  }
}
