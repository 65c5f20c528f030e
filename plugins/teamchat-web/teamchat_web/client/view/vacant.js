// A screen without messages: there is no channel yet, what the address names is not there (any more), or it
// isn't known yet whether it is.
import { element, icon } from "../lib/dom.js";
import "../lib/more_strings.js";
import { t } from "../lib/strings.js";
import { admin, palette } from "./sidebar.js";

/**
 * @param {object} ctx
 * @param {{asked: ?object, title: ?string, state: "none" | "waiting", first: ?object}} about the place that
 *   was asked for, its title if it was shown until now, and the first place there is
 * @returns {{element: HTMLElement, focus: () => void}}
 */
export function vacant(ctx, { asked, title, state, first }) {
  const parts = state === "waiting" ? waiting() : first ? missing(ctx, asked, title, first) : empty(ctx);
  const made = element("section", { class: "empty", tabindex: "-1" }, parts);
  return { element: made, focus: () => made.focus() };
}

function waiting() {
  const spinner = element("span", { class: "spinner" });
  return element("p", { class: "cluster", role: "status" }, spinner, t("vacant.waiting"));
}

function missing(ctx, asked, title, first) {
  const deleted = title !== null && asked?.kind === "channel";
  const draft = asked && ctx.model.drafts.get(asked);
  const name = `#${ctx.model.place(first.id).title}`;
  return [
    icon(deleted ? "trash" : "search"),
    element("h1", {}, deleted ? t("vacant.deleted", { name: title }) : t("vacant.nowhere")),
    element("p", {}, t(deleted ? "vacant.deleted_lead" : `vacant.nowhere_${asked?.kind ?? "address"}`)),
    draft && unsent(draft),
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
  const { isAdmin } = ctx.model.me;
  const add = { type: "button", class: "button button-primary", on: { click: () => admin(ctx, "channels") } };
  return [
    icon("hash"),
    element("h1", {}, t("vacant.empty")),
    element("p", {}, t(isAdmin ? "vacant.empty_admin" : "vacant.empty_lead")),
    isAdmin && element("button", add, t("sidebar.add_channel")),
  ];
}
