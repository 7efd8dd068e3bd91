/* Positions of a snapshot's elements, for a picture with a mark on each. */

/** Elements of the last snapshot that was taken to be pictured, by the ids that it gave them. */
let pictured = new Map();

function keepPictured(picked) {
  pictured = new Map();
  for (const item of picked) if (item?.id) pictured.set(item.id, new WeakRef(item.element));
}

/**
 * The visible ones of these elements as `{id, left, top, right, bottom, x, y}`: the part in the window and an uncovered
 * point of it, in CSS pixels of this frame's viewport.
 */
function picturedAt(ids) {
  const found = [];
  for (const id of ids) {
    const element = pictured.get(id)?.deref();
    const place = element && isConnected(element) ? drawnPart(element) : null;
    if (place) found.push({ id, ...place });
  }
  return found;
}

function drawnPart(element) {
  for (const { part, x, y } of spotsOf(element)) {
    const hit = deepFromPoint(x, y);
    // Elements that the pointer passes through, such as disabled buttons, are drawn all the same.
    if (hit && (reaches(hit, element) || flatContains(hit, element))) return { ...part, x, y };
  }
  return null;
}
