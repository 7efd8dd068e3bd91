/*
 * Geometry of a press: visible parts of an element, covers over it, and movement.
 *
 * All points are in CSS pixels of this frame's viewport.
 */

/** The ancestors that clip an element, the nearest first. `styleOf` returns the computed style of an element. */
function* clippersOf(element, styleOf = getComputedStyle) {
  let position = styleOf(element).position;
  for (let at = flatParent(element); at && isElement(at); at = flatParent(at)) {
    const style = styleOf(at);
    // What is fixed is clipped by nothing but the window; what is absolute, not by ancestors it is not placed in.
    if (position === "fixed") return;
    const placed = style.position !== "static" || style.transform !== "none";
    if (position === "absolute" && !placed) continue;
    const tag = tagOf(at);
    if (tag !== "html" && tag !== "body" && (style.overflowX !== "visible" || style.overflowY !== "visible")) yield at;
    position = style.position;
  }
}

/** The window, and what scrolling ancestors leave of it. */
function clipOf(element) {
  const clip = { left: 0, top: 0, right: innerWidth, bottom: innerHeight };
  for (const at of clippersOf(element)) {
    const rect = rectOf(at);
    clip.left = Math.max(clip.left, rect.left);
    clip.right = Math.min(clip.right, rect.right);
    clip.top = Math.max(clip.top, rect.top);
    clip.bottom = Math.min(clip.bottom, rect.bottom);
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
  return boxes.length || !isEditedPage(element) ? boxes : [plainBox({ x: 0, y: 0, width: innerWidth, height: innerHeight })];
}

/** Returns whether a page is edited as a whole: the window is its room, however little its body holds. */
const isEditedPage = (element) => tagOf(element) === "body" && isEditable(element);

/** The visible parts of an element's boxes. */
function visibleParts(element) {
  const clip = clipOf(element);
  return boxesOf(element).map((box) => clipped(box, clip)).filter(Boolean);
}

/** Centre of the first visible part, and the visible share of the element; null when nothing is visible. */
function visiblePart(element) {
  // Of an element larger than the window, at most a window full can be visible.
  const area = ({ width, height }) => Math.min(width, innerWidth) * Math.min(height, innerHeight);
  const all = boxesOf(element).reduce((sum, box) => sum + area(box), 0);
  const parts = visibleParts(element);
  const seen = parts.reduce((sum, part) => sum + (part.right - part.left) * (part.bottom - part.top), 0);
  const [first] = parts;
  return first ? { x: (first.left + first.right) / 2, y: (first.top + first.bottom) / 2, share: seen / all } : null;
}

/** The box around all visible parts of an element, with the scroll position; null when nothing is visible. */
function shownBoxOf(element) {
  const parts = visibleParts(element);
  const side = (name, choose) => choose(...parts.map((part) => part[name]));
  return parts.length ? { left: side("left", Math.min), right: side("right", Math.max), top: side("top", Math.min),
    bottom: side("bottom", Math.max), scrollX, scrollY } : null;
}

function scrollIntoView(element, block, inline = "nearest") {
  Element.prototype.scrollIntoView.call(element, { block, inline, behavior: "instant" });
}

/** Points of a box to try, as shares of its size: the centre first. */
const SPOTS = [[0.5, 0.5], [0.25, 0.5], [0.75, 0.5], [0.5, 0.25], [0.5, 0.75], [0.1, 0.5], [0.9, 0.5]];
const INTERACTIVE = "a[href],button,input,select,textarea,summary,[role=button],[role=link],[role=checkbox]," +
  "[role=menuitem],[role=tab],[role=switch],[onclick]";

/** Yields points to try in the visible parts of an element, each with its part. */
function* spotsOf(element) {
  for (const part of visibleParts(element)) {
    for (const [across, down] of SPOTS) {
      yield { part, x: part.left + (part.right - part.left) * across, y: part.top + (part.bottom - part.top) * down };
    }
  }
}

/** A point of `place` where a press reaches `element`; else what is in the way at the centre. */
function clickablePoint(place, element) {
  let cover = null, nested = null;
  for (const { x, y } of spotsOf(place)) {
    const hit = deepFromPoint(x, y);
    if (!hit) continue;
    if (!reaches(hit, element)) cover ??= hit;
    else if (hitsInner(hit, element)) nested ??= { x, y };
    else return { point: { x, y } };
  }
  return { point: nested, cover };
}

function reaches(hit, element) {
  return flatContains(element, hit) || labelsOf(element).some((label) => flatContains(label, hit));
}

/** Returns whether a press there would work another control that lies inside the element. */
function hitsInner(hit, element) {
  const label = labelsOf(element);
  for (let at = hit; at && at !== element && !label.includes(at); at = flatParent(at)) if (matches(at, INTERACTIVE)) return true;
  return false;
}

/** Element of an outer document that covers this frame at a point; null if none, or not accessible. */
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

/** Returns whether a frame is turned, scaled or zoomed: then its own pixels are not those of the document around it. */
function isDrawnOtherwise(frame, view) {
  if ((frame.currentCSSZoom ?? 1) !== 1) return true;
  for (let around = frame; around && isElement(around); around = flatParent(around)) {
    const style = view.getComputedStyle(around);
    if (style.transform !== "none" || style.rotate !== "none" || style.scale !== "none") return true;
  }
  return false;
}

/** Properties that an animation may change without moving anything. */
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

/** Returns whether an animation or transition that may move the element is running on it or around it. */
function movingAnimations(element) {
  const running = [...Document.prototype.getAnimations.call(document)];
  for (let root = getRoot(element); isShadowRoot(root); root = getRoot(hostOf(root))) {
    running.push(...ShadowRoot.prototype.getAnimations.call(root));
  }
  return running.some((animation) => moves(animation, element));
}
