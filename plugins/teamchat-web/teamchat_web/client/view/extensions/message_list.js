// A list of messages from anywhere: who, when and what, with what can be done beside each. A press leads to the
// message; arrow keys go through the list; one that is drawn anew keeps the focus.

import { element, icon, replace } from "../../lib/dom.js";
import { line } from "../line.js";

/**
 * Make a list.
 * @param {object} ctx
 * @param {{label: string, none?: string, detail?: function(object): string,
 *   actions: function(object): {icon: string, label: string, act: function(): void}[],
 *   open: function(object): void}} look
 * @returns {{node: HTMLElement, draw: function(object[]): void}}
 */
export function messageList(ctx, { label, none, detail, actions, open }) {
  const list = element("ul", { class: "message-list", "aria-label": label, tabindex: "-1", on: { keydown: walk } });
  return { node: list, draw };

  function draw(messages) {
    const { activeElement } = document;
    const held = list.contains(activeElement) ? (activeElement.dataset.key ?? "") : null;
    const at = [...list.querySelectorAll(".message-link")].findIndex((one) => one.dataset.key === held?.split(" ")[0]);
    replace(list, messages.map(entry), !messages.length && none && element("li", { class: "soft" }, none));
    if (held === null) return;
    const links = [...list.querySelectorAll(".message-link")];
    const same = [...list.querySelectorAll("[data-key]")].find((one) => one.dataset.key === held);
    (same ?? links[Math.min(at, links.length - 1)] ?? list).focus();
  }

  function entry(message) {
    const more = detail?.(message);
    const press = () => {
      list.closest("dialog")?.close();
      open(message);
    };
    const link = { type: "button", class: "message-link", dataset: { key: message.id }, on: { click: press } };
    return element(
      "li",
      {},
      element("button", link, line(ctx, message), more && element("span", { class: "small soft" }, more)),
      element("div", { class: "row-actions" }, actions(message).filter(Boolean).map((one) => button(message, one))),
    );
  }

  function button({ id }, { icon: name, label: says, act }) {
    const look = { type: "button", class: "icon-button", "aria-label": says, title: says };
    return element("button", { ...look, dataset: { key: `${id} ${name}` }, on: { click: act } }, icon(name));
  }

  function walk(event) {
    const step = { ArrowUp: -1, ArrowDown: 1 }[event.key];
    if (!step || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    const links = [...list.querySelectorAll(".message-link")];
    const at = links.findIndex((one) => one.closest("li").contains(document.activeElement));
    links[at + step]?.focus();
  }
}
