/*
 * Dragging: the destination, the elements that move along, and the check of a release on the destination.
 *
 * A drag has a guard at both ends. The press must reach the element; the release must happen over the destination, or
 * over what has taken its place because of the drag (the gap, the placeholder or the dragged element itself: lists
 * make room while something is dragged over them).
 */

const stackFromPoint = methodOf(Document.prototype, "elementsFromPoint");
const shadowStackFromPoint = methodOf(ShadowRoot.prototype, "elementsFromPoint");

/** Everything at a point, topmost first, with what open shadow roots have there instead of their hosts. */
function deepStack(x, y) {
  const into = (elements) => elements.flatMap((element) => {
    const root = shadowOf(element);
    const inner = root ? shadowStackFromPoint(root, x, y).filter((part) => getRoot(part) === root) : [];
    return inner.length ? [...into(inner), element] : [element];
  });
  return into(stackFromPoint(document, x, y));
}

class Drag {
  constructor(drop) {
    this.drop = drop;
    this.source = null;
    this.destination = null;
    this.start = null;
    this.pointer = null;
    /** Point where a release is one on the destination, found before the pointer goes there. */
    this.target = null;
    /** True after a native drag has begun: no pointer events follow. */
    this.native = false;
    this.rearranged = false;
    /** Order of the list that contains both ends. */
    this.order = null;
    this.added = new WeakSet();
    /** Boxes of what was under the pointer, and where the pointer was then. */
    this.boxes = new WeakMap();
    this.followers = new WeakSet();
  }

  /** Reason why it cannot be dropped, as arguments of `block`; null when the destination is known. */
  findDestination(source, reading) {
    this.source = source;
    if (!this.drop.query || (this.destination && isConnected(this.destination))) return null;
    const found = findAll(this.drop.query, reading);
    if (found.length !== 1) return [found.length ? "ambiguous_destination" : "no_destination", String(found.length)];
    if (found[0] === source) return ["no_destination", "only the dragged element itself"];
    this.destination = found[0];
    return null;
  }

  /** The element is about to be pressed at this point. */
  begin(start) {
    this.start = start;
    const isSorted = this.destination && !this.drop.position;
    this.order = isSorted ? Order.of(this.source, this.destination) : null;
  }

  /** Both ends in the window if that can be had; the source in any case. */
  bringIntoView() {
    if (!this.destination || (visiblePart(this.destination)?.share ?? 0) >= 0.5) return;
    scrollIntoView(this.destination, "nearest");
    if ((visiblePart(this.source)?.share ?? 0) < 0.5) scrollIntoView(this.source, "center");
  }

  /** Point of the release, null if out of sight; or the reason against it, as arguments of `block`. */
  aimed() {
    if (!this.drop.query) {
      const point = { x: this.start.x + this.drop.by.x, y: this.start.y + this.drop.by.y };
      const inside = point.x >= 0 && point.y >= 0 && point.x < innerWidth && point.y < innerHeight;
      return inside ? { point } : { why: ["destination_outside", sizeText(innerWidth, innerHeight)] };
    }
    const { destination } = this;
    if (this.drop.position) {
      const point = placeIn(destination, this.drop.position);
      return point ? { point } : { why: ["to_position_outside", sizeOf(destination)] };
    }
    let middle = null;
    for (const { x, y } of spotsOf(destination)) {
      middle ??= { x, y };
      if (this.isOver({ x, y })) return { point: { x, y } };
    }
    return { point: middle };
  }

  /** Returns whether what a release at this point meets is the destination, or what took its place. */
  isOver({ x, y }, isThere = false) {
    if (!this.destination) return !this.drop.query;
    const state = isThere ? this.state() : null;
    if (state && !state.isPlaced) return false;
    for (const hit of deepStack(x, y)) {
      if (flatContains(this.destination, hit)) return true;
      if (this.isDragged(hit)) {
        // A dragged element that lies where the destination was has taken its place; one that floats is looked through.
        if (isThere && !this.isFollower(hit)) return true;
        continue;
      }
      return isThere && (flatContains(hit, this.destination) || this.isPlaceholder(hit) || this.isInOrder(state, hit));
    }
    return false;
  }

