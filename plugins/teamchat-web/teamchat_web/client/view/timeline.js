// A timeline on the screen: messages by day and author, history that grows upward under what is read, a
// line above what is new, and a way back to the newest.
// What must stay true: what is read never jumps, new messages pull along only who is at the end, and a
// place is read only when its end is in view in a window that has the focus.
import { element, icon, replace } from "../lib/dom.js";
import { perFrame } from "../lib/frames.js";
import { day, t } from "../lib/strings.js";
import { Anchor } from "./anchor.js";
import { Chunks, keyOf } from "./chunks.js";
import { composer } from "./composer.js";
import { messageView } from "./message.js";
import { failure } from "./notices.js";
import { reach, watchWalk } from "./walk.js";

const NEAR = 1500;
const TOGETHER_MS = 300_000;
const FAR_SCREENS = 1.5;
const FINE = matchMedia("(pointer: fine)");
const SHORTCUTS = ["r", "t", "e", "Delete", "Backspace"]; // What they do: tools.js.

export class TimelineView {
  #ctx;
  #timeline;
  #look;
  #chunks = new Chunks((item, previous) => this.#entry(item, previous));
  #top = element("div", {});
  #pill;
  #anchor;
  #scroller;
  #stale = new Set();
  #later;
  #isPlaced = false;
  #isKept = true;
  #missed = 0;
  #marker = null;
  #current = null;
  #headOf = null;
  #equipped = null;
  #tools = null;
  #isWalking;

  /** The timeline as an element. */
  element;

