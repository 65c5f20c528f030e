// The command palette: any place, person or action in a few letters. A combobox in a dialog: the focus
// stays in the field, arrows choose, Enter goes.
import { element, icon, replace } from "../lib/dom.js";
import "../lib/more_strings.js";
import { part } from "../lib/parts.js";
import { t } from "../lib/strings.js";
import "./layers.js";
import { avatar } from "./people.js";
import { words } from "./notices.js";
import { needsSheets } from "./sheet.js";
import { admin, settings } from "./sidebar.js";
import "./menus.js";

needsSheets("overlays");

const MOST = 12;

/**
 * Opens the palette.
 * @param {object} ctx
 * @param {"people"} [scope] only people
 */
export function openPalette(ctx, scope) {
  if (document.querySelector("dialog[open]")) return;
  const palette = new Palette(ctx, scope);
  ctx.signal.addEventListener("abort", () => palette.dialog.close());
}

class Palette {
  #all;
  #field;
  #list = element("div", { class: "palette-list", role: "listbox", id: "palette-list" });
  #found = [];
  #at = 0;

  constructor(ctx, scope) {
    this.#all = scope === "people" ? people(ctx) : [...places(ctx), ...people(ctx), ...actions(ctx)];
    const label = t(scope === "people" ? "palette.people" : "palette.title");
    this.#list.ariaLabel = label;
    this.#field = element("input", {
      class: "palette-input",
      type: "text",
      role: "combobox",
      placeholder: label,
      "aria-label": label,
      "aria-autocomplete": "list",
      "aria-expanded": "true",
      "aria-controls": "palette-list",
      autocomplete: "off",
      spellcheck: "false",
      on: { input: () => this.#search(), keydown: (event) => this.#key(event) },
    });
    this.dialog = element(
      "dialog",
      {
        class: "dialog palette",
        closedby: "any",
        "aria-label": label,
        on: { close: ({ target }) => target.remove() },
      },
      this.#field,
      this.#list,
    );
    document.body.append(this.dialog);
    this.dialog.showModal();
    this.#search();
  }

  #search() {
    const query = this.#field.value.trim();
    this.#found = this.#all
      .map((one) => ({ one, fit: query ? score(one.label, query) : 0 }))
      .filter(({ fit }) => fit >= 0)
      .sort((a, b) => b.fit - a.fit || (b.one.lift ?? 0) - (a.one.lift ?? 0))
      .slice(0, MOST)
      .map(({ one }) => one);
    replace(
      this.#list,
      this.#found.map(({ sign, label, note }, at) =>
        element(
          "div",
          {
            class: "menu-item",
            role: "option",
            id: `palette-${at}`,
            on: { click: () => this.#take(at), pointermove: () => this.#choose(at) },
          },
          sign(),
          element("bdi", { class: "name" }, label),
          note && element("span", { class: "soft" }, note),
        ),
      ),
      !this.#found.length &&
        element("div", { class: "palette-none", role: "option", "aria-disabled": "true" }, t("palette.none")),
    );
    if (this.#found.length) this.#choose(0);
    else this.#field.removeAttribute("aria-activedescendant");
  }

  #key(event) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (event.isComposing || (!step && event.key !== "Enter")) return;
    event.preventDefault();
    const { length } = this.#found;
    if (!step) this.#take(this.#at);
    else if (length) this.#choose((this.#at + step + length) % length, true);
  }

  #choose(at, isByKey) {
    this.#at = at;
    const options = [...this.#list.children];
    options.forEach((option, place) => option.setAttribute("aria-selected", String(place === at)));
    if (isByKey) options[at]?.scrollIntoView({ block: "nearest" });
    this.#field.setAttribute("aria-activedescendant", `palette-${at}`);
  }

  #take(at) {
    const chosen = this.#found[at];
    if (!chosen) return;
    this.dialog.close();
    chosen.run();
  }
}

/**
 * How well `query` fits: letters in their order, better at the start of words and without gaps; -1 if it
 * doesn't.
 */
function score(label, query) {
  const text = label.toLowerCase();
  let at = -1;
  let sum = 0;
  for (const letter of query.toLowerCase()) {
    const next = text.indexOf(letter, at + 1);
    if (next < 0) return -1;
    sum += next === at + 1 ? 3 : /[\s\-_.#]/.test(text[next - 1] ?? " ") ? 2 : 0;
    at = next;
  }
  return sum - text.length / 100 + 1;
}

function places({ model, router }) {
  const unread = (id) =>
    model.unread.count(id) ? t("palette.unread", { count: model.unread.count(id) }) : "";
  const channels = model.sortedChannels().map(({ id, name }) => ({
    label: name,
    note: unread(id),
    lift: 1,
    sign: () => icon("hash"),
    run: () => router.go({ kind: "channel", id }),
  }));
  const count = model.threads.unreadCount();
  const threads = {
    label: t("threads.title"),
    note: count ? t("palette.unread", { count }) : "",
    lift: 1,
    sign: () => icon("thread"),
    run: () => router.follow(router.threadsAddress()),
  };
  return [...channels, threads];
}

function people(ctx) {
  const go = async (id) => {
    try {
      ctx.router.go(await ctx.model.openConversation(id));
    } catch (error) {
      ctx.toast(words(error), { kind: "danger" });
    }
  };
  return [...ctx.model.users.values()]
    .filter(({ id }) => id !== ctx.model.me.id)
    .sort((a, b) => a.userName.localeCompare(b.userName))
    .map((user) => ({
      label: user.userName,
      note: user.email,
      sign: () => avatar(user),
      run: () => go(user.id),
    }));
}

function actions(ctx) {
  const { isAdmin } = ctx.model.me;
  const act = (name, label, run) => ({ label, note: t("palette.action"), sign: () => icon(name), run });
  return [
    act("settings", t("settings.title"), () => settings(ctx)),
    isAdmin && act("shield", t("admin.title"), () => admin(ctx)),
    isAdmin && act("plus", t("sidebar.add_channel"), () => admin(ctx, "channels")),
    act("keyboard", t("shortcuts.title"), async () => (await part(import("./shortcuts.js"))).openShortcuts(ctx)),
    act("sign-out", t("settings.sign_out"), () => ctx.session.end()),
  ].filter(Boolean);
}
