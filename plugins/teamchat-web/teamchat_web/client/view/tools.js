// Tools: what can be done with a message, as a small bar on the one that is pointed at or has the focus,
// and as keys. One bar serves a whole timeline, so that ten thousand messages don't carry ten thousand
// of them.
import { element, icon, replace } from "../lib/dom.js";
import "../lib/more_strings.js";
import { part } from "../lib/parts.js";
import { t } from "../lib/strings.js";
import { pickReaction, recentReactions, toggle } from "./reactions.js";
import { needsSheets } from "./sheet.js";
import { keyOf } from "./chunks.js";

needsSheets("tools");

const QUICK = 3;
const DELETE_KEYS = ["Delete", "Backspace"];

/**
 * What this person may do with a message, in the order shown.
 * @param {object} ctx
 * @param {object} item
 * @param {{isThread: boolean, edit: (item) => void}} view
 * @returns {{name: string, keys: string[], run: (anchor: HTMLElement) => void}[]}
 */
export function actionsFor(ctx, item, { isThread, edit }) {
  if (item.state) return [];
  const { me } = ctx.model;
  const isMine = item.author.id === me.id;
  const inChannel = item.place.kind === "channel";
  return [
    { name: "react", icon: "smile", keys: ["r"], run: (anchor) => pickReaction(ctx, item, anchor) },
    inChannel &&
      !isThread && {
        name: "thread",
        icon: "thread",
        keys: ["t"],
        run: () => ctx.router.go(item.place, item.id),
      },
    isMine && { name: "edit", icon: "edit", keys: ["e"], run: () => edit(item) },
    (isMine || (inChannel && me.isAdmin)) && {
      name: "delete",
      icon: "trash",
      keys: DELETE_KEYS,
      run: () => remove(ctx, item),
    },
  ].filter(Boolean);
}

/** Shows the bar on the message under the pointer or with the focus. */
export class Tools {
  #ctx;
  #view;
  #bar = element("div", { class: "tools", role: "toolbar", "aria-label": t("message.actions") });
  #on = null;

  /**
   * @param {object} ctx
   * @param {HTMLElement} list
   * @param {{isThread: boolean, edit: (item) => void, leave: () => void, isWalking: () => boolean,
   *   timeline: object, chunks: object}} view
   */
  constructor(ctx, list, view) {
    this.#ctx = ctx;
    this.#view = view;
    const over = ({ target, pointerType }) => pointerType !== "touch" && this.show(target);
    list.addEventListener("pointerover", over);
    list.addEventListener("focusin", ({ target }) => this.show(target));
    list.addEventListener("pointerleave", ({ pointerType }) => pointerType !== "touch" && this.#hide());
  }

  /** Shows the bar on the message that holds `target`. */
  show(target) {
    const article = target.closest?.("article");
    if (!article || (article === this.#on && this.#bar.isConnected)) return;
    this.#hide();
    const item = this.#view.chunks.itemOf(article);
    if (!item || item.state || article.querySelector(".composer")) return;
    this.#on = article;
    const quick = recentReactions(this.#ctx)
      .slice(0, QUICK)
      .map((reaction) => this.#quick(item, reaction));
    const rest = actionsFor(this.#ctx, item, this.#view).map((action) => this.#button(action, article));
    replace(this.#bar, quick, rest);
    article.append(this.#bar);
  }

  #hide() {
    if (this.#bar.contains(document.activeElement)) return;
    this.#bar.remove();
    this.#on = null;
  }

  #quick(item, reaction) {
    return element(
      "button",
      {
        type: "button",
        class: "icon-button quick",
        tabindex: "-1",
        "aria-label": t("reactions.add_one", { reaction }),
        on: { click: () => toggle(this.#ctx, item, reaction) },
      },
      reaction,
    );
  }

  #button({ name, icon: sign, keys, run }, article) {
    const label = t(`message.${name}`);
    return element(
      "button",
      {
        type: "button",
        class: "icon-button",
        "aria-label": label,
        "aria-keyshortcuts": keys[0],
        title: `${label} (${keys[0].toUpperCase()})`,
        on: { click: ({ currentTarget }) => (article.focus({ preventScroll: true }), run(currentTarget)) },
      },
      icon(sign),
    );
  }

  /**
   * A key on a message: Escape leaves, arrows, Home and End lead to others, letters act on this one for who
   * walks through messages by keys.
   */
  key(event) {
    const { timeline, chunks, leave } = this.#view;
    const { items } = timeline;
    // A key that waited for the tools may find that one before it has led elsewhere.
    const article = document.activeElement.closest("article") ?? event.target.closest("article");
    if (event.key === "Escape") return leave();
    if (this.#view.isWalking() && this.#act(event, article)) return event.preventDefault();
    const by = { ArrowUp: -1, ArrowDown: 1, Home: -items.length, End: items.length }[event.key];
    if (!by) return undefined;
    event.preventDefault();
    const from = items.indexOf(chunks.itemOf(article));
    const to = Math.max(0, Math.min(items.length - 1, from + by));
    if (to === from && event.key === "ArrowDown") return leave();
    return chunks.entry(keyOf(items[to])).lastChild.focus();
  }

  #act({ key }, article) {
    const item = this.#view.chunks.itemOf(article);
    const action = item && actionsFor(this.#ctx, item, this.#view).find(({ keys }) => keys.includes(key));
    action?.run(article);
    return Boolean(action);
  }
}

async function remove(ctx, item) {
  const { confirm } = await part(import("./dialog.js"));
  const lead = item.threadMeta?.replyCount ? "message.delete_thread_lead" : "message.delete_lead";
  await confirm(ctx, {
    title: t("message.delete_title"),
    lead: t(lead),
    action: t("message.delete"),
    act: () => ctx.model.remove(item),
  });
}
