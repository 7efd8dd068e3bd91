/** How many listeners of each type hear what happens at a point of the page; `getEventListeners` is the browser's. */
(x, y) => {
  const counts = {};
  const count = (node) => {
    for (const [type, listeners] of Object.entries(getEventListeners(node))) {
      counts[type] = (counts[type] ?? 0) + listeners.length;
    }
  };
  let node = document.elementFromPoint(x, y);
  for (let root = node?.shadowRoot; root; root = node.shadowRoot) {
    const inner = root.elementFromPoint(x, y);
    if (inner?.getRootNode() !== root) break; // the host itself is hit
    node = inner;
  }
  for (; node; node = node.parentNode ?? node.host) count(node);
  count(window);
  return counts;
}
