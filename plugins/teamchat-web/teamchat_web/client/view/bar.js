// The head of the conversation: what is shown, what can be done with it, and on phones the way to the sidebar.
import { element, icon } from "../lib/dom.js";
import { t } from "../lib/strings.js";
import { iconButton, palette } from "./sidebar.js";

/**
 * @param {object} ctx
 * @param {() => void} openDrawer
 * @returns {HTMLElement} with an empty heading, and an empty `.bar-action`
 */
export function bar(ctx, openDrawer) {
  const drawer = element(
    "button",
    {
      type: "button",
      class: "icon-button drawer-button",
      "aria-controls": "sidebar",
      "aria-expanded": "false",
      "aria-label": t("shell.drawer"),
      on: { click: openDrawer },
    },
    icon("menu"),
    element("span", { class: "dot", hidden: true }),
  );
  const find = iconButton("search", t("sidebar.jump"), () => palette(ctx));
  find.classList.add("drawer-button"); // Beside the sidebar, which has its own, it would be the second glass.
  return element(
    "header",
    { class: "bar" },
    drawer,
    element("h1", { hidden: true }),
    element("span", { class: "grow" }),
    element("span", { class: "bar-action" }),
    find,
  );
}
