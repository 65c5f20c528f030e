// The activity of a user: what concerns them, newest first, of one kind or of all. A press leads to the message. What
// was unread as the list was opened stays marked until it is left; it counts as seen once it was looked at.

import { element, icon, replace } from "../../lib/dom.js";
import "../../lib/more_strings.js";
import { t } from "../../lib/strings.js";
import { activityOf } from "../../model/activity.js";
import { openMessage } from "../jump.js";
import { failure, words } from "../notices.js";
import { needsSheets } from "../sheet.js";
import { entry, said } from "./entry.js";

needsSheets("activity", "threads", "notices", "extensions");

const KINDS = [null, "mention", "reply", "reaction", "added"];

/**
 * @param {object} ctx its signal ends this view
 * @returns {{element: HTMLElement, icon: string, focus: () => void}} `icon` stands in the head
 */
export function list(ctx) {
  const view = new ActivityView(ctx);
  return { element: view.element, icon: "bell", focus: () => view.focus() };
}

class ActivityView {
  #ctx;
  #feed;
  #entries = new Map();
  #isLoading = false;
  #list = element("ul", { class: "activity", "aria-label": t("activity.title"), tabindex: "-1" });
  #foot = element("div", { class: "threads-foot" });
  #kinds;

  constructor(ctx) {
    this.#ctx = ctx;
    this.#feed = activityOf(ctx.model);
    const { model, signal } = ctx;
    const shown = [...KINDS, model.capabilities.saved && "reminder"].filter((kind) => kind !== undefined);
    this.#kinds = new Map(shown.map((kind) => [kind, this.#button(kind)]));
    const kinds = element(
      "div",
      { class: "activity-kinds", role: "group", "aria-label": t("activity.kinds") },
      [...this.#kinds.values()],
    );
    this.element = element(
      "div",
      { class: "threads-view", tabindex: "-1", role: "region", "aria-label": t("activity.title") },
      kinds,
      this.#list,
      this.#foot,
    );
    this.element.addEventListener("keydown", (event) => this.#key(event));
    this.#feed.on("changed", () => (this.#draw(), this.#look()), signal);
    this.#feed.on("came", ({ item }) => ctx.announce(said(ctx, item)), signal);
    const types = ["users", "channels", "conversations", "day"];
    for (const type of types) model.on(type, () => this.#drawAnew(), signal);
    addEventListener("focus", () => this.#look(), { signal });
    this.#feed.watch(signal);
  }

  focus() {
    (this.#list.querySelector("a") ?? this.element).focus({ preventScroll: true });
  }

  #button(kind) {
    const press = () => this.#feed.choose(kind);
    const look = { type: "button", class: "button button-small", on: { click: press } };
    return element("button", look, t(`activity.kind_${kind ?? "all"}`));
  }

  /** It is seen once somebody looks at it. */
  #look() {
    const isSeen = this.#feed.isLoaded && document.visibilityState === "visible" && document.hasFocus();
    if (isSeen) this.#feed.seen();
  }

  #drawAnew() {
    this.#entries.clear();
    this.#draw();
  }

  #draw() {
    const { items, kind, isLoaded, error, hasMore } = this.#feed;
    for (const [one, button] of this.#kinds) button.ariaPressed = String(one === kind);
    const before = this.#entries;
    this.#entries = new Map(items.map((item) => [item.id, this.#entry(item, before)]));
    const shown = [...this.#entries.values()].map(({ node }) => node);
    const { children } = this.#list;
    if (shown.length !== children.length || shown.some((node, at) => node !== children[at])) this.#put(shown);
    const isEmpty = isLoaded && !items.length;
    const again = () => this.#feed.refresh();
    replace(
      this.#foot,
      !isLoaded && !error && element("span", { class: "spinner", role: "status", "aria-label": t("activity.loading") }),
      !isLoaded && error && failure(again),
      hasMore && element("button", this.#moreLook(), t("threads.more")),
      isEmpty && none(kind),
    );
  }

  /** Put other entries there; the focus stays at the same one. */
  #put(shown) {
    const held = this.#list.contains(document.activeElement) && document.activeElement.dataset.item;
    replace(this.#list, shown);
    if (held) (this.#entries.get(held)?.node.querySelector("a") ?? this.#list).focus({ preventScroll: true });
  }

  /** The entry of an item: the same as before where nothing of it has changed. */
  #entry(item, before) {
    const isNew = this.#feed.isNew(item);
    const state = JSON.stringify([item, isNew]);
    const known = before.get(item.id);
    if (known?.state === state) return known;
    return { state, node: entry(this.#ctx, item, { isNew, open: () => this.#open(item) }) };
  }

  #open({ placeId, message }) {
    const { model, router } = this.#ctx;
    const { id, threadId } = message ?? {};
    if (id) return openMessage(this.#ctx, { id, channelId: placeId, threadId });
    return router.go(model.place(placeId));
  }

  #moreLook() {
    const more = async () => {
      const { length } = this.#list.children;
      if (this.#isLoading) return;
      this.#isLoading = true;
      try {
        await this.#feed.more();
        this.#list.children[length]?.querySelector("a").focus();
      } catch (error) {
        this.#ctx.toast(words(error), { kind: "danger" });
      } finally {
        this.#isLoading = false;
      }
    };
    return { type: "button", class: "button", on: { click: more } };
  }

  #key(event) {
    const links = [...this.#list.querySelectorAll("a")];
    const at = links.indexOf(document.activeElement);
    const next = { ArrowUp: at - 1, ArrowDown: at + 1, Home: 0, End: links.length - 1 }[event.key];
    if (next === undefined || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    links[Math.max(0, next)]?.focus();
  }
}

function none(kind) {
  return element(
    "div",
    { class: "empty" },
    icon("bell"),
    element("h2", {}, t(kind ? "activity.none_of_kind" : "activity.none")),
    element("p", {}, t("activity.none_lead")),
  );
}
