/*
 * Returns whether what changes in the page after a press is a consequence of it.
 *
 * Every press leaves traces: the element is focused and drawn as pressed, a ripple runs over it, a tooltip comes up,
 * scripts are fetched; and clocks tick anyway. None of these shows that the press had an effect.
 */

const STATE_ATTRIBUTES = new Set(["aria-expanded", "aria-checked", "aria-pressed", "aria-selected", "aria-current", "aria-disabled",
  "aria-hidden", "aria-invalid", "aria-sort", "aria-valuenow", "disabled", "checked", "open", "selected", "hidden", "readonly"]);
const LOOK_ATTRIBUTES = new Set(["class", "style", "src", "href", "value"]);
const NOT_SHOWN = new Set(["script", "style", "link", "meta", "noscript", "template", "base", "title", "head"]);
const CLOCK = /\d:\d\d|\b(?:sec|second|min|minute|hour|ago|vor|il y a|hace)\w*\b|[秒分]/i;

/** Returns whether a text differs from the one before only in its digits, and shows a time. */
function isTicking(before, after) {
  const shape = (text) => text.replace(/\d+/g, "0");
  return before !== after && shape(before) === shape(after) && CLOCK.test(after || before);
}

/** Readable text under a node, its own included. */
function textUnder(node) {
  if (isText(node)) return node.data;
  return isElement(node) && !NOT_SHOWN.has(tagOf(node)) ? textContentOf(node) : "";
}

const joinedText = (nodes) => collapse(Array.from(nodes, textUnder).join(" "));

/** Returns whether a node that came or went is one that a person would miss: something to act on, or to look at. */
function isSomething(node) {
  if (!isElement(node) || NOT_SHOWN.has(tagOf(node)) || attr(node, "role") === "tooltip") return false;
  const telling = `${CONTROLS},img,svg,canvas,video,iframe,dialog`;
  if (!matches(node, telling) && !queryAll(node, telling).length) return false;
  return !isConnected(node) || boxesOf(node).length > 0;
}

/** Returns whether one record of a mutation observer (with old values) shows a consequence of a press on `element`. */
function isConsequence({ type, target, oldValue, attributeName, addedNodes, removedNodes }, element) {
  const inside = Boolean(element) && flatContains(element, target);
  switch (type) {
    case "characterData":
      return collapse(oldValue ?? "") !== collapse(target.data) && !isTicking(oldValue ?? "", target.data);
    case "childList": {
      if (isElement(target) && NOT_SHOWN.has(tagOf(target))) return false;
      if (Array.from(addedNodes).some((node) => isElement(node) && attr(node, "role") === "tooltip")) return false;
      const before = joinedText(removedNodes), after = joinedText(addedNodes);
      if (before !== after) return !isTicking(before, after);
      return !before && !inside && [...addedNodes, ...removedNodes].some(isSomething);
    }
    case "attributes": {
      if (attr(target, attributeName) === (oldValue ?? "") || attr(target, "role") === "tooltip") return false;
      if (STATE_ATTRIBUTES.has(attributeName)) return true;
      return LOOK_ATTRIBUTES.has(attributeName) && !inside && !(element && flatContains(target, element)) &&
        !NOT_SHOWN.has(tagOf(target)) && !/^(?:html|body)$/.test(tagOf(target));
    }
  }
  return false;
}
