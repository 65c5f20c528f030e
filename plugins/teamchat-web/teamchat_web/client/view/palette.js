// The command palette: any place, person or action in a few letters. A combobox in a dialog: the focus
// stays in the field, arrows choose, Enter goes.
import { element, icon, replace } from "../lib/dom.js";
import "../lib/more_strings.js";
import { part } from "../lib/parts.js";
import { t } from "../lib/strings.js";
import "./layers.js";
import { added, registryOf } from "./extensions/registry.js";
import { avatar } from "./people.js";
import { signOf } from "./place.js";
import { words } from "./notices.js";
import { needsSheets } from "./sheet.js";
import { admin, mayAddChannels, newChannel, settings } from "./sidebar.js";
import { isUnread, markAllRead, markRead } from "./unread/marking.js";
import { visited } from "./visited.js";
import "./menus.js";

needsSheets("overlays");

const MOST = 12;
// How far up something stands before anything is typed; a place otherwise has 1.
const [RECENT, UNREAD, CALLS, FIRST] = [2, 4, 5, 6];
const RECENT_FITS = 0.5; // Less than a letter that fits better.

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
    const those = { people: () => [...together(ctx, FIRST), ...people(ctx)] };
    const all = those[scope] ?? (() => [...places(ctx), ...people(ctx), ...together(ctx, 0.75), ...actions(ctx)]);
    this.#all = all();
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
        on: { close: ({ target }) => (ends.forEach((end) => end()), target.remove()) },
      },
      this.#field,
      this.#list,
    );
    const again = () => {
      this.#all = all();
      this.#search();
    };
    const ends = [registryOf(ctx).on("palette", again)];
    for (const type of ["channels", "rights"]) ends.push(ctx.model.on(type, again));
    document.body.append(this.dialog);
    this.dialog.showModal();
    this.#search();
  }

  #search() {
    const query = this.#field.value.trim();
    this.#found = this.#all
      .map((one) => ({ one, fit: query ? fitOf(one, query) : 0 }))
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

/** How well it fits what it is called, or is called in full; where one was last goes before what fits as well. */
function fitOf({ label, inFull = "", lift = 0 }, query) {
  const fit = Math.max(score(label, query), score(inFull, query));
  return fit < 0 || lift < RECENT ? fit : fit + RECENT_FITS;
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

/** How much is unread there, in words. */
function unreadIn({ unread }, id) {
  const count = unread.count(id);
  return count ? t("palette.unread", { count }) : "";
}

/** How far up a place stands before anything is typed: first what calls, what is unread, and where one was last. */
function lifts(ctx) {
  const { model, router } = ctx;
  const last = visited(ctx);
  const here = router.current.place?.id;
  return (id, lift) => {
    if (!id || id === here) return lift;
    const isQuiet = model.unread.isMuted(id) || !isUnread(model, id);
    if (!isQuiet) return model.unread.mentionCount(id) ? CALLS : UNREAD;
    return last.includes(id) ? RECENT + 1 - last.indexOf(id) / last.length : lift;
  };
}

function places(ctx) {
  const { model, router } = ctx;
  const lifted = lifts(ctx);
  const rooms = [...model.channels.values()].map(({ id, isMember, isArchived }) => ({
    label: model.place(id).title,
    note: isArchived ? t("palette.archived") : isMember === false ? t("palette.not_in") : unreadIn(model, id),
    lift: lifted(id, isArchived || isMember === false ? 0.5 : 1),
    sign: () => signOf({ model }, model.place(id)),
    run: () => router.go({ kind: "channel", id }),
  }));
  rooms.sort((a, b) => b.lift - a.lift || a.label.localeCompare(b.label));
  const count = model.threads.unreadCount();
  const threads = {
    label: t("threads.title"),
    note: count ? t("palette.unread", { count }) : "",
    lift: 1,
    sign: () => icon("thread"),
    run: () => router.follow(router.threadsAddress()),
  };
  return [...rooms, threads];
}

/** Writing to several people, and to oneself, where the server has that; `lift` is 1 for a place. */
function together(ctx, lift) {
  const { capabilities, channels, me } = ctx.model;
  const hasNotes = [...channels.values()].some(({ kind }) => kind === "notes");
  const load = () => part(import("./rooms/new_group.js"));
  const note = t("palette.action");
  const several = { label: t("making.several"), note, lift, sign: () => icon("users") };
  const notes = { label: t("sidebar.notes"), note, lift: 0.75, sign: () => avatar(me) };
  return [
    capabilities.groups && { ...several, run: async () => (await load()).openNewGroup(ctx) },
    capabilities.notes && !hasNotes && { ...notes, run: async () => (await load()).goToNotes(ctx) },
  ].filter(Boolean);
}

function people(ctx) {
  const { conversations, me, users } = ctx.model;
  const lifted = lifts(ctx);
  const talks = new Map([...conversations.values()].map(({ id, otherUser }) => [otherUser.id, id]));
  const go = async (id) => {
    try {
      ctx.router.go(await ctx.model.openConversation(id));
    } catch (error) {
      ctx.toast(words(error), { kind: "danger" });
    }
  };
  return [...users.values()]
    .filter(({ id, isDeactivated }) => id !== me.id && !isDeactivated)
    .sort((a, b) => a.userName.localeCompare(b.userName))
    .map((user) => ({
      label: user.userName,
      inFull: user.fullName,
      note: unreadIn(ctx.model, talks.get(user.id)) || [user.fullName, user.email].filter(Boolean).join(" · "),
      lift: lifted(talks.get(user.id), 0),
      sign: () => avatar(user),
      run: () => go(user.id),
    }));
}

function actions(ctx) {
  const { isAdmin } = ctx.model.me;
  const { place } = ctx.router.current;
  const room = (place && ctx.model.place(place.id)) ?? null;
  const hasRooms = ctx.model.capabilities.membership;
  const act = (name, label, run) => ({ label, note: t("palette.action"), sign: () => icon(name), run });
  return [
    act("settings", t("settings.title"), () => settings(ctx)),
    isAdmin && act("shield", t("admin.title"), () => admin(ctx)),
    mayAddChannels(ctx.model) && act("plus", t("sidebar.add_channel"), () => newChannel(ctx)),
    ctx.model.readStates && act("check", t("unread.mark_all_read"), () => markAllRead(ctx)),
    room && isUnread(ctx.model, room.id) && act("check", t("unread.mark_read"), () => markRead(ctx, room)),
    hasRooms && act("hash", t("rooms.browse"), () => browse(ctx)),
    hasRooms && isListed(room) && act("users", t("rooms.members"), () => members(ctx, room.id)),
    act("keyboard", t("shortcuts.title"), async () => (await part(import("./shortcuts.js"))).openShortcuts(ctx)),
    ...added(ctx, "palette").map((tool) => {
      const look = tool.look(room);
      return look && act(tool.icon, look.label, () => tool.run(ctx, room));
    }),
    act("sign-out", t("settings.sign_out"), () => ctx.session.end()),
  ].filter(Boolean);
}

/** Whether a room has a list of members. */
function isListed(room) {
  return room?.kind === "channel" && room.type !== "notes";
}

async function browse(ctx) {
  (await part(import("./rooms/browse.js"))).openBrowse(ctx);
}

async function members(ctx, id) {
  (await part(import("./rooms/room.js"))).openRoom(ctx, id, "members");
}