  /**
   * @param {object} ctx its signal ends this view
   * @param {object} timeline of the model
   * @param {{label: string, beginning: () => Node, isThread?: boolean, leave?: () => void}} look
   *   `beginning` makes what stands above the first message, `leave` is called for Escape
   */
  constructor(ctx, timeline, look) {
    this.#ctx = ctx;
    this.#timeline = timeline;
    this.#look = look;
    this.#pill = element("button", {
      type: "button",
      class: "button pill",
      hidden: true,
      on: { click: () => this.toEnd() },
    });
    this.#scroller = element(
      "div",
      { class: "timeline", role: "log", "aria-live": "off", "aria-label": look.label },
      element("div", { class: "history" }, this.#top, this.#chunks.list),
    );
    this.element = element("div", { class: "feed" }, this.#scroller, this.#pill);
    this.#later = perFrame(() => this.#update(), ctx.signal);
    this.#anchor = new Anchor(this.#scroller, this.#chunks.list, ctx.signal);
    this.#mark();
    this.#listen();
    this.#update();
    timeline.load();
  }

  /** Goes to the newest message. */
  toEnd() {
    this.#anchor.toEnd();
    this.#scrolled();
  }

  /** Opens one's own last message for editing, if there is one here. */
  editLast() {
    const mine = (item) => !item.state && item.author.id === this.#ctx.model.me.id;
    const last = this.#timeline.items.findLast(mine);
    if (last) this.edit(last);
  }

  /** Turns a message into a field with its text. */
  edit(item) {
    const article = this.#chunks.entry(keyOf(item))?.lastChild;
    if (!article || this.#chunks.locked) return;
    this.#chunks.locked = keyOf(item);
    const done = () => {
      const hadFocus = field.element.contains(document.activeElement);
      this.#chunks.locked = null;
      this.#stale.add(keyOf(item));
      this.#update();
      if (hadFocus) this.#afterEdit(item);
    };
    const field = composer(this.#ctx, { place: item.place, item, done });
    this.#anchor.hold(() => {
      article.querySelector(".tools")?.remove();
      article.querySelector(".message-body").replaceWith(field.element);
    });
    field.focus();
    field.element.scrollIntoView({ block: "nearest" });
  }

  /** People write on where they write; on phones that would open the keyboard. */
  #afterEdit(item) {
    if (FINE.matches && this.#look.leave) this.#look.leave();
    else this.#chunks.entry(keyOf(item))?.lastChild.focus({ preventScroll: true });
  }

  #listen() {
    const { model, signal } = this.#ctx;
    const timeline = this.#timeline;
    for (const type of ["reset", "older", "removed", "state"]) timeline.on(type, () => this.#later(), signal);
    timeline.on("parent", () => this.#parented(), signal);
    timeline.on("changed", ({ item }) => this.#changed(item), signal);
    timeline.on("added", ({ item }) => this.#added(item), signal);
    model.on("users", () => this.#rename(), signal);
    model.unread.on("changed", ({ placeId }) => this.#counted(placeId), signal);
    this.#scroller.addEventListener("scroll", () => this.#scrolled(), { passive: true });
    this.#chunks.list.addEventListener("focusin", ({ target }) => this.#rove(target.closest("article")));
    for (const type of ["pointerover", "focusin"]) {
      this.#chunks.list.addEventListener(type, ({ target }) => this.#equip(target));
    }
    this.#isWalking = watchWalk(this.#chunks.list, signal);
    this.#chunks.list.addEventListener("keydown", (event) => this.#key(event));
    window.addEventListener("focus", () => this.#scrolled(), { signal });
    document.addEventListener("visibilitychange", () => this.#scrolled(), { signal });
  }

  /** The tools of messages are loaded with the first pointer or focus that comes to one. */
  #equip(target) {
    this.#equipped ??= import("./tools.js").then(({ Tools }) => {
      this.#tools = new Tools(this.#ctx, this.#chunks.list, {
        isThread: this.#look.isThread,
        edit: (item) => this.edit(item),
        itemOf: (article) => this.#chunks.itemOf(article),
      });
      this.#tools.show(target);
    });
    return this.#equipped;
  }

  /** The first reply tells its day only if it is another than the parent's. */
  #parented() {
    this.#headOf = null;
    const [first] = this.#timeline.items;
    if (first) this.#stale.add(keyOf(first));
    this.#later();
  }

  #changed(item) {
    if (item === this.#timeline.parent) this.#headOf = null;
    this.#stale.add(keyOf(item));
    this.#later();
  }

  #added(item) {
    if (item.author.id !== this.#ctx.model.me.id) {
      if (!this.#anchor.isAtEnd) this.#missed++;
    } else if (item.state) {
      this.#anchor.isAtEnd = true;
      this.#isKept = false;
    }
    this.#later();
  }

  #update() {
    const { items } = this.#timeline;
    const goesToEnd = this.#anchor.isAtEnd;
    this.#anchor.hold(() => {
      this.#chunks.sync(items, this.#stale);
      this.#drawHead();
      if (goesToEnd) this.#anchor.isAtEnd = true;
    });
    this.#stale.clear();
    if (!this.#isPlaced && items.length) this.#begin();
    const { list } = this.#chunks;
    if (!list.contains(document.activeElement)) this.#rove(list.lastChild?.lastChild?.lastChild);
    this.#scrolled();
  }

  /** The first view of a place: the line above what is new, or the end. */
  #begin() {
    this.#isPlaced = true;
    this.#anchor.toEnd();
    const marked = this.#scroller.querySelector(".new-line");
    if (marked) this.#anchor.show(marked.parentNode);
    else if (this.#marker && this.#timeline.hasOlder) this.#offerFirst(this.#marker);
  }

  /** What is new begins further up than what was loaded. */
  async #offerFirst(id) {
    const { offerFirst } = await import("./first_unread.js");
    if (this.#ctx.signal.aborted) return;
    const show = () => {
      const entry = this.#chunks.entry(id);
      if (entry) this.#anchor.show(entry);
    };
    this.element.append(offerFirst(this.#timeline, id, show));
  }

  /** What stands above the messages; made anew only when it says something else. */
  #drawHead() {
    const { error, hasOlder, isLoading, isLoaded, items } = this.#timeline;
    const isBusy = isLoading || !isLoaded || hasOlder;
    const says = `${Boolean(error)} ${isBusy} ${this.#look.isThread && items.length}`;
    if (says === this.#headOf) return;
    this.#headOf = says;
    const again = () => (items.length ? this.#timeline.loadOlder() : this.#timeline.load());
    replace(
      this.#top,
      (!(error || isBusy) || this.#look.isThread) && this.#look.beginning(),
      error ? failure(again) : isBusy && element("div", { class: "loading" }, element("div", { class: "spinner" })),
    );
  }

  #entry(item, previous) {
    const isNew = Boolean(item.id) && item.id === this.#marker;
    const since = previous ?? (this.#look.isThread && this.#timeline.parent);
    const isNewDay = !since || day(since.createdAt) !== day(item.createdAt);
    const isGrouped =
      Boolean(previous) &&
      !isNew &&
      !isNewDay &&
      previous.author.id === item.author.id &&
      item.createdAt - previous.createdAt < TOGETHER_MS;
    const parts = [messageView(this.#ctx, item, { isGrouped, isThread: this.#look.isThread })];
    reach(parts[0], -1);
    if (isNew) parts.unshift(element("div", { class: "new-line" }, t("timeline.new")));
    const heading = this.#look.isThread ? "h3" : "h2"; // Below the thread's title, or the place's.
    if (isNewDay) parts.unshift(element(heading, { class: "day" }, day(item.createdAt)));
    return parts;
  }

  /** What is unread has changed: here, or in a thread that hangs from a message here. */
  #counted(placeId) {
    this.#mark();
    if (!this.#chunks.entry(placeId)) return;
    this.#stale.add(placeId);
    this.#later();
  }

  /** Sets the line above what is new where the person left off; it stays until they write. */
  #mark() {
    if (this.#look.isThread) return;
    const first = this.#ctx.model.unread.firstUnread(this.#timeline.place.id);
    const isSeen = this.#isPlaced && this.#anchor.isAtEnd && this.#isWatched();
    if (!first || isSeen || (this.#marker && this.#isKept)) return;
    this.#isKept = true;
    if (this.#marker) this.#stale.add(this.#marker);
    this.#marker = first;
    this.#stale.add(first);
    this.#later();
  }

  #scrolled() {
    const { scrollTop, scrollHeight, clientHeight } = this.#scroller;
    const { hasOlder, isLoading, error, place, parentId } = this.#timeline;
    if (this.#isPlaced && hasOlder && !isLoading && !error && scrollTop < NEAR) this.#timeline.loadOlder();
    if (this.#anchor.isAtEnd) this.#missed = 0;
    if (this.#isPlaced && this.#anchor.isAtEnd && this.#isWatched()) {
      this.#ctx.model.unread.markRead(parentId ?? place.id);
    }
    const isFar = scrollHeight - scrollTop - clientHeight > FAR_SCREENS * clientHeight;
    this.#pill.hidden = !this.#missed && !isFar;
    const words = this.#missed ? t("timeline.missed", { count: this.#missed }) : t("timeline.newest");
    if (this.#pill.textContent !== words) replace(this.#pill, icon("down"), words);
    this.#pill.classList.toggle("button-primary", this.#missed > 0);
  }

  #isWatched() {
    return document.visibilityState === "visible" && document.hasFocus();
  }

  #rename() {
    for (const name of this.#chunks.list.querySelectorAll("[data-author]")) {
      const user = this.#ctx.model.users.get(name.dataset.author);
      if (user && user.userName !== name.textContent) name.textContent = user.userName;
    }
  }

  #rove(article) {
    if (!article || article === this.#current) return;
    if (this.#current) reach(this.#current, -1);
    this.#current = article;
    reach(article, 0);
  }

  #key(event) {
    const article = event.target.closest("article");
    if (event.target.matches("textarea") || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape") return this.#look.leave?.();
    if (this.#isWalking() && SHORTCUTS.includes(event.key)) return this.#act(event, article);
    const all = this.#chunks.list.getElementsByTagName("article");
    const at = { ArrowUp: -1, ArrowDown: 1, Home: -all.length, End: all.length }[event.key];
    if (!at) return;
    event.preventDefault();
    const from = Array.prototype.indexOf.call(all, article);
    const next = all[Math.max(0, Math.min(all.length - 1, from + at))];
    if (next === article && event.key === "ArrowDown") return this.#look.leave?.();
    next.focus();
  }

  /** A key that does something with the message; the tools may still be on their way. */
  async #act(event, article) {
    if (this.#tools && !this.#tools.actionOf(article, event.key)) return;
    event.preventDefault();
    await this.#equip(article);
    this.#tools.actionOf(article, event.key)?.();
  }
}
