// A text longer than the server takes: said at the field, in the person's language, before anything is sent.
import { element } from "../lib/dom.js";
import "../lib/more_strings.js";
import { t } from "../lib/strings.js";
import { needsSheets } from "./sheet.js";

needsSheets("notices");

let made = 0;

/**
 * Says by how much the text is too long, or no longer says so.
 * @param {HTMLTextAreaElement} field
 * @param {number} excess in characters (code points); 0 for a text that can be sent
 * @param {number} most
 */
export function tellTooLong(field, excess, most) {
  const box = field.closest(".composer");
  let note = box.querySelector(".too-long");
  if (!note && excess) {
    note = element("p", { class: "too-long", role: "status", id: `too-long-${++made}` });
    box.append(note);
  }
  if (note) note.textContent = excess ? t("composer.too_long", { count: excess, most }) : "";
  field.ariaInvalid = excess ? "true" : null;
  if (excess) field.setAttribute("aria-describedby", note.id);
  else field.removeAttribute("aria-describedby");
}
