// The shell: sidebar, conversation and thread beside each other, and what moves between them.
// The address alone says what is shown: a channel or conversation, a list of threads or of activity, a thread beside.
// What is shown has a signal that ends all it listens to. On phones what is covered can't be reached by keys.
import { assign, element, icon, replace } from "../lib/dom.js";
import { perFrame } from "../lib/frames.js";
import { part } from "../lib/parts.js";
import { t } from "../lib/strings.js";
import { closedBy } from "../model/rooms.js";
import { bar } from "./bar.js";
import { composer } from "./composer.js";
import { leadsToCard, openCards } from "./people.js";
import { beginning, signOf } from "./place.js";
import { palette, sidebar } from "./sidebar.js";
import { TimelineView } from "./timeline.js";

const PHONE = matchMedia("(max-width: 48rem)");
const FINE = matchMedia("(pointer: fine)");

/**
 * Shows the chat in `root` until the session ends.
 * @param {HTMLElement} root
 * @param {object} ctx
 */
export function shell(root, ctx) {
  return new Shell(root, ctx);
}

class Shell {
  #ctx;
  #app = element("div", { class: "app" });
  #side;
  #main = element("main", { class: "conversation", id: "main", tabindex: "-1" });
  #shown = null;
  #greeting = element("div", { hidden: true });
  #title = "";
  #field = null;
  #reply = null;
  #followed = null;
  #focus = () => this.#main.focus();
  #threadId = null;
  #closedBy = "";
  #placing = null;
  #threading = null;

