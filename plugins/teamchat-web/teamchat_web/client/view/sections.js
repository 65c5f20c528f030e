// A wide dialog of several sections with a list of them at its side: settings, administration.
//
// One section is made at a time, and what it listens to ends with it.

import { element, icon, replace } from "../lib/dom.js";
import { openDialog } from "./dialog.js";
import { added } from "./extensions/registry.js";

/**
 * Open the dialog.
 * @param {object} ctx
 * @param {{title: string, sections: {id: string, label: string, icon: string,
 *   make: function(object, object): Node[]}[], first?: string}} about `make` gets ctx and the dialog, whose
 *   `signal` ends with the section
 * @returns {HTMLDialogElement}
 */
export function openSections(ctx, { title, sections, first = sections[0].id }) {
  const place = element("div", { class: "dialog-section", tabindex: "-1" });
  const buttons = new Map(sections.map((one) => [one.id, button(one, () => show(one))]));
  const nav = element("nav", { class: "tabs", "aria-label": title }, [...buttons.values()]);
  const body = element("div", { class: "dialog-body sectioned" }, nav, place);
  const dialog = openDialog(ctx, { title, kind: "dialog-wide" }, body);
  let shown = new AbortController();
  dialog.node.addEventListener("close", (event) => event.target === dialog.node && shown.abort());
  show(sections.find((one) => one.id === first) ?? sections[0]);
  buttons.get(first)?.focus();

  function show(section) {
    shown.abort();
    shown = new AbortController();
    for (const [id, one] of buttons) one.ariaCurrent = id === section.id ? "page" : null;
    const made = section.make(ctx, { ...dialog, signal: shown.signal });
    replace(place, element("h3", {}, section.label), made);
    place.scrollTop = 0;
  }

  return dialog.node;
}

/** The sections that capabilities have added, each with an id of its own. */
export function extensionSections(ctx, slot) {
  return added(ctx, slot).flatMap((tool, at) => {
    const look = tool.look(null);
    const make = (_, dialog) => tool.make(dialog);
    return look ? [{ id: `extension-${at}`, label: look.label, icon: tool.icon, make }] : [];
  });
}

function button({ id, label, icon: name }, show) {
  return element("button", { type: "button", dataset: { section: id }, on: { click: show } }, icon(name), label);
}
