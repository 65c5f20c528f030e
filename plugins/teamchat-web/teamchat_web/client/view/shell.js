// The shell: sidebar, conversation and thread beside each other, and what moves between them.
// What must stay true: the address alone says what is shown (channel or conversation, thread); each
// shown place has a signal of its own that ends all it listens to; on phones what is covered can't be
// reached by keys.
import { element, icon, replace } from "../lib/dom.js";
import { perFrame } from "../lib/frames.js";
import { t } from "../lib/strings.js";
import { acceptDrops, composer } from "./composer.js";
import { avatar } from "./people.js";
import { admin, palette, sidebar } from "./sidebar.js";
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
  #field = null;
  #reply = null;
  #threadId = null;
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
            (this.#field ?? this.#main).focus();
          },
        },
      },
      t("shell.skip"),
    );
    replace(root, skip, this.#app);
    this.#listen();
    this.#drawer(false);
    this.#go();
    keepTitle(ctx);
  }

  #listen() {
    const { model, router, signal } = this.#ctx;
    router.on("changed", () => this.#go(), signal);
    model.on("channels", () => this.#go(), signal);
    model.on("conversations", () => this.#go(), signal);
    model.unread.on("changed", perFrame(() => this.#count(), signal), signal);
    model.on("message", async (news) => (await import("./notifications.js")).tell(this.#ctx, news), signal);
    document.addEventListener("keydown", (event) => this.#key(event), { signal });
    this.#side.addEventListener("click", ({ target }) => leads(target) && this.#drawer(false));
    document.addEventListener("focusout", () => this.#catchTyping(), { signal, once: true });
    PHONE.addEventListener("change", () => this.#drawer(false), { signal });
    acceptDrops(this.#main, () => this.#field);
  }

  /** Shows what the address says; without a place in it the last one, or the first there is. */
  #go() {
    const { model, router, kept } = this.#ctx;
    const { place: asked, threadId = null } = router.current ?? {};
    const place = asked && model.place(asked.id);
    if (!place) {
      const other = model.place(kept.get("place")) ?? this.#first();
      if (other && other.id !== asked?.id) router.go(other);
      else if (!other) this.#nothing();
      return;
    }
    if (this.#shown !== place.id) this.#open(place);
    if (this.#threadId !== threadId) this.#thread(place, threadId);
    this.#title(place);
  }

  #first() {
    const [channel] = this.#ctx.model.sortedChannels();
    return channel && { kind: "channel", id: channel.id };
  }

  #open(place) {
    const ctx = this.#scope("place");
    this.#shown = place.id;
    this.#ctx.kept.set("place", place.id);
    const isChannel = place.kind === "channel";
    const name = isChannel ? `#${place.title}` : place.title;
    this.#field = composer(ctx, {
      place,
      placeholder: t("composer.to", { name }),
      editLast: () => view.editLast(),
    });
    const view = new TimelineView(ctx, ctx.model.timeline(place), {
      label: t("timeline.label", { name }),
      leave: this.#field.focus,
      beginning: () => beginning(ctx, place),
    });
    replace(this.#main, this.#bar(), view.element, this.#field.element);
    this.#count();
    view.toEnd();
    if (FINE.matches && !document.querySelector("dialog[open]")) this.#field.focus();
  }

  #bar() {
    const open = element(
      "button",
      {
        type: "button",
        class: "icon-button drawer-button",
        "aria-controls": "sidebar",
        "aria-expanded": "false",
        "aria-label": t("shell.drawer"),
        on: { click: () => this.#drawer(true) },
      },
      icon("menu"),
      element("span", { class: "dot", hidden: true }),
    );
    const find = element(
      "button",
      {
        type: "button",
        class: "icon-button",
        "aria-label": t("sidebar.jump"),
        title: t("sidebar.jump"),
        on: { click: () => palette(this.#ctx) },
      },
      icon("search"),
    );
    return element(
      "header",
      { class: "bar" },
      open,
      element("h1", {}),
      element("span", { class: "grow" }),
      find,
    );
  }

  #title({ kind, id, title }) {
    const other = kind === "conversation" && this.#ctx.model.conversations.get(id)?.otherUser;
    replace(
      this.#main.querySelector("h1"),
      other ? avatar({ ...other, userName: title }) : icon("hash"),
      element("span", { dir: "auto" }, title),
    );
  }

  /** On phones the button of the drawer tells of what is unread behind it. */
  #count() {
    const button = this.#main.querySelector(".drawer-button");
    const { unread } = this.#ctx.model.unread.total();
    if (!button) return;
    button.lastChild.hidden = !unread;
    button.ariaLabel = t("shell.drawer") + (unread ? `, ${t("sidebar.unread", { count: unread })}` : "");
  }

  async #thread(place, threadId) {
    this.#threadId = threadId;
    const hadFocus = this.#app.querySelector(".thread")?.contains(document.activeElement);
    this.#threading?.abort();
    this.#app.querySelector(".thread")?.remove();
    this.#reply = null;
    this.#app.classList.toggle("thread-open", Boolean(threadId));
    this.#main.inert = PHONE.matches && Boolean(threadId);
    if (!threadId) return hadFocus && this.#field.focus();
    const ctx = this.#scope("thread");
    const { thread } = await import("./thread.js");
    if (ctx.signal.aborted) return;
    const panel = thread(ctx, place, threadId, () => this.#ctx.router.go(place));
    this.#reply = panel;
    this.#app.append(panel.element);
    panel.focus();
  }

  /** A context whose signal ends with what is shown now. */
  #scope(part) {
    const control = new AbortController();
    if (part === "place") {
      this.#placing?.abort();
      this.#placing = control;
    } else {
      this.#threading = control;
    }
    return { ...this.#ctx, signal: AbortSignal.any([this.#ctx.signal, control.signal]) };
  }

  #nothing() {
    this.#placing?.abort();
    this.#shown = this.#field = null;
    const { isAdmin } = this.#ctx.model.me;
    replace(
      this.#main,
      this.#bar(),
      element(
        "div",
        { class: "empty" },
        icon("hash"),
        element("h2", {}, t("shell.empty")),
        element("p", {}, t(isAdmin ? "shell.empty_admin" : "shell.empty_lead")),
        isAdmin &&
          element(
            "button",
            {
              type: "button",
              class: "button button-primary",
              on: { click: () => admin(this.#ctx, "channels") },
            },
            t("sidebar.add_channel"),
          ),
      ),
    );
  }

  #drawer(isOpen) {
    const isPhone = PHONE.matches;
    const hadFocus = this.#side.contains(document.activeElement);
    this.#app.classList.toggle("drawer-open", isOpen && isPhone);
    this.#side.inert = isPhone && !isOpen;
    this.#main.inert = isPhone && (isOpen || Boolean(this.#threadId));
    const button = this.#main.querySelector(".drawer-button");
    button?.setAttribute("aria-expanded", String(isOpen));
    if (isPhone && isOpen) this.#side.querySelector("a, button")?.focus();
    else if (isPhone && hadFocus) button?.focus();
  }

  /** Typing can't go astray before the focus has left the field of the first view. */
  async #catchTyping() {
    const { catchTyping } = await import("./typing.js");
    catchTyping(this.#ctx, (inThread) => (this.#reply && (inThread || this.#main.inert) ? this.#reply : this.#field));
  }

  #key(event) {
    const isCommand = event.ctrlKey || event.metaKey;
    const isTyping = event.target.closest?.("input, textarea, select, dialog");
    const step = { ArrowUp: -1, ArrowDown: 1 }[event.key];
    if (isCommand && !event.shiftKey && event.key.toLowerCase() === "k") palette(this.#ctx);
    else if (event.key === "?" && !isCommand && !isTyping) shortcuts(this.#ctx);
    else if (event.altKey && step && !isCommand) this.#step(step, event.shiftKey);
    else if (event.key === "Escape" && !isTyping && this.#app.classList.contains("drawer-open"))
      this.#drawer(false);
    else return;
    event.preventDefault();
  }

  /** Goes to the next place of the sidebar, or the next unread one. */
  #step(by, isUnread) {
    const links = [...this.#side.querySelectorAll("a")];
    const from = links.findIndex((link) => link.ariaCurrent);
    const row = [...links.slice(from + 1), ...links.slice(0, Math.max(from, 0))];
    if (by < 0) row.reverse();
    row.find((link) => !isUnread || link.classList.contains("unread"))?.click();
  }
}

/** The title comes after what it is about. */
async function keepTitle(ctx) {
  (await import("./title.js")).keepTitle(ctx);
}

/** Whether a press in the sidebar leads somewhere: all do but the one that opens the menu. */
function leads(target) {
  return target.closest("a, button:not([aria-haspopup])");
}

async function shortcuts(ctx) {
  (await import("./shortcuts.js")).openShortcuts(ctx);
}

function beginning(ctx, { kind, id, title }) {
  const other = kind === "conversation" && ctx.model.conversations.get(id)?.otherUser;
  return element(
    "div",
    { class: "beginning" },
    other ? avatar({ ...other, userName: title }) : icon("hash"),
    element("h2", {}, title),
    element(
      "p",
      { class: "soft" },
      other
        ? t("timeline.start_person", { name: title })
        : t("timeline.start_channel", { name: `#${title}` }),
    ),
  );
}
