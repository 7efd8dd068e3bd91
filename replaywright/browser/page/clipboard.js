/*
 * Putting a text on this browser's clipboard without the page noticing: a copy that this script answers, before any
 * listener of the page. It works on insecure pages, too, where navigator.clipboard is missing.
 */

let carried = null;

addListener(window, "copy", (event) => {
  if (carried === null || !event.isTrusted) return;
  event.stopImmediatePropagation();
  event.clipboardData.setData("text/plain", carried);
  event.preventDefault();
  carried = null;
}, { capture: true });

/**
 * Puts `text` on the clipboard, "" empties it. Needs a user's gesture.
 *
 * @returns {boolean} whether it is there
 */
function carry(text) {
  // Nothing is copied while the selection is in a password.
  const field = deepActive();
  const isPassword = Boolean(field) && inputTypeOf(field) === "password";
  if (isPassword) getSelection().removeAllRanges();
  carried = text;
  Document.prototype.execCommand.call(document, "copy");
  const done = carried === null;
  carried = null;
  if (isPassword && isConnected(field)) selectContent(field);
  return done;
}

function hasFocusHere() {
  const active = activeElementOf(document);
  return Document.prototype.hasFocus.call(document) && !(active && /^(?:iframe|frame)$/.test(tagOf(active)));
}
