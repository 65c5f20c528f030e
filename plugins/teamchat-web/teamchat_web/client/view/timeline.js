// A timeline on the screen: messages by day and author, history that grows upward under what is read, a
// line above what is new, and a way back to the newest.
// What is read never jumps, new messages pull along only who is at the end, and a
// place is read only when its end is in view in a window that has the focus.
import { element, icon, replace } from "../lib/dom.js";
import { perFrame } from "../lib/frames.js";
import { part } from "../lib/parts.js";
import { day, t } from "../lib/strings.js";
import { Anchor } from "./anchor.js";
import { Chunks, keyOf, lastOf } from "./chunks.js";
import { messageView, rename } from "./message.js";
import { NewLine } from "./new_line.js";
import { failure } from "./notices.js";
import { reach, watchWalk } from "./walk.js";

const NEAR = 1500;
const TOGETHER_MS = 300_000;
const FAR_SCREENS = 1.5;
const MUCH = 4; // sections
const KEYS = /^(Arrow(Up|Down)|Home|End|Escape|[a-z]|Delete|Backspace)$/;

export class TimelineView {
  #ctx;
  #timeline;
  #look;
  #chunks = new Chunks((...given) => this.#entry(...given));
  #top = element("div", {});
  #pill;
  #anchor;
  #scroller;
  #stale = new Map();
  #later;
  #isPlaced = false;
  #missed = 0;
  #line;
  #current = null;
  #headOf = null;
  #equipped = null;
  #isWalking;
  #isUnfinished;
  #tools = null;
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
    this.#line = new NewLine(ctx.model, timeline);
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
    this.#isUnfinished = Boolean(ctx.model.drafts.get(timeline.place, timeline.parentId, true));
    this.#isWalking = watchWalk(this.#chunks.list, ctx.signal);
    this.#later = perFrame(() => this.#update(), ctx.signal);
    this.#anchor = new Anchor(this.#scroller, this.#chunks.list, ctx.signal);
    this.#listen();
    this.#update();
    timeline.load();
    ctx.signal.addEventListener("abort", () => (timeline.trim(), ctx.model.unread.emit("left", { id: this.#line.list })));
  }

  /** Goes to the newest message. */
  toEnd() {
    this.#anchor.isLoose = false;
    this.#timeline.toEnd();
    this.#anchor.toEnd();
    this.#scrolled();
  }

  /** Brings a message into view and returns its element, if it is here. */
  reveal(id) {
    const entry = this.#chunks.entry(id);
    if (entry) this.#anchor.show(entry);
    return entry?.lastChild;
  }

  /** Opens one's own last message for editing, if there is one here. */
  async editLast() {
    (await import("./editing.js")).editLast(this.#ctx, this.#timeline, this.#forEditing());
  }

  /** Turns a message into a field with its text. */
  async edit(item) {
    (await import("./editing.js")).edit(this.#ctx, item, this.#forEditing());
  }

  /** An edit that was not finished is there again with its message. */
  async #takeUp() {
    if (!this.#isUnfinished || !this.#timeline.isLoaded) return;
    this.#isUnfinished = false;
    const { takeUp } = await import("./editing.js");
    if (this.#ctx.signal.aborted) return;
    this.#isUnfinished = !takeUp(this.#ctx, this.#timeline, this.#forEditing());
  }

  #forEditing() {
    const redraw = (item) => (this.#changed(item), this.#update());
    return { chunks: this.#chunks, anchor: this.#anchor, redraw, leave: this.#look.leave };
  }

  #listen() {
    const { model, signal } = this.#ctx;
    const timeline = this.#timeline;
    for (const type of ["reset", "removed", "state"]) timeline.on(type, () => this.#later(), signal);
    timeline.on("parent", () => this.#parented(), signal);
    timeline.on("changed", ({ item }) => this.#changed(item), signal);
    timeline.on("added", ({ item }) => this.#added(item), signal);
    model.on("users", () => rename(this.#chunks.list, model.users), signal);
    model.unread.on("changed", ({ placeId }) => this.#counted(placeId), signal);
    this.#scroller.addEventListener("scroll", () => this.#scrolled(), { passive: true });
    this.#chunks.list.addEventListener("focusin", ({ target }) => this.#rove(target.closest("article")));
    for (const type of ["pointerover", "focusin"]) {
      this.#chunks.list.addEventListener(type, ({ target }) => this.#equip(target));
    }
    this.#chunks.list.addEventListener("keydown", (event) => this.#key(event));
    window.addEventListener("focus", () => (this.#line.release(), this.#scrolled()), { signal });
    document.addEventListener("visibilitychange", () => this.#scrolled(), { signal });
  }

  #equip(target) {
    this.#equipped ??= part(import("./tools.js")).then(({ Tools }) => {
      this.#tools = new Tools(this.#ctx, this.#chunks.list, {
        isThread: this.#look.isThread,
        edit: (item) => this.edit(item),
        leave: () => this.#look.leave?.(),
        isWalking: this.#isWalking,
        timeline: this.#timeline,
        chunks: this.#chunks,
      });
      this.#tools.show(target);
    });
    return this.#equipped;
  }

  /** The first reply tells its day only if it is another than the parent's. */
  #parented() {
    this.#headOf = null;
    const [first] = this.#timeline.items;
    if (first) this.#redraw([keyOf(first)]);
    this.#later();
  }

  #changed(item) {
    if (item === this.#timeline.parent) this.#headOf = null;
    this.#redraw([keyOf(item)], true);
  }

  #added(item) {
    if (item.author.id !== this.#ctx.model.me.id) {
      if (!this.#anchor.isAtEnd) this.#missed++;
    } else if (item.state) {
      this.toEnd();
      this.#line.release(true);
    }
    this.#later();
  }

  #update() {
    const { items } = this.#timeline;
    const goesToEnd = this.#anchor.isAtEnd;
    if (!this.#isPlaced) this.#mark();
    this.#anchor.hold(() => {
      this.#chunks.sync(items, this.#stale);
      this.#drawHead();
      if (goesToEnd) this.#anchor.isAtEnd = true;
    });
    this.#anchor.isLoose = this.#timeline.hasNewer;
    this.#stale.clear();
    if (!this.#isPlaced && items.length) this.#begin();
    const { list } = this.#chunks;
    if (!list.contains(document.activeElement)) this.#rove(lastOf(list));
    this.#scrolled();
    this.#takeUp();
  }

  /** The first view of a place: the line above what is new, or the end. */
  #begin() {
    this.#isPlaced = true;
    this.#anchor.toEnd();
    if (this.#line.marker) this.reveal(this.#line.marker);
    else if (this.#line.isFurtherUp) this.#offerFirst();
  }

  /** What is new begins further up than what was loaded. */
  async #offerFirst() {
    const { offerFirst } = await part(import("./first_unread.js"));
    if (this.#ctx.signal.aborted) return;
    const show = () => {
      this.#redraw(this.#line.draw());
      this.#update();
      this.reveal(this.#line.marker);
    };
    this.element.append(offerFirst(this.#timeline, this.#line, show));
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

  #entry(item, previous, drawn) {
    const isNew = Boolean(item.id) && item.id === this.#line.marker;
    const since = previous ?? (this.#look.isThread && this.#timeline.parent);
    const isNewDay = !since || day(since.createdAt) !== day(item.createdAt);
    const isGrouped =
      Boolean(previous) &&
      !isNew &&
      !isNewDay &&
      previous.author.id === item.author.id &&
      item.createdAt - previous.createdAt < TOGETHER_MS;
    const isKept = drawn && drawn.matches(".grouped") === isGrouped;
    const parts = [isKept ? drawn : messageView(this.#ctx, item, { isGrouped, isThread: this.#look.isThread })];
    if (!isKept) reach(parts[0], -1);
    if (isNew) parts.unshift(element("div", { class: "new-line" }, t("timeline.new")));
    const heading = this.#look.isThread ? "h3" : "h2"; // Below the thread's title, or the place's.
    if (isNewDay) parts.unshift(element(heading, { class: "day" }, day(item.createdAt)));
    return parts;
  }

  /** What is unread has changed: here, or in a thread that hangs from a message here. */
  #counted(listId) {
    if (listId === this.#line.list) {
      if (this.#line.learn() && this.#anchor.isAtEnd) this.#isPlaced = false;
      this.#mark();
      this.#later();
    } else if (this.#chunks.has(listId)) this.#redraw([listId], true);
  }

  #mark() {
    this.#redraw(this.#line.place(this.#isPlaced && this.#anchor.isAtEnd && this.#isWatched()));
  }

  /** Draw entries anew: what stands above their messages, and the messages if they have changed. */
  #redraw(ids, isChanged) {
    for (const id of ids) this.#stale.set(id, isChanged || this.#stale.get(id));
    if (ids.length) this.#later();
  }

  #scrolled() {
    const { scrollTop, scrollHeight, clientHeight } = this.#scroller;
    const { hasOlder, hasNewer, isLoading, error, newest } = this.#timeline;
    const isNearTop = clientHeight > 0 && scrollTop < NEAR; // Not before it is in the page.
    if (this.#isPlaced && hasOlder && !isLoading && !error && isNearTop) this.#timeline.loadOlder();
    this.#turn();
    if (this.#anchor.isAtEnd) this.#missed = 0;
    if (newest && this.#isPlaced && this.#anchor.isAtEnd && this.#isWatched() && !this.#line.isHeld) {
      this.#ctx.model.unread.markRead(this.#line.list, newest.id, this.#timeline.place.id);
    }
    const isFar = hasNewer || scrollHeight - scrollTop - clientHeight > FAR_SCREENS * clientHeight;
    this.#pill.hidden = !this.#missed && !isFar;
    const words = this.#missed ? t("timeline.missed", { count: this.#missed }) : t("timeline.newest");
    if (this.#pill.textContent !== words) replace(this.#pill, icon("down"), words);
    this.#pill.classList.toggle("button-primary", this.#missed > 0);
  }

  /** Empties what is far from view and fills what comes near, with what is read held in its place. */
  async #turn() {
    const chunks = this.#chunks;
    if (chunks.list.childElementCount < MUCH) return;
    if (!chunks.emptying) {
      const { Emptying } = await import("./emptying.js");
      chunks.emptying ??= new Emptying(chunks, this.#scroller);
    }
    const due = chunks.emptying.due();
    if (!due) return;
    this.#anchor.hold(() => chunks.emptying.turn(due));
    if (!this.#current?.isConnected) this.#rove(lastOf(chunks.list));
  }

  #isWatched() {
    return document.visibilityState === "visible" && document.hasFocus();
  }

  #rove(article) {
    if (!article || article === this.#current) return;
    if (this.#current) reach(this.#current, -1);
    this.#current = article;
    reach(article, 0);
  }

  /** What keys do with messages is the tools' to say; they may still be on their way. */
  async #key(event) {
    if (event.target.matches("textarea") || event.ctrlKey || event.metaKey || event.altKey) return;
    if (this.#tools) return this.#tools.key(event);
    if (!KEYS.test(event.key) || !this.#isWalking()) return;
    event.preventDefault();
    await this.#equip(event.target);
    this.#tools.key(event);
  }
}
