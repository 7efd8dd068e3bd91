/*
 * Entering a secret. It comes with the origins that Python has allowed, is entered by this script in the very call that
 * brings it, and only if the documents are still those: no key is under way that another document, or a frame that
 * takes the focus, could catch. It is never on the clipboard.
 */

/** The origins of this document and of those around it, outwards; `null` for a sandboxed one. */
function originsHere() {
  const around = location.ancestorOrigins;
  return [globalThis.origin, ...(around ? Array.from(around) : window === window.top ? [] : ["null"])];
}

/** Returns whether a secret may be entered into the control at all: into fields that text is typed into, and editors. */
const takesSecret = (control) =>
  isEditable(control) && !SETTABLE_INPUTS.test(inputTypeOf(control)) && !isReadonly(control) && !isDisabled(control);

/** Replaces the selection by the text, as if it were typed. */
function insertText(control, text) {
  if (Document.prototype.execCommand.call(document, "insertText", false, text)) return;
  if (control instanceof HTMLInputElement) setInputValue(control, inputValueOf(control) + text);
  else if (control instanceof HTMLTextAreaElement) setTextareaValue(control, textareaValueOf(control) + text);
  else return;
  dispatch(control, new InputEvent("input", { bubbles: true, composed: true, data: text, inputType: "insertText" }));
}

const setTextareaValue = setterOf(HTMLTextAreaElement.prototype, "value");

/** Character after character, with the events of the keys around each. */
function typeText(control, text) {
  for (const key of text) {
    const options = { key, bubbles: true, cancelable: true, composed: true };
    const goesOn = dispatch(control, new KeyboardEvent("keydown", options));
    if (goesOn) insertText(control, key);
    dispatch(control, new KeyboardEvent("keyup", options));
  }
}

/** Pastes without the clipboard: the page gets the event first. Returns the event. */
function pasteText(control, text) {
  const clipboardData = new DataTransfer();
  clipboardData.setData("text/plain", text);
  const event = new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true, composed: true });
  if (dispatch(control, event)) insertText(control, text);
  return event;
}

/**
 * Enters a secret into the focused element, in place of the selection.
 *
 * @returns {string} empty, or why not: `moved`, `not_editable`
 */
function enterHere(text, origins) {
  if (originsHere().join() !== origins.join()) return "moved";
  const control = deepActive();
  if (!hasFocusHere() || !control || !takesSecret(control)) return "not_editable";
  pasteText(control, text);
  return "";
}
