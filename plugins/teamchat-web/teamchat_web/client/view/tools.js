// Tools: what can be done with a message, as a small bar on the one that is pointed at or has the focus,
// and as keys. One bar serves a whole timeline, so that ten thousand messages don't carry ten thousand
// of them.
import { element, icon, replace } from "../lib/dom.js";
import "../lib/more_strings.js";
import { part } from "../lib/parts.js";
import { t } from "../lib/strings.js";
import { added, registryOf } from "./extensions/registry.js";
import { isArchived, pickReaction, recentReactions, toggle } from "./reactions.js";
import { needsSheets } from "./sheet.js";
import { markUnread } from "./unread/marking.js";
import { keyOf } from "./chunks.js";

needsSheets("tools");

const QUICK = 3;
const BUTTON = 32; // pixels
const BESIDE = 112; // pixels of the bar's line that hold the face and the beginning of a name
const OFTEN = ["react", "thread", "edit", "delete"]; // Where it is narrow, the others are behind a button.
const DELETE_KEYS = ["Delete", "Backspace"];

/**
 * What this person may do with a message, in the order shown.
 * @param {object} ctx
 * @param {object} item
 * @param {{isThread: boolean, edit: (item) => void}} view
 * @returns {{label: string, icon: string, keys: string[], run: (anchor: HTMLElement) => void}[]}
 */
export function actionsFor(ctx, item, { isThread, edit }) {
  if (item.state) return [];
  const { me } = ctx.model;
  const isMine = item.author.id === me.id;
  const inChannel = item.place.kind === "channel";
  const isOpen = !isArchived(ctx, item);
  const all = [
    isOpen && { name: "react", icon: "smile", keys: ["r"], run: (anchor) => pickReaction(ctx, item, anchor) },
    inChannel &&
      !isThread &&
      (isOpen || item.threadMeta?.replyCount) && {
        name: "thread",
        icon: "thread",
        keys: ["t"],
        run: () => ctx.router.go(item.place, item.id),
      },
    isOpen && (isThread ? ctx.model.threadStates : ctx.model.readStates) && {
      name: "unread",
      icon: "unread",
      keys: ["u"],
      run: () => markUnread(ctx, item),
    },
    ctx.model.capabilities["message-context"] && {
      name: "link",
      icon: "link",
      keys: ["l"],
      run: () => copyLink(ctx, item),
    },
    item.content && { name: "copy", icon: "copy", keys: ["c"], run: () => copyText(ctx, item) },
    ...extensions(ctx, item),
    isMine && isOpen && { name: "edit", icon: "edit", keys: ["e"], run: () => edit(item) },
    (isMine || (inChannel && me.isAdmin)) && {
      name: "delete",
      icon: "trash",
      keys: DELETE_KEYS,
      run: () => remove(ctx, item),
    },
  ].filter(Boolean);
  const label = ({ name }) => t(`message.${name}`);
  return all.map((action) => ({ label: action.label ?? label(action), ...action }));
}

/** What capabilities have added. */
function extensions(ctx, item) {
  const found = added(ctx, "messageTools").map((tool) => [tool, tool.look(item)]);
  return found
    .filter(([tool, look]) => look && (!isArchived(ctx, item) || tool.inArchived(item)))
    .map(([tool, { label }]) => ({
      label,
      icon: tool.icon,
      keys: tool.keys,
      run: (anchor) => tool.run(ctx, item, anchor),
    }));
}

/** Shows the bar on the message under the pointer or with the focus. */
export class Tools {
  #ctx;
  #view;
  #bar = element("div", { class: "tools", role: "toolbar", "aria-label": t("message.actions") });
  #on = null;
  #wasArchived = false;

  /**
   * @param {object} ctx
   * @param {HTMLElement} list
   * @param {{isThread: boolean, edit: (item) => void, leave: () => void, isWalking: () => boolean,
   *   timeline: object, chunks: object}} view
   */
  constructor(ctx, list, view) {
    this.#ctx = ctx;
    this.#view = view;
    view.chunks.like = likeIn;
    const over = ({ target, pointerType }) => pointerType !== "touch" && this.show(target);
    list.addEventListener("pointerover", over);
    list.addEventListener("focusin", ({ target }) => this.show(target));
    registryOf(ctx).on("messageTools", () => this.#fill(), ctx.signal);
    ctx.model.on("channels", () => this.#follow(), ctx.signal);
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
    article.append(this.#bar);
    this.#fill();
  }

  /** The channel may have been archived, or opened again. */
  #follow() {
    const item = this.#bar.isConnected && this.#view.chunks.itemOf(this.#on);
    if (item && isArchived(this.#ctx, item) !== this.#wasArchived) this.#fill();
  }

  /** Puts into the bar what can be done with its message now. */
  #fill() {
    if (!this.#bar.isConnected) return;
    const article = this.#on;
    const item = this.#view.chunks.itemOf(article);
    const hadFocus = this.#bar.contains(document.activeElement);
    const all = actionsFor(this.#ctx, item, this.#view);
    // Where it is narrow, quick reactions give way to tools, and these to a menu, so that the author's name stays
    // in reach.
    const fitting = Math.floor((article.clientWidth - BESIDE) / BUTTON);
    const [shown, hidden] = fit(all, fitting);
    this.#wasArchived = isArchived(this.#ctx, item);
    const quick = (this.#wasArchived ? [] : recentReactions(this.#ctx))
      .slice(0, Math.max(0, Math.min(QUICK, fitting - all.length)))
      .map((reaction) => this.#quick(item, reaction));
    const more = { label: t("message.more_actions"), icon: "more", keys: [], run: (anchor) => openMore(anchor, hidden) };
    const tools = hidden.length ? [...shown, more] : shown;
    replace(this.#bar, quick, tools.map((action) => this.#button(action, article)));
    this.#bar.hidden = !this.#bar.firstChild;
    if (hadFocus) article.focus({ preventScroll: true });
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

  #button({ label, icon: sign, keys: [key], run }, article) {
    return element(
      "button",
      {
        type: "button",
        class: "icon-button",
        "aria-label": label,
        "aria-keyshortcuts": key,
        title: key ? `${label} (${key.toUpperCase()})` : label,
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

/** What has a button where `count` of them fit, one for the rest among them; and the rest. */
function fit(all, count) {
  if (all.length <= count) return [all, []];
  const seldom = all.filter(({ name }) => !OFTEN.includes(name));
  const hidden = seldom.slice(Math.max(0, count - 1 - (all.length - seldom.length)));
  return [all.filter((action) => !hidden.includes(action)), hidden];
}

async function openMore(button, actions) {
  const { openMenu } = await part(import("./popup.js"));
  openMenu(button, actions.map(({ run, ...look }) => ({ ...look, run: () => run(button) })));
}

async function copyLink(ctx, { id }) {
  (await part(import("./permalink.js"))).copyLink(ctx, id);
}

/** The text as it was written, with its marks. */
async function copyText(ctx, { content }) {
  const { copyOrShow } = await part(import("./copyable.js"));
  copyOrShow(ctx, content, { title: t("message.copy_title"), done: t("message.copy_done") });
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

/** The control of an entry that says the same as one that was there before; else the message. */
function likeIn(node, { localName, textContent, ariaLabel }) {
  const isLike = (one) => one.textContent === textContent && one.ariaLabel === ariaLabel;
  return [...node.querySelectorAll(localName)].find(isLike) ?? node.lastChild;
}
