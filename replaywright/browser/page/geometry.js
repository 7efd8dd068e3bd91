/*
 * Where an element can be pressed: what is to be seen of it, what lies over it, and whether it moves.
 *
 * All points are in CSS pixels of this frame's viewport.
 */

/** The window, and what scrolling ancestors leave of it. */
function clipOf(element) {
  const clip = { left: 0, top: 0, right: innerWidth, bottom: innerHeight };
  let position = getComputedStyle(element).position;
  for (let at = flatParent(element); at; at = flatParent(at)) {
    const style = getComputedStyle(at);
    // What is fixed is clipped by nothing but the window; what is absolute, not by ancestors it is not placed in.
    if (position === "fixed") break;
    const placed = style.position !== "static" || style.transform !== "none";
    if (position === "absolute" && !placed) continue;
    const tag = tagOf(at);
    if (tag !== "html" && tag !== "body" && (style.overflowX !== "visible" || style.overflowY !== "visible")) {
      const rect = rectOf(at);
      clip.left = Math.max(clip.left, rect.left);
      clip.right = Math.min(clip.right, rect.right);
      clip.top = Math.max(clip.top, rect.top);
      clip.bottom = Math.min(clip.bottom, rect.bottom);
    }
    position = style.position;
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
  return boxes;
}

/** Centre of the visible part, and which share of the element can be seen; null when nothing can. */
function visiblePart(element) {
  const clip = clipOf(element);
  let all = 0, seen = 0, first = null;
  for (const box of boxesOf(element)) {
    // Of what is larger than the window, a window full is all that can be wanted.
    all += Math.min(box.width, innerWidth) * Math.min(box.height, innerHeight);
    const part = clipped(box, clip);
    if (!part) continue;
    seen += (part.right - part.left) * (part.bottom - part.top);
    first ??= part;
  }
  return first ? { x: (first.left + first.right) / 2, y: (first.top + first.bottom) / 2, share: seen / all } : null;
}

/** What is to be seen of an element, as one box, and how far its document is scrolled; null when nothing can. */
function shownBoxOf(element) {
  const clip = clipOf(element);
  let around = null;
  for (const box of boxesOf(element)) {
    const part = clipped(box, clip);
    if (!part) continue;
    around = !around ? part : {
      left: Math.min(around.left, part.left), right: Math.max(around.right, part.right),
      top: Math.min(around.top, part.top), bottom: Math.max(around.bottom, part.bottom),
    };
  }
  return around && { ...around, scrollX, scrollY };
}

/** Where in a box to try: its centre first. */
const SPOTS = [[0.5, 0.5], [0.25, 0.5], [0.75, 0.5], [0.5, 0.25], [0.5, 0.75], [0.1, 0.5], [0.9, 0.5]];
const INTERACTIVE = "a[href],button,input,select,textarea,summary,[role=button],[role=link],[role=checkbox]," +
  "[role=menuitem],[role=tab],[role=switch],[onclick]";

/** A point of `place` where a press reaches `element`; else what is in the way at the centre. */
function clickablePoint(place, element) {
  const clip = clipOf(place);
  let cover = null, nested = null;
  for (const box of boxesOf(place)) {
    const part = clipped(box, clip);
    if (!part) continue;
    for (const [across, down] of SPOTS) {
      const point = { x: part.left + (part.right - part.left) * across, y: part.top + (part.bottom - part.top) * down };
      const hit = deepFromPoint(point.x, point.y);
      if (!hit) continue;
      if (!reaches(hit, element)) {
        cover ??= hit;
        continue;
      }
      if (!hitsInner(hit, element)) return { point };
      nested ??= point;
    }
  }
  return { point: nested, cover };
}

function reaches(hit, element) {
  return flatContains(element, hit) || labelsOf(element).some((label) => flatContains(label, hit));
}

/** Whether a press there would work another control that lies inside the element. */
function hitsInner(hit, element) {
  const label = labelsOf(element);
  for (let at = hit; at && at !== element && !label.includes(at); at = flatParent(at)) if (matches(at, INTERACTIVE)) return true;
  return false;
}

/** What covers this frame at a point of it, in the documents around it; null if nothing, or if they cannot be seen. */
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

/** Whether a frame is turned, scaled or zoomed: then its own pixels are not those of the document around it. */
function isDrawnOtherwise(frame, view) {
  if ((frame.currentCSSZoom ?? 1) !== 1) return true;
  for (let around = frame; around && isElement(around); around = flatParent(around)) {
    const style = view.getComputedStyle(around);
    if (style.transform !== "none" || style.rotate !== "none" || style.scale !== "none") return true;
  }
  return false;
}

/** What an animation may change without moving anything. */
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

/** Whether an animation or transition that may move the element is running on it or around it. */
function movingAnimations(element) {
  const running = [...Document.prototype.getAnimations.call(document)];
  for (let root = getRoot(element); isShadowRoot(root); root = getRoot(hostOf(root))) {
    running.push(...ShadowRoot.prototype.getAnimations.call(root));
  }
  return running.some((animation) => moves(animation, element));
}
