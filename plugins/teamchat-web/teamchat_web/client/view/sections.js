// A wide dialog of several sections with a list of them at its side: settings, administration.
//
// One section is made at a time, and what it listens to ends with it.

import { element, icon, replace } from "../lib/dom.js";
import { openDialog } from "./dialog.js";
import { added, registryOf } from "./extensions/registry.js";

/**
 * Open the dialog.
 * @param {object} ctx
 * @param {{title: string, sections: function(): {id: string, label: string, icon: string,
 *   make: function(object, object): Node[]}[], slot?: string, first?: string}} about `make` gets ctx and the dialog,
 *   whose `signal` ends with the section, and which it may hold; with a slot, what comes while the dialog is open is
 *   listed, too
 * @returns {HTMLDialogElement}
 */
export function openSections(ctx, { title, sections, slot, first }) {
  const place = element("div", { class: "dialog-section", tabindex: "-1" });
  const buttons = new Map();
  const nav = element("nav", { class: "tabs", "aria-label": title });
  const body = element("div", { class: "dialog-body sectioned" }, nav, place);
  const dialog = openDialog(ctx, { title, kind: "dialog-wide" }, body);
  let shown = new AbortController();
  const closed = new AbortController();
  const listed = list();
  if (slot) {
    registryOf(ctx).on(slot, list, closed.signal);
    ctx.model.on("rights", list, closed.signal);
  }
  dialog.node.addEventListener("close", (event) => {
    if (event.target !== dialog.node) return;
    shown.abort();
    closed.abort();
  });
  const opened = listed.find((one) => one.id === first) ?? listed[0];
  show(opened);
  buttons.get(opened.id).focus();

  /** List the sections that there are now. None that is listed moves: one of them may have the focus. */
  function list() {
    const all = sections();
    all.forEach((one, at) => {
      if (buttons.has(one.id)) return;
      buttons.set(one.id, button(one, () => dialog.mayLeave() && show(one)));
      nav.insertBefore(buttons.get(one.id), nav.children[at] ?? null);
    });
    return all;
  }

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
  return added(ctx, slot).flatMap((tool) => {
    const look = tool.look(null);
    const make = (_, dialog) => tool.make(dialog);
    return look ? [{ id: `extension-${tool.capability}-${look.label}`, label: look.label, icon: tool.icon, make }] : [];
  });
}

function button({ id, label, icon: name }, show) {
  return element("button", { type: "button", dataset: { section: id }, on: { click: show } }, icon(name), label);
}
