/*
 * Sortable lists: an element that is dropped on another one of its list is to take that one's place in the order.
 *
 * Such a list makes room during a drag: it moves the dragged element, or a gap, among the others. Lists differ in the
 * moment (when the pointer enters an item, or passes its middle), so a release in the middle of the destination may end
 * beside it. The present position of the gap decides.
 */

/** Path of the pointer across the element that has to give way, in shares of its box. */
const SWEEP = [0.6, 0.75, 0.9, 0.1, 0.3, 0.5, 0.7, 0.9];
/** The same for a list that has moved nothing yet: past the middle, and back. */
const TRIAL = [0.7, 0.9, 0.5];

class Order {
  /** The order of the list that has both among its children; null if there is none. */
  static of(source, destination) {
    const above = new Map();
    for (let at = source; at; at = flatParent(at)) if (flatParent(at)) above.set(flatParent(at), at);
    for (let at = destination; at; at = flatParent(at)) {
      const list = flatParent(at), item = above.get(list);
      if (!item) continue;
      return item !== at && tagOf(item) === tagOf(at) ? new Order(list, item, at) : null;
    }
    return null;
  }

  constructor(list, item, destination) {
    this.list = list;
    this.item = item;
    this.destination = destination;
    this.before = Array.from(childrenOf(list));
    this.wanted = this.before.indexOf(destination);
    this.isForward = this.before.indexOf(item) < this.wanted;
    /** Placeholder of the dragged element: the last node that was added to the list. */
    this.gap = null;
    this.puts = 0;
    this.sweeping = null;
    this.tried = 0;
  }

  onMutation({ target, addedNodes }) {
    if (target !== this.list) return;
    for (const node of Array.from(addedNodes)) {
      if (!isElement(node)) continue;
      this.gap = node;
      // Putting a placeholder there, to begin with, moves nothing; putting back what was there does.
      this.puts += node === this.item ? 2 : 1;
    }
  }

  /**
   * The element at the gap's intended place; null if no moving gap is known.
   *
   * @param {(element: Element) => boolean} floats whether it is only dragged along
   * @returns {{there: Element, isPlaced: boolean, isAfter: boolean} | null} `isAfter`: the gap has to come behind it
   */
  state(floats) {
    const { gap } = this;
    if (this.puts < 2 || !gap || parentNodeOf(gap) !== parentNodeOf(this.destination) || floats(gap)) return null;
    const known = new Set(this.before);
    const now = Array.from(childrenOf(this.list)).filter((child) =>
      child === gap || (child !== this.item && known.has(child)));
    if (now.length !== this.before.length) return null;
    const there = now[this.wanted];
    return { there, isPlaced: there === gap, isAfter: now.indexOf(gap) < this.wanted };
  }

  /** The next place on the way across what has to give way to the gap; null when all were tried. */
  sweep({ there, isAfter }, pointer) {
    if (this.sweeping?.there !== there || this.sweeping.isAfter !== isAfter) {
      this.sweeping = { there, isAfter, next: 0 };
      if (!isWithin(pointer, rectOf(there))) return this.across(there, 0.5, isAfter);
    }
    const share = SWEEP[this.sweeping.next++];
    return share === undefined ? null : this.across(there, share, isAfter);
  }

  /** The next place on the way across the destination while the list has moved nothing; null when all were tried. */
  trial() {
    const share = TRIAL[this.tried++];
    return share === undefined ? null : this.across(this.destination, share, this.isForward);
  }

  /** Down, and to the right as well where items stand in rows; the other way round if not `forward`. */
  across(element, share, forward) {
    const { left, top, width, height } = rectOf(element);
    const at = forward ? share : 1 - share;
    const isInRow = [previousElementOf(element), nextElementOf(element)].some((other) => {
      const box = other && rectOf(other);
      return box && box.width > 0 && box.top < top + height / 2 && box.bottom > top + height / 2;
    });
    return { x: left + width * (isInRow ? at : 0.5), y: top + height * at };
  }
}

const isWithin = ({ x, y }, box) => x >= box.left && x < box.right && y >= box.top && y < box.bottom;