  /** Returns whether the list of both has made room, and where; null when it is not known to do so. */
  state() {
    return this.order?.state((element) => this.isFollower(element)) ?? null;
  }

  /** The gap is where it belongs, and the pointer is still over the list. */
  isInOrder(state, hit) {
    return Boolean(state?.isPlaced && flatContains(this.order.list, hit));
  }

  isDragged(hit) {
    return flatContains(this.source, hit) || this.isFollower(hit);
  }

  isFollower(hit) {
    for (let at = hit; at; at = flatParent(at)) if (this.followers.has(at)) return true;
    return false;
  }

  /** Made since the press, beside the destination. */
  isPlaceholder(hit) {
    const list = flatParent(this.destination);
    for (let at = hit; at; at = flatParent(at)) if (flatParent(at) === list) return this.added.has(at);
    return false;
  }

  onMutations(records) {
    for (const record of records) {
      if (record.type !== "childList") continue;
      this.rearranged = true;
      this.order?.onMutation(record);
      for (const node of Array.from(record.addedNodes)) this.added.add(node);
    }
  }

  /**
   * Where the pointer has to go to be over the destination, which is brought into sight.
   *
   * @returns {Promise<{point: {x: number, y: number}, over: boolean, native: boolean, gone: boolean}>}
   */
  async aim() {
    await framesDrawn();
    this.lookForFollowers();
    const next = this.nextInOrder();
    if (next) {
      this.target = next;
      return { point: next, over: false, native: this.native, gone: false };
    }
    if (this.hasArrived() && this.isOver(this.pointer, true)) {
      return { point: this.pointer, over: true, native: this.native, gone: false };
    }
    if (this.destination && !isConnected(this.destination)) this.findDestination(this.source, new Reading());
    const isGone = Boolean(this.destination && !isConnected(this.destination));
    let { point } = isGone ? { point: null } : this.aimed();
    if (!point && !isGone) {
      scrollIntoView(this.destination, "nearest");
      await framesDrawn();
      ({ point } = this.aimed());
    }
    this.target = point && this.isOver(point) ? point : null;
    return { point: point ?? null, over: false, native: this.native, gone: isGone };
  }

  hasArrived() {
    const { pointer, target } = this;
    if (!pointer || !target) return false;
    return isNear(pointer, target) || Boolean(this.state()?.isPlaced && isWithin(pointer, rectOf(this.order.list)));
  }

  /** Next point that makes the list open the gap at the right place; null when there is nothing to do. */
  nextInOrder() {
    const { order, pointer, target } = this;
    if (!order || !pointer || !target) return null;
    const state = this.state();
    if (state) return state.isPlaced ? null : order.sweep(state, pointer);
    return isNear(pointer, target) && this.isOver(pointer, true) ? order.trial() : null;
  }

  /** Notes elements that move with the pointer, in one direction at least (a list may fix the other). */
  lookForFollowers() {
    const { pointer } = this;
    if (!pointer) return;
    for (const hit of deepStack(pointer.x, pointer.y)) {
      if (hit === this.destination || flatContains(hit, this.destination ?? this.source)) continue;
      const box = rectOf(hit);
      const before = this.boxes.get(hit);
      if (before && before.pointer !== pointer) {
        const across = pointer.x - before.pointer.x, down = pointer.y - before.pointer.y;
        const follows = (moved, went) => Math.abs(went) >= 2 && Math.abs(moved - went) < 2;
        if (follows(box.left - before.box.left, across) || follows(box.top - before.box.top, down)) this.followers.add(hit);
      }
      this.boxes.set(hit, { box, pointer });
    }
  }
}

const isNear = (one, other) => Math.abs(one.x - other.x) < 3 && Math.abs(one.y - other.y) < 3;
