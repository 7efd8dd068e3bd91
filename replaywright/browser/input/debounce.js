/**
 * Watches the timers of a page, in the page's own world. Returned: `watch()` takes in frames that have come since;
 * `left(age)` is how many milliseconds remain until the last timer fires that was set within `age` milliseconds and
 * not by a timer that is older. Timers of more than `limit` milliseconds are left alone.
 */
(limit) => {
  const frames = new Set(), known = new WeakSet(), native = Reflect;
  let chain = null; // when the timer was set whose work runs now, or the first of those that led to it
  const cancelling = (pending, cancel) => new Proxy(cancel, {
    apply(target, self, given) {
      pending.delete(given[0]);
      return native.apply(target, self, given);
    },
  });
  const setting = (pending, set) => new Proxy(set, {
    apply(target, self, given) {
      const [work, delay, ...rest] = given, wait = Number(delay) || 0;
      if (typeof work !== "function" || wait > limit) return native.apply(target, self, given);
      const since = chain ?? performance.now();
      const id = native.apply(target, self, [function (...values) {
        const around = chain;
        pending.delete(id);
        chain = since;
        try {
          return native.apply(work, this, values);
        } finally {
          chain = around;
        }
      }, delay, ...rest]);
      pending.set(id, { since, due: performance.now() + wait });
      return id;
    },
  });
  const take = (view) => {
    try {
      if (!known.has(view.document)) {
        const pending = new Map();
        known.add(view.document);
        frames.add(pending);
        view.setTimeout = setting(pending, view.setTimeout);
        view.clearTimeout = cancelling(pending, view.clearTimeout);
        view.clearInterval = cancelling(pending, view.clearInterval);
      }
    } catch {
      return; // of another origin
    }
    for (let inner = 0; inner < view.length; inner++) take(view[inner]);
  };
  const watcher = {
    watch() {
      take(window);
      return this;
    },
    left(age) {
      const now = performance.now();
      const timers = [...frames].flatMap((pending) => [...pending.values()]);
      // One that is due has not fired yet: a busy page handles input first.
      return Math.max(0, ...timers.filter(({ since }) => since >= now - age).map(({ due }) => Math.max(1, due - now)));
    },
  };
  return watcher.watch();
}
