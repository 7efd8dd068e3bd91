/*
 * Scrolling: positions into view, areas to their ends, and page by page through virtual lists.
 */

const sizeText = (width, height) => `${Math.round(width)} × ${Math.round(height)}`;
const sizeOf = (element) => sizeText(rectOf(element).width, rectOf(element).height);

/** A position in an element as a point of the window; null when it lies outside of the element. */
function placeIn(element, { x, y }) {
  const rect = rectOf(element);
  return x <= rect.width && y <= rect.height ? { x: rect.left + x, y: rect.top + y } : null;
}

const scrollBy = methodOf(Element.prototype, "scrollBy");

/** Scrolls all areas around the element so that a position in it is seen, `share` of the way down each of them. */
function scrollPlaceIntoView(element, position, share) {
  for (let at = flatParent(element); at; at = flatParent(at)) {
    const isPage = at === wholePage();
    const { overflowX, overflowY } = getComputedStyle(at);
    if (!isPage && overflowX === "visible" && overflowY === "visible") continue;
    const point = placeIn(element, position);
    const box = isPage ? { left: 0, top: 0, width: innerWidth, height: innerHeight } : rectOf(at);
    const across = point.x - box.left, down = point.y - box.top;
    const isSeen = across >= 0 && down >= 0 && across < box.width && down < box.height;
    if (isSeen && share === 0.5) continue;
    scrollBy(at, {
      left: isSeen ? 0 : across - box.width / 2,
      top: down - box.height * share,
      behavior: "instant",
    });
  }
}

// ------------------------------------------------------------------------------------------- scrolling areas

const AREA_LIMIT = 12;
/** Time without changes after which the end of an area counts as its end. */
const GROWTH_MS = 300;

const setScrollTop = setterOf(Element.prototype, "scrollTop");
const scrollTo = methodOf(Element.prototype, "scrollTo");
const wholePage = () => document.scrollingElement ?? rootElementOf(document);

/** Returns whether more is in the element than is seen of it, and a person could scroll there. */
function scrollsDown(element) {
  if (scrollHeightOf(element) <= clientHeightOf(element) + 1) return false;
  const { overflowY } = getComputedStyle(element);
  if (element === wholePage()) return overflowY !== "hidden" && overflowY !== "clip";
  return overflowY === "auto" || overflowY === "scroll";
}

/** The area that is meant by an element: itself, the largest inside it, or the page when it is all there is. */
function areaOf(element) {
  if (scrollsDown(element)) return element;
  const size = (part) => clientHeightOf(part) * clientWidthOf(part);
  const inside = Array.from(queryAll(element, "*")).filter(scrollsDown);
  return inside.sort((one, other) => size(other) - size(one))[0] ?? null;
}

/** Scrolls the area that the element is or has to an end; false without one. */
function scrollToEnd(element, end) {
  const area = areaOf(element);
  if (area) scrollTo(area, { top: end === "top" ? 0 : scrollHeightOf(area), behavior: "instant" });
  return Boolean(area);
}

/** The scrolling areas in sight: those of the recorded container first, then the largest. */
function searchableAreas(container, reading) {
  const areas = [];
  for (const root of reading.roots) {
    for (const element of queryAll(root, "*")) {
      if (scrollHeightOf(element) <= clientHeightOf(element) + 1 || clientHeightOf(element) < 40) continue;
      if (scrollsDown(element) && reading.isShown(element)) areas.push(element);
    }
  }
  const size = (area) => Math.min(clientHeightOf(area), innerHeight) * Math.min(clientWidthOf(area), innerWidth);
  const isRecorded = (area) => {
    if (!container) return false;
    for (let at = firstElementOf(area), depth = 0; at && depth < 4; at = firstElementOf(at), depth++) {
      if (containerOf(at, reading) === container) return true;
    }
    return false;
  };
  const ranked = areas.map((area) => ({ area, rank: (isRecorded(area) ? 1e9 : 0) + size(area) }));
  return ranked.sort((one, other) => other.rank - one.rank).slice(0, AREA_LIMIT).map(({ area }) => area);
}

/**
 * Goes through the areas page by page, down to the end and then up from where it began.
 *
 * Virtual lists never contain all of their rows, so an element can only be found on the way.
 * Areas whose end shows nothing that was not there before hold all that they have, and are left as they were.
 */
class Search {
  constructor(areas) {
    this.areas = areas;
    this.enter(0);
  }

  enter(at) {
    this.at = at;
    this.stage = "new";
    this.changed = false;
    this.onChange = null;
  }

  onMutations(records) {
    if (!records.some(({ type }) => type !== "attributes")) return;
    this.changed = true;
    this.onChange?.();
  }

  /** One page further, or into the next area; false when all have been seen. */
  async step() {
    while (this.at < this.areas.length) {
      const area = this.areas[this.at];
      if (!isConnected(area)) this.stage = "seen";
      switch (this.stage) {
        case "new":
          this.start = scrollTopOf(area);
          this.height = scrollHeightOf(area);
          this.changed = false;
          // To the farther end: its rows do not exist yet in a virtual list.
          scrollTo(area, { top: this.start > (this.height - clientHeightOf(area)) / 2 ? 0 : this.height, behavior: "instant" });
          await this.change();
          this.stage = "probed";
          return true;
        case "probed":
          scrollTo(area, { top: this.start, behavior: "instant" });
          await framesDrawn();
          if (!this.changed && scrollHeightOf(area) === this.height) {
            this.stage = "seen";
            break;
          }
          this.stage = "down";
          return true;
        case "down":
          if (await this.page(area, 1)) return true;
          this.height = scrollHeightOf(area);
          await this.change();
          this.stage = "end";
          return true;
        case "end":
          if (scrollHeightOf(area) > this.height) {
            this.stage = "down";
            break;
          }
          scrollTo(area, { top: this.start, behavior: "instant" });
          this.stage = "up";
          break;
        case "up":
          if (await this.page(area, -1)) return true;
          this.stage = "seen";
          break;
        case "seen":
          this.enter(this.at + 1);
      }
    }
    return false;
  }

  /** Returns whether there was a page further to go. */
  async page(area, direction) {
    const before = scrollTopOf(area);
    const stride = Math.min(clientHeightOf(area), innerHeight) * 0.8 * direction;
    scrollBy(area, { top: stride, left: 0, behavior: "instant" });
    await framesDrawn();
    return Math.abs(scrollTopOf(area) - before) >= 1;
  }

  /** Waits until the page has changed what it shows, or will not. */
  async change() {
    await framesDrawn();
    await new Promise((resolve) => {
      this.onChange = resolve;
      setTimeout(resolve, GROWTH_MS);
    });
    this.onChange = null;
  }
}
