// The quiet lines below a form of sign-in that lead to another screen.

import { element } from "../../lib/dom.js";

/** A button that looks like a link; `text` before it is optional. */
export function line(action, go, text = null) {
  const button = element("button", { class: "link", type: "button", on: { click: go } }, action);
  return element("p", { class: "card-foot" }, text && [text, " "], button);
}
