// A part of a dialog that is drawn anew whenever what it shows of a room has changed: not while somebody writes
// in it, and with the focus kept inside.

import { element, replace } from "../../lib/dom.js";

/**
 * @param {object} ctx
 * @param {AbortSignal} signal
 * @param {string} id of the room
 * @param {function(object): *[]} make the children, of the room as it is
 * @param {function(object): *} look what they depend on
 * @returns {HTMLElement}
 */
export function following({ model }, signal, id, make, look) {
  const node = element("div", { class: "room-part", tabindex: "-1" });
  let shown = null;
  const isWritten = () => [...node.querySelectorAll("input, textarea, select")].some(isChanged);
  const draw = () => {
    const room = model.channels.get(id);
    const says = room && JSON.stringify(look(room));
    if (!room || says === shown || (shown !== null && isWritten())) return;
    shown = says;
    const had = node.contains(document.activeElement);
    replace(node, make(room));
    if (had) node.focus();
  };
  for (const type of ["channels", "me", "users"]) model.on(type, draw, signal);
  draw();
  return node;
}

/** Whether a field says something else than what it began with. */
function isChanged(field) {
  if (field.type === "checkbox" || field.type === "radio") return field.checked !== field.defaultChecked;
  return field.dataset.begun !== undefined && field.value !== field.dataset.begun;
}
