// The list of the threads the user takes part in: what is unread first, each with the message it hangs from
// and the last reply. A press opens it beside the list. What is read stays where it stands, so that nothing
// moves under a finger; a new reply brings its thread to the top.
import { element, icon, replace } from "../lib/dom.js";
import "../lib/more_strings.js";
import { t } from "../lib/strings.js";
import { line } from "./line.js";
import { words } from "./notices.js";
import { needsSheets } from "./sheet.js";

needsSheets("threads", "notices");

const PAGE = 20;
const FOUND = "threads-found";

/**
 * @param {object} ctx its signal ends this view
 * @returns {{element: HTMLElement, icon: string, action: HTMLElement, focus: () => void}} `icon` and `action`
 *   stand in the head
 */
export function list(ctx) {
  const view = new ThreadsView(ctx);
  return { element: view.element, icon: "thread", action: view.action, focus: () => view.focus() };
}

class ThreadsView {
  #ctx;
  #cards = new Map();
  #order = [];
  #shown = PAGE;
  #isLooking = false;
  /** The thread that was open last, to come back to. */
  #left = null;
  #list = element("ul", { class: "threads", "aria-label": t("threads.title") });
  #foot = element("div", { class: "threads-foot" });

  constructor(ctx) {
    this.#ctx = ctx;
    const { model, router, signal } = ctx;
    this.element = element(
      "div",
      { class: "threads-view", tabindex: "-1", role: "region", "aria-label": t("threads.title") },
      this.#list,
      this.#foot,
    );
    this.action = element(
      "button",
      {
        type: "button",
        class: "button button-quiet button-small",
        "aria-label": t("threads.read_all"),
        title: t("threads.read_all"),
        on: { click: () => this.#readAll() },
      },
      icon("check"),
      element("span", { class: "wide" }, t("threads.read_all")),
    );
    this.element.addEventListener("keydown", (event) => this.#key(event));
    model.threads.on("changed", () => this.#draw(), signal);
    model.unread.on("changed", () => this.#count(), signal);
    model.on("channels", () => this.#draw(), signal);
    router.on("changed", () => this.#mark(), signal);
    this.#draw();
    this.#look();
  }

  focus() {
    const last = this.#cards.get(this.#left)?.link;
    (last?.isConnected ? last : this.element).focus();
  }

  /** The server lists them; without that, those from before this browser knew of any are found once. */
  async #look() {
    const { model, kept, signal } = this.#ctx;
    if (model.threadStates) return;
    if (kept.get(FOUND)) return;
    this.#isLooking = true;
    this.#drawFoot();
    const { findThreads } = await import("../model/catch_up.js");
    await findThreads(model, signal);
    if (signal.aborted) return;
    if (model.connection === "online") kept.set(FOUND, true);
    this.#isLooking = false;
    this.#draw();
  }

  async #loadMore() {
    const { model, signal } = this.#ctx;
    this.#isLooking = true;
    this.#drawFoot();
    try {
      await model.threadStates.load();
    } catch (error) {
      this.#ctx.toast(words(error), { kind: "danger" });
    }
    if (signal.aborted) return;
    this.#isLooking = false;
    this.#draw();
  }

  #draw() {
    const { model } = this.#ctx;
    const all = new Map(model.threads.sorted().map((thread) => [thread.id, thread]));
    this.#order = this.#order.filter(({ id, lastReplyAt }) => all.get(id)?.lastReplyAt === lastReplyAt);
    const stays = new Set(this.#order.map(({ id }) => id));
    const fresh = [...all.values()].filter(({ id }) => !stays.has(id));
    const isOlder = ({ lastReplyAt }) => lastReplyAt < this.#order.at(-1)?.lastReplyAt; // of a further page
    this.#order = [...fresh.filter((one) => !isOlder(one)), ...this.#order, ...fresh.filter(isOlder)];
    for (const [id, card] of this.#cards) {
      if (all.has(id)) continue;
      card.end();
      this.#cards.delete(id);
    }
    const shown = this.#order.slice(0, this.#shown).map((thread) => this.#card(thread).element);
    const held = this.#list.contains(document.activeElement) && document.activeElement;
    const { children } = this.#list;
    if (shown.length !== children.length || shown.some((card, at) => card !== children[at])) {
      replace(this.#list, shown);
      if (held) (held.isConnected ? held : this.element).focus({ preventScroll: true });
    }
    this.#mark();
    this.#count();
    this.#drawFoot();
  }

  #card(thread) {
    if (!this.#cards.has(thread.id)) this.#cards.set(thread.id, new Card(this.#ctx, thread));
    return this.#cards.get(thread.id);
  }

  /** Marks the one that is open. */
  #mark() {
    const { thread } = this.#ctx.router.current;
    if (thread) this.#left = thread.id;
    for (const [id, { link }] of this.#cards) link.ariaCurrent = id === thread?.id ? "true" : null;
  }

  #count() {
    for (const card of this.#cards.values()) card.count();
    this.action.hidden = !this.#ctx.model.threads.unreadCount();
  }

  #readAll() {
    const { threads: all, unread } = this.#ctx.model;
    for (const { id } of all.sorted()) {
      unread.markRead(id);
      unread.emit("left", { id }); // It is told at once.
    }
    this.focus();
  }

  #drawFoot() {
    const { threadStates } = this.#ctx.model;
    const more = async () => {
      const { length } = this.#list.children;
      this.#shown += PAGE;
      if (this.#order.length < this.#shown && threadStates?.hasMore) await this.#loadMore();
      this.#draw();
      (this.#list.children[length]?.querySelector("a") ?? this.element).focus();
    };
    const button = { type: "button", class: "button", on: { click: more } };
    replace(
      this.#foot,
      (this.#order.length > this.#shown || threadStates?.hasMore) &&
        !this.#isLooking &&
        element("button", button, t("threads.more")),
      this.#isLooking && looking(),
      !this.#isLooking && !this.#order.length && none(),
    );
  }

  #key(event) {
    const step = { ArrowUp: -1, ArrowDown: 1 }[event.key];
    if (!step || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    const links = [...this.#list.querySelectorAll("a")];
    links[links.indexOf(document.activeElement) + step]?.focus();
  }
}

/** One thread of the list. Its messages are asked for when it comes near the screen. */
class Card {
  #ctx;
  #timeline;
  #about;
  #isNear = false;
  #control = new AbortController();
  #body = element("div", { class: "thread-card-body" });
  #badge = element("span", {});

  constructor(ctx, { id, placeId }) {
    const signal = AbortSignal.any([ctx.signal, this.#control.signal]);
    this.#ctx = { ...ctx, signal };
    this.#about = { id, place: { kind: "channel", id: placeId } };
    const name = ctx.model.place(placeId)?.title ?? "";
    this.link = element(
      "a",
      { class: "thread-card", href: ctx.router.threadsAddress(this.#about) },
      element(
        "span",
        { class: "thread-card-head" },
        icon("hash"),
        element("span", { class: "name", dir: "auto" }, name),
        this.#badge,
      ),
      this.#body,
    );
    this.element = element("li", {}, this.link);
    replace(this.#body, element("span", { class: "spinner" }));
    this.count();
    const seen = (entries) => entries.some(({ isIntersecting }) => isIntersecting) && this.#near();
    const watch = new IntersectionObserver(seen, { rootMargin: "400px" });
    watch.observe(this.element);
    signal.addEventListener("abort", () => watch.disconnect());
  }

  end() {
    this.#control.abort();
  }

  count() {
    const count = this.#ctx.model.unread.count(this.#about.id);
    this.link.classList.toggle("unread", count > 0);
    const words = t("message.new_replies", { count });
    replace(this.#badge, count > 0 && element("span", { class: "badge badge-mention" }, words));
  }

  #near() {
    if (this.#isNear) return;
    this.#isNear = true;
    const { model, signal } = this.#ctx;
    this.#timeline = model.thread(this.#about.id, this.#about.place);
    for (const type of ["reset", "added", "changed", "removed", "parent", "state"]) {
      this.#timeline.on(type, () => this.#draw(), signal);
    }
    for (const type of ["users", "day"]) model.on(type, () => this.#draw(), signal);
    this.#timeline.load();
    this.#draw();
  }

  #draw() {
    const { parent, error, isLoaded, isGone } = this.#timeline;
    if (isGone) return this.#ctx.model.threads.forget(this.#about.id);
    if (error) return replace(this.#body, t("timeline.error"));
    if (!parent || !isLoaded) return undefined;
    const replies = this.#timeline.items.filter((item) => !item.state);
    const last = replies.at(-1);
    const reply = last && this.#replies(parent, replies.length, last);
    return replace(this.#body, line(this.#ctx, parent, "parent-line"), reply);
  }

  #replies(parent, loaded, last) {
    const count = Math.max(loaded, parent.threadMeta?.replyCount ?? 0);
    return element(
      "span",
      { class: "last-reply" },
      element("span", { class: "small soft" }, t("message.replies", { count })),
      line(this.#ctx, last, "reply-line"),
    );
  }
}

function looking() {
  const spinner = element("span", { class: "spinner" });
  return element("p", { class: "cluster soft", role: "status" }, spinner, t("threads.looking"));
}

function none() {
  return element(
    "div",
    { class: "empty" },
    icon("thread"),
    element("h2", {}, t("threads.none")),
    element("p", {}, t("threads.none_lead")),
  );
}
