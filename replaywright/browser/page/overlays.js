/*
 * Overlays: dialogs, drawers, banners, declared or not. They are the role `overlay` of a query.
 *
 * The DOM does not tell that an element covers others, so the topmost element is read at a grid of points.
 */

const DIALOGS = "dialog[open],[role=dialog],[role=alertdialog],[aria-modal=true]";
/** Limit of characters of an undeclared overlay: longer ones are whole pages with such a layout. */
const OVERLAY_TEXT = 3000;
const ACROSS = [0.02, 0.18, 0.34, 0.5, 0.66, 0.82, 0.98];
const DOWN = [0.02, 0.14, 0.26, 0.38, 0.5, 0.62, 0.74, 0.86, 0.98];

/** Overlays in document order, outer ones before those inside them. */
function overlaysOf(reading) {
  if (reading.overlays) return reading.overlays;
  const found = new Set();
  for (const root of reading.roots) {
    for (const selector of [DIALOGS, ":popover-open"]) for (const element of queryAll(root, selector)) found.add(element);
  }
  for (const element of layersOnTop()) if (isBrief(element, reading)) found.add(element);
  // A frame cannot see where it stands: a short one may be a banner's.
  const body = bodyOf(document);
  if (window !== window.top && body && isBrief(body, reading)) found.add(body);
  const shown = Array.from(found).filter((element) => reading.isShown(element));
  return (reading.overlays = shown.sort((a, b) => (compareNodes(a, b) & Node.DOCUMENT_POSITION_FOLLOWING ? -1 : 1)));
}

const isBrief = (element, reading) => readText(element, reading).length <= OVERLAY_TEXT;

/** Elements that are laid over others where they are seen. */
function layersOnTop() {
  const layers = new Set(), seen = new Set();
  for (const across of ACROSS) {
    for (const down of DOWN) {
      for (let at = deepFromPoint(innerWidth * across, innerHeight * down); at; at = flatParent(at)) {
        if (!isElement(at) || seen.has(at)) break;
        seen.add(at);
        if (isLayer(at)) layers.add(at);
      }
    }
  }
  return layers;
}

function isLayer(element) {
  const { position, zIndex } = getComputedStyle(element);
  return position === "fixed" || position === "sticky" || (position === "absolute" && Number(zIndex) > 0);
}
