/** How many listeners of each type hear what happens at a point of the page; `getEventListeners` is the browser's. */
(x, y) => {
  const counts = {};
  const count = (node) => {
    for (const [type, listeners] of Object.entries(getEventListeners(node))) {
      counts[type] = (counts[type] ?? 0) + listeners.length;
    }
  };
  let node = document.elementFromPoint(x, y);
  for (let inner = node; inner; inner = inner.shadowRoot?.elementFromPoint(x, y)) {
    if (inner === node && inner.shadowRoot === null) break;
    node = inner;
  }
  for (; node; node = node.parentNode ?? node.host) count(node);
  count(window);
  return counts;
}
