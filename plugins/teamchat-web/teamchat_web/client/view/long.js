// Long messages are folded: the beginning is shown, and a button that shows the rest. What was unfolded stays so
// while its place is on the screen, also when the message is made anew.
// Whatever is reached in the folded part (by Tab, by the browser's search) unfolds it.
import { element } from "../lib/dom.js";
import "../lib/more_strings.js";
import { t } from "../lib/strings.js";
import { needsSheets } from "./sheet.js";

needsSheets("tools");

const unfolded = new WeakMap(); // Keys of items, by the signal of their place.

/**
 * Folds what is shown of a long message.
 * @param {object} ctx its signal ends the place
 * @param {string} key of the item
 * @param {HTMLElement} body has an id
 * @param {HTMLElement} place of the button
 */
export function fold(ctx, key, body, place) {
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
  place.append(button);
  button.tabIndex = place.closest("article")?.tabIndex ?? -1;
}