  constructor(root, ctx) {
    this.#ctx = ctx;
    this.#side = sidebar(ctx);
    const scrim = element("div", { class: "scrim", on: { click: () => this.#drawer(false) } });
    replace(this.#app, this.#side, scrim, this.#main);
    const skip = element(
      "a",
      {
        class: "skip-link",
        href: "#main",
        on: {
          click: (event) => {
            event.preventDefault();
            this.#focus();
          },
        },
      },
      t("shell.skip"),
    );
    replace(root, skip, this.#app);
    this.#listen();
    this.#drawer(false);
    this.#go();
  }

  #listen() {
    const { model, router, signal } = this.#ctx;
    router.on("changed", () => this.#go(), signal);
    for (const type of ["channels", "conversations", "users", "loaded"]) model.on(type, () => this.#go(), signal);
    model.on("lost", async (gone) => (await part(import("./rooms/losing.js"))).withdraw(this.#ctx, gone), signal);
    model.unread.on("changed", perFrame(() => this.#count(), signal), signal);
    model.on("message", async (news) => (await part(import("./notifications.js"))).tell(this.#ctx, news), signal);
    document.addEventListener("keydown", (event) => this.#key(event), { signal });
    this.#side.addEventListener("click", (event) => this.#pressed(event));
    addEventListener("popstate", () => this.#isOpen && !history.state?.drawer && this.#drawer(false), { signal });
    PHONE.addEventListener("change", () => this.#drawer(false), { signal });
    openCards(this.#ctx);
  }

  /** Shows what the address says; without a place in it the last one, or the first there is. */
  #go() {
    const { model, router } = this.#ctx;
    const { screen, place: asked, thread } = router.current;
    if (!screen) return this.#begin();
    const place = asked && model.place(asked.id);
    const isList = /^(threads|activity)$/.test(screen);
    const isThere = isList || place?.kind === asked?.kind;
    if (isList) this.#openList(screen);
    else if (place && isThere) this.#open(place);
    else this.#vacant(asked);
    return this.#thread(isThere ? thread : null);
  }

  #begin() {
    const { model, router, kept } = this.#ctx;
    const place = model.place(kept.get("place")) ?? this.#first();
    if (place) router.go(place);
    else this.#vacant(null);
  }

  /** The channel that was there first, of those that are everybody's, if there are any. */
  #first() {
    const { model } = this.#ctx;
    const age = (one) => one.createdAt + !one.isDefault * 1e15;
    const [channel] = model.sortedChannels().sort((a, b) => age(a) - age(b));
    return channel ? model.place(channel.id) : model.sortedDirect()[0];
  }

  #open(place) {
    const { model } = this.#ctx;
    const reason = closedBy(model.channels.get(place.id), model.me);
    if (this.#shown !== place.id || this.#closedBy !== reason) this.#openPlace(place, reason);
    this.#title = place.title;
    const other = model.conversations.get(place.id)?.otherUser;
    this.#head(signOf(this.#ctx, place), place.title);
    if (other) assign(this.#main.querySelector("h1").lastChild, leadsToCard(other.id, { tabindex: "0" }));
  }

  #openPlace(place, reason) {
    const ctx = this.#scope(place.id);
    this.#ctx.kept.set("place", place.id);
    this.#closedBy = reason;
    const { label: name } = place;
    const placeholder = t("composer.to", { name });
    const editLast = () => view.editLast();
    const field = reason ? this.#closed(reason) : composer(ctx, { place, placeholder, editLast });
    const timeline = ctx.model.timeline(place);
    const view = new TimelineView(ctx, timeline, {
      label: t("timeline.label", { name }),
      leave: field.focus,
      beginning: () => beginning(ctx, place.id),
    });
    this.#fill(view.element, field.element);
    this.#field = reason ? null : field;
    this.#focus = field.focus;
    if (!timeline.hasNewer) view.toEnd();
    ctx.slots.offer("room", this.#main, { ctx, place, view });
    timeline.load().then(() => requestAnimationFrame(() => setTimeout(() => (this.#followed ??= this.#follow()))));
    if (FINE.matches && !document.querySelector("dialog[open]")) field.focus();
  }

  /** What stands in place of the field where one can't write. */
  #closed(reason) {
    const note = element("p", { class: "offline" });
    part(import("./rooms/closed.js")).then(({ why }) => replace(note, why(reason)));
    return { element: note, focus: () => this.#main.focus() };
  }

  async #openList(name) {
    if (this.#shown === name) return;
    const ctx = this.#scope(name);
    this.#followed ??= this.#follow();
    this.#fill();
    const { list } = await (name === "threads" ? part(import("./threads.js")) : part(import("./activity/list.js")));
    if (ctx.signal.aborted) return;
    const view = list(ctx);
    this.#focus = view.focus;
    this.#fill(view.element);
    this.#head(icon(view.icon), t(`${name}.title`), view.action);
    if (!this.#threadId && !document.querySelector("dialog[open]")) view.focus();
  }

  /** There is nothing to show, or nothing any more: it says what is missing. */
  async #vacant(asked) {
    const { model } = this.#ctx;
    const state = model.isLoaded || !asked ? "none" : "waiting";
    const name = `${state} ${asked?.id} ${model.channels.size > 0}`;
    if (this.#shown === name) return;
    const title = this.#shown === asked?.id ? this.#title : null;
    const ctx = this.#scope(name);
    this.#followed ??= this.#follow();
    this.#fill();
    const { vacant } = await part(import("./vacant.js"));
    if (ctx.signal.aborted) return;
    const view = vacant(ctx, { asked, title, state, first: this.#first(), ready: this.#followed });
    this.#focus = view.focus;
    this.#fill(view.element);
    if (title !== null) view.focus();
  }

  /** Puts a screen below the head of the conversation. */
  #fill(...parts) {
    replace(this.#main, bar(this.#ctx, () => this.#drawer(true)), this.#greeting, parts);
    this.#count();
  }

  /** What stands in the head: a sign, a title, and what can be done with all of it. */
  #head(sign, title, action = null) {
    const [heading, place] = this.#main.querySelectorAll("h1, .bar-action");
    replace(heading, sign, element("span", { dir: "auto" }, title)).hidden = false;
    if (action) replace(place, action);
  }

  /** On phones the button of the drawer tells of what is unread behind it. */
  #count() {
    const button = this.#main.querySelector(".drawer-button");
    const { unread } = this.#ctx.model.unread.total();
    if (!button) return;
    button.lastChild.hidden = !unread;
    button.ariaLabel = t("shell.drawer") + (unread ? `, ${t("sidebar.unread", { count: unread })}` : "");
  }

  async #thread(thread) {
    const id = thread?.id ?? null;
    if (this.#threadId === id) return;
    this.#threadId = id;
    const hadFocus = this.#app.querySelector(".thread")?.contains(document.activeElement);
    this.#threading?.abort();
    this.#app.querySelector(".thread")?.remove();
    this.#reply = null;
    this.#app.classList.toggle("thread-open", Boolean(id));
    this.#main.inert = PHONE.matches && Boolean(id);
    if (!id) return hadFocus && this.#focus();
    this.#threading = new AbortController();
    const ctx = this.#until(this.#threading);
    const { thread: panelOf } = await part(import("./thread.js"));
    if (ctx.signal.aborted) return;
    const panel = panelOf(ctx, thread.place, id, () => this.#closeThread());
    this.#reply = panel;
    this.#app.append(panel.element);
    panel.focus();
  }

  #closeThread() {
    const { router } = this.#ctx;
    const { place } = router.current;
    router.follow(place ? router.address(place) : router.threadsAddress());
  }

  /** A context whose signal ends when something else is shown than `name`. */
  #scope(name) {
    this.#placing?.abort();
    this.#placing = new AbortController();
    this.#shown = name;
    this.#field = null;
    this.#focus = () => this.#main.focus();
    return this.#until(this.#placing);
  }

  #until({ signal }) {
    return { ...this.#ctx, signal: AbortSignal.any([this.#ctx.signal, signal]) };
  }

  get #isOpen() {
    return this.#app.classList.contains("drawer-open");
  }

  /** A press in the sidebar. A link takes the place of the drawer's entry in the history. */
  #pressed(event) {
    if (!event.target.closest("a, button:not([aria-haspopup])")) return; // It opens a menu.
    const hash = event.target.closest("a")?.hash;
    const isOther = this.#isOpen && hash && hash !== location.hash && !event.ctrlKey && !event.metaKey;
    this.#drawer(false, isOther);
    if (!isOther) return;
    event.preventDefault();
    location.replace(hash);
  }

  /** Opens or closes the drawer; it has an entry in the history of its own, so that Back closes it. */
  #drawer(isOpen, isLeaving = false) {
    const isPhone = PHONE.matches;
    if (isOpen && isPhone && !this.#isOpen) history.pushState({ drawer: true }, "");
    else if (!isOpen && this.#isOpen && history.state?.drawer && !isLeaving) history.back();
    const hadFocus = this.#side.contains(document.activeElement);
    this.#app.classList.toggle("drawer-open", isOpen && isPhone);
    this.#side.inert = isPhone && !isOpen;
    this.#main.inert = isPhone && (isOpen || Boolean(this.#threadId));
    const button = this.#main.querySelector(".drawer-button");
    button?.setAttribute("aria-expanded", String(isOpen));
    if (isPhone && isOpen) this.#side.querySelector("a, button")?.focus();
    else if (isPhone && hadFocus) button?.focus();
  }

  /** The title comes after what it is about, and what is not seen after that. */
  async #follow() {
    (await import("./title.js")).keepTitle(this.#ctx);
    const drawer = { isOpen: () => this.#isOpen, close: () => this.#drawer(false) };
    (await import("./keys.js")).catchKeys(this.#ctx, this.#side, drawer);
    if (document.readyState !== "complete") await new Promise((loaded) => addEventListener("load", loaded));
    (await import("./later.js")).begin(this.#ctx, this.#greeting);
    (await import("./keep.js")).keepShell();
    const fieldOf = (inThread) => (inThread || this.#main.inert ? this.#reply : null) ?? this.#field;
    (await import("./typing.js")).catchTyping(this.#ctx.signal, fieldOf);
    await Promise.all([part(import("./tools.js")), part(import("./images.js"))]); // Here before a key or a lost network.
  }

  /** The palette's key works from the start; the others come with keys.js. */
  #key(event) {
    if (!(event.ctrlKey || event.metaKey) || event.shiftKey || event.key.toLowerCase() !== "k") return;
    event.preventDefault();
    palette(this.#ctx);
  }
}
