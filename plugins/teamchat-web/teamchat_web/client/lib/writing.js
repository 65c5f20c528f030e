// What the page writes into a field: where that has the focus, it can be undone as what was typed, and so can
// what was typed before. Browsers offer that by a command alone; a text that is set takes all undoing away.

const overwritten = new WeakMap(); // What was written over last, by its field.

/** Write over a part of a field's text. The cursor is behind it then; the field tells of it by "input". */
export function writeOver(field, text, start = field.selectionStart, end = field.selectionEnd) {
  const isHere = document.activeElement === field; // The command writes to whatever has the focus.
  if (!overwritten.has(field)) field.addEventListener("input", unselect, { capture: true });
  overwritten.set(field, field.value.slice(start, end));
  if (isHere) field.setSelectionRange(start, end);
  if (isHere && document.execCommand(text ? "insertText" : "delete", false, text)) return;
  field.setRangeText(text, start, end, "end");
  field.dispatchEvent(new Event("input", { bubbles: true }));
}

/** What was written over is selected once that is undone: the next letter would take its place. */
function unselect({ target: field, inputType }) {
  const { selectionStart, selectionEnd, value } = field;
  const isIt = value.slice(selectionStart, selectionEnd) === overwritten.get(field);
  if (inputType === "historyUndo" && isIt) field.setSelectionRange(selectionEnd, selectionEnd);
}
