// Lists of things that can be acted on: people, channels, webhooks, sessions.
//
// A list that is drawn anew keeps the focus where it was, by the id of the row and the
// name of the action; where that is gone, the focus is on the list and not lost.

import { element, icon, replace } from "../lib/dom.js";
import { leadsToCard } from "./people.js";

/** A list to draw rows into. */
export function rows(label) {
  return element("ul", { class: "rows", "aria-label": label, tabindex: "-1" });
}

/**
 * Draw the rows.
 * @param {HTMLElement} list
 * @param {HTMLElement[]} made by `row`
 * @param {string} [none] what is said where there are none
 */
export function draw(list, made, none = null) {
  const focused = list.contains(document.activeElement) ? document.activeElement.dataset.key ?? "" : null;
  replace(list, made, made.length === 0 && none && element("li", { class: "row soft" }, none));
  if (focused === null) return;
  const same = [...list.querySelectorAll("[data-key]")].find((one) => one.dataset.key === focused);
  (same ?? list).focus();
}

/**
 * Make a row.
 * @param {{id: string, person?: string, title: string, tags?: string[], detail?: string, lead?: Node,
 *   actions?: {icon?: string, label: string, text?: string, act: function(): void}[]}} about `label` is read
 *   out; what is seen is the icon or the text; `person` is the id of whose name the title is
 */
export function row({ id, person, title, tags = [], detail, lead, actions = [] }) {
  const words = tags.filter(Boolean).map((tag) => [" ", element("bdi", { class: "tag" }, tag)]);
  return element(
    "li",
    { class: "row" },
    lead,
    element(
      "div",
      { class: "row-main" },
      element("span", {}, element("strong", named(person), element("bdi", {}, title)), words),
      detail && element("span", { class: "soft", dir: "auto" }, detail),
    ),
    element("div", { class: "row-actions" }, actions.filter(Boolean).map((action) => button(id, action))),
  );
}

/** A person's name leads to their card. */
function named(person) {
  return person ? leadsToCard(person, { tabindex: "0" }) : {};
}

function button(id, { icon: name, label, text, act }) {
  const look = name ? "icon-button" : "button button-small";
  const properties = { class: look, type: "button", title: name && label, "aria-label": label };
  properties.dataset = { key: `${id} ${name ?? text}` };
  return element("button", { ...properties, on: { click: act } }, name ? icon(name) : text);
}
