// Long messages are folded: the beginning is shown, and a button that shows the rest. What was unfolded stays so
// while its place is on the screen, also when the message is made anew.
// What must stay true: whatever is reached in the folded part (by Tab, by the browser's search) unfolds it.
import { element } from "../lib/dom.js";
import { t } from "../lib/strings.js";

const MOST_LINES = 30;
const MOST_LENGTH = 3000; // UTF-16 units, without a line's end among them
const unfolded = new WeakMap(); // Keys of items, by the signal of their place.

/** Whether a text is too long to be shown whole at once. */
export function isLong(text) {
  if (text.length > MOST_LENGTH) return true;
  let lines = 1;
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) lines++;
  return lines > MOST_LINES;
}

/**
 * Folds what is shown of a long message.
 * @param {object} ctx its signal ends the place
 * @param {string} key of the item
 * @param {HTMLElement} body has an id
 * @returns {HTMLElement} the button
 */
export function fold(ctx, key, body) {
  if (!unfolded.has(ctx.signal)) unfolded.set(ctx.signal, new Set());
  const open = unfolded.get(ctx.signal);
  const button = element("button", { type: "button", class: "unfold", "aria-controls": body.id });
  const show = (isOpen) => {
    body.classList.toggle("folded", !isOpen);
    button.ariaExpanded = String(isOpen);
    button.textContent = t(isOpen ? "message.less" : "message.more");
    if (isOpen) open.add(key);
    else open.delete(key);
  };
  button.addEventListener("click", () => {
    show(!open.has(key));
    if (!open.has(key)) button.closest("article").scrollIntoView({ block: "nearest" });
  });
  for (const type of ["focusin", "scroll"]) body.addEventListener(type, () => show(true));
  show(open.has(key));
  return button;
}
