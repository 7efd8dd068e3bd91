/*
 * How long a document has rested: since when nothing has changed in it, nor was anything entered.
 *
 * Attempts watch what they look at. Between two of them somebody else has to, so that the next need not wait for rest
 * that has come already. Whoever comes later than that starts anew.
 */

const WATCHED_BETWEEN_MS = 2000;

class Rest {
  constructor() {
    this.since = performance.now();
    this.timer = 0;
    this.observer = new MutationObserver(() => (this.since = performance.now()));
  }

  /** Watches from now on, with nothing to be told of what was before `since`. */
  watch(roots, since) {
    this.leave();
    this.since = since;
    for (const root of roots) this.observer.observe(root, { subtree: true, childList: true, attributes: true, characterData: true });
    this.timer = setTimeout(() => this.leave(), WATCHED_BETWEEN_MS);
  }

  /** Stops watching, and returns since when the document has rested: now, if nobody has watched. */
  take() {
    const isWatched = this.timer !== 0;
    if (this.observer.takeRecords().length || !isWatched) this.since = performance.now();
    this.leave();
    return this.since;
  }

  leave() {
    clearTimeout(this.timer);
    this.timer = 0;
    this.observer.disconnect();
  }
}

const documentRest = new Rest();
