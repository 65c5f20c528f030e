// A screen without messages: there is no channel yet, what the address names is not there (any more), or it
// isn't known yet whether it is.
import { element, icon, replace } from "../lib/dom.js";
import "../lib/more_strings.js";
import { t } from "../lib/strings.js";
import { mayAddChannels, newChannel, palette } from "./sidebar.js";
import { leadTo } from "./permalink.js";
import { needsSheets } from "./sheet.js";

needsSheets("notices");

const SIGNS = { deleted: "trash", removed: "lock", private: "lock" };

/**
 * @param {object} ctx
 * @param {{asked: ?object, title: ?string, state: "none" | "waiting", first: ?object, ready: Promise}} about the place that
 *   was asked for, its title if it was shown until now, the first place there is, and when all of the page has begun
 * @returns {{element: HTMLElement, focus: () => void}}
 */
export function vacant(ctx, { asked, title, state, first, ready }) {
  const parts = state === "waiting" ? waiting() : first ? missing(ctx, asked, title, first) : empty(ctx);
  const made = element("section", { class: "empty", tabindex: "-1" }, parts);
  if (state === "none" && asked?.kind === "message") {
    replace(made, waiting());
    ready.then(() => leadTo(ctx, asked.id, () => replace(made, parts)));
  }
  return { element: made, focus: () => made.focus() };
}

function waiting() {
  const spinner = element("span", { class: "spinner" });
  return element("p", { class: "cluster", role: "status" }, spinner, t("vacant.waiting"));
}

function missing(ctx, asked, title, first) {
  const { model } = ctx;
  const reason = title !== null && asked?.kind === "channel" && model.directory.lost.get(asked.id);
  const draft = asked && model.drafts.get(asked);
  const name = model.place(first.id).label;
  const kind = asked?.kind ?? "address";
  return [
    icon(SIGNS[reason] ?? "search"),
    element("h1", {}, t(reason ? `vacant.${reason}` : "vacant.nowhere", { name: title })),
    element("p", {}, t(reason ? `vacant.${reason}_lead` : `vacant.nowhere_${kind}`)),
    draft && unsent(draft.text ?? draft),
    element(
      "p",
      { class: "cluster" },
      element(
        "a",
        { class: "button button-primary", href: ctx.router.address(first) },
        t("vacant.go", { name }),
      ),
      element(
        "button",
        { type: "button", class: "button", on: { click: () => palette(ctx) } },
        t("sidebar.jump"),
      ),
    ),
  ];
}

/** What was being written here, so that it can be copied. */
export function unsent(draft) {
  return element(
    "figure",
    { class: "rich" },
    element("figcaption", { class: "small" }, t("vacant.draft")),
    element("blockquote", { dir: "auto" }, draft),
  );
}

function empty(ctx) {
  const mayAdd = mayAddChannels(ctx.model);
  const add = { type: "button", class: "button button-primary", on: { click: () => newChannel(ctx) } };
  return [
    icon("hash"),
    element("h1", {}, t("vacant.empty")),
    element("p", {}, t(mayAdd ? "vacant.empty_admin" : "vacant.empty_lead")),
    mayAdd && element("button", add, t("sidebar.add_channel")),
  ];
}
