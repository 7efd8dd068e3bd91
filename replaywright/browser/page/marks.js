/* Where the elements of a snapshot are drawn, for a picture that has a mark on each of them. */

/** Elements of the last snapshot that was taken to be pictured, by the ids that it gave them. */
let pictured = new Map();

function keepPictured(picked) {
  pictured = new Map();
  for (const item of picked) if (item?.id) pictured.set(item.id, new WeakRef(item.element));
}

/**
 * Of these elements, those that are to be seen: `{id, left, top, right, bottom, x, y}`, the part of the element that is in
 * the window and a point of it where nothing lies over it, in CSS pixels of this frame's viewport.
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
