/*
 * Uploading: which file field an element stands for, and what the field, or a drop, was given.
 *
 * Files cannot be set by a script. Python has the browser set them, and is sent the files that the page received.
 */

const filesOf = getterOf(HTMLInputElement.prototype, "files");
const multipleOf = getterOf(HTMLInputElement.prototype, "multiple");
const takesFolders = getterOf(HTMLInputElement.prototype, "webkitdirectory");
const fileNameOf = getterOf(File.prototype, "name");
const fileSizeOf = getterOf(Blob.prototype, "size");
const transferredFilesOf = getterOf(DataTransfer.prototype, "files");

/** A smaller element stands for a hidden field. */
const DROP_ZONE_PX = 16;

const isFileField = (element) => inputTypeOf(element) === "file";

const fileFacts = (list) =>
  Array.from(list ?? []).map((file) => ({ name: fileNameOf(file), size: fileSizeOf(file) }));

/** The file field that an element is, labels, or has as its only one inside; null when it has to be clicked. */
function fileFieldFor(element) {
  if (isFileField(element)) return element;
  const labelled = controlOf(element);
  if (labelled) return isFileField(labelled) ? labelled : null;
  const inside = innerElements(element, isFileField);
  return inside.length === 1 ? inside[0] : null;
}

/** Drop zone of an element: its only drawn file field, or the box around it; else the whole element. */
function dropZoneOf(element) {
  const inside = innerElements(element, isFileField);
  if (inside.length !== 1) return element;
  const isBox = (part) => boxesOf(part).some(({ width, height }) => width >= DROP_ZONE_PX && height >= DROP_ZONE_PX);
  let zone = inside[0];
  while (zone !== element && !isBox(zone)) zone = flatParent(zone);
  return zone;
}

/** Reason why a field cannot take `count` files, as arguments of `block`; null when it can. */
function obstacleToFiles(field, count) {
  if (takesFolders(field)) return ["takes_folders"];
  if (isDisabled(field)) return ["disabled"];
  return count > 1 && !multipleOf(field) ? ["takes_one_file", String(count)] : null;
}

/** Hidden file fields that match a query: pages draw other elements in their place. */
function hiddenFileFields(query, reading) {
  return atPosition(startingFrom(query, reading).filter((element) => isFileField(element) && answersTo(element, query, reading)), query);
}

class Files {
  constructor({ count, drop }, report) {
    this.count = count;
    this.drop = drop;
    /** The field that the browser is to set. */
    this.field = null;
    this.report = report;
    this.dropped = false;
  }

  /** Says what the field holds when the browser has set it, before a page that empties it can. */
  listen(field) {
    const seen = (event) => this.report(fileFacts(filesOf(field)), event.type === "cancel");
    for (const type of ["input", "change", "cancel"]) addListener(field, type, seen, true);
  }
}
