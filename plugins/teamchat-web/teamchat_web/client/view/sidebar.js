// The sidebar: every place there is, what is unread in it, and the ways to settings and administration.
// It is a list of links (the address is the place), names are the newest known, and nothing is told by colour
// alone. The list of threads stands above what scrolls.
import { element, icon, renew, replace } from "../lib/dom.js";
import { perFrame } from "../lib/frames.js";
import { part } from "../lib/parts.js";
import { t } from "../lib/strings.js";
import { avatar } from "./people.js";
import { signOf } from "./place.js";

const MANY = 99;

/**
 * @param {object} ctx
 * @returns {HTMLElement}
 */
export function sidebar(ctx) {
  const { model, router, signal } = ctx;
  const server = element("bdi", { class: "name" });
  const threads = element("ul", { class: "side-list side-top" });
  const channels = element("ul", { class: "side-list" });
  const people = element("ul", { class: "side-list" });
  const offline = element("p", { class: "offline", role: "status", hidden: true });
  const me = element("button", {
    type: "button",
    class: "button button-quiet",
    on: { click: () => settings(ctx) },
  });
  const addChannel = iconButton("plus", t("sidebar.add_channel"), () => newChannel(ctx));

  const body = element(
    "div",
    { class: "side-scroll" },
    section("side-channels", t("sidebar.channels"), addChannel, channels),
    section(
      "side-people",
      t("sidebar.people"),
      iconButton("plus", t("sidebar.add_person"), () => palette(ctx, "people")),
      people,
    ),
  );
  /** What is unread beyond the edges is marked there, from the first that is unread. */
  let fold = async () => {
    fold = () => {};
    const { markFold } = await part(import("./fold.js"));
    if (!signal.aborted) markFold(body, signal);
  };
  const drawLists = () => {
    const lists = [threads, channels, people];
    const held = lists.some((list) => list.contains(document.activeElement)) && document.activeElement.hash;
    renew(threads, [threadsLink(ctx)]);
    renew(
      channels,
      model.sortedChannels().map(({ id }) => link(ctx, model.place(id))),
    );
    renew(
      people,
      model.sortedDirect().map((place) => link(ctx, place)),
    );
    const links = lists.flatMap((list) => [...list.querySelectorAll("a")]);
    if (held) links.find(({ hash }) => hash === held)?.focus();
    if (links.some(({ classList }) => classList.contains("unread"))) fold();
  };
  const draw = perFrame(drawLists, signal);
  const drawMe = () => {
    replace(me, avatar(model.me), element("bdi", { class: "name" }, model.me.userName));
    addChannel.hidden = !mayAddChannels(model);
  };
  const drawServer = () => replace(server, model.serverName || "Teamchat");
  const drawConnection = () => {
    offline.hidden = model.connection !== "offline";
    replace(offline, offline.hidden ? null : [icon("offline"), t("sidebar.offline")]);
  };
  for (const type of ["channels", "conversations", "users"]) model.on(type, draw, signal);
  for (const told of [model.unread, model.threads, model.drafts]) told.on("changed", draw, signal);
  router.on("changed", draw, signal);
  for (const type of ["me", "rights"]) model.on(type, drawMe, signal);
  model.on("server", drawServer, signal);
  model.on("connection", drawConnection, signal);
  ctx.slots.offer("sidebar", threads, { ctx });
  for (const first of [drawLists, drawMe, drawServer, drawConnection]) first();

  return element(
    "div",
    { class: "sidebar", id: "sidebar" },
    element("header", { class: "bar" }, serverMenu(ctx, server)),
    jump(ctx),
    offline,
    element(
      "nav",
      { class: "side-nav", "aria-label": t("sidebar.label") },
      threads,
      element("div", { class: "side-body" }, body),
    ),
    element(
      "footer",
      { class: "side-foot" },
      me,
      iconButton("settings", t("settings.title"), () => settings(ctx)),
    ),
  );
}

/** The settings, loaded when they are wanted. */
export async function settings(ctx, first) {
  (await part(import("./settings/settings.js"))).openSettings(ctx, first);
}

/** The administration, loaded when it is wanted. */
export async function admin(ctx, first) {
  (await part(import("./admin/admin.js"))).openAdmin(ctx, first);
}

/** Whether the user may make channels, of one kind at least. */
export function mayAddChannels({ me, may }) {
  return me.isAdmin || may.some((one) => one.startsWith("create-"));
}

/** What makes a channel, loaded when it is wanted. */
export async function newChannel(ctx) {
  (await part(import("./rooms/new_channel.js"))).openNewChannel(ctx);
}

/** The command palette, loaded when it is wanted. */
export async function palette(ctx, scope) {
  (await part(import("./palette.js"))).openPalette(ctx, scope);
}

function serverMenu(ctx, name) {
  const open = async ({ currentTarget }) =>
    (await part(import("./server_menu.js"))).openServerMenu(ctx, currentTarget);
  return element(
    "button",
    {
      type: "button",
      class: "button button-quiet server",
      "aria-haspopup": "menu",
      "aria-expanded": "false",
      on: { click: open },
    },
    name,
    icon("chevron"),
  );
}

function jump(ctx) {
  const isApple = /Mac|iPhone|iPad/.test(navigator.platform);
  return element(
    "button",
    { type: "button", class: "button jump", on: { click: () => palette(ctx) } },
    icon("search"),
    t("sidebar.jump"),
    element("kbd", { "aria-hidden": "true" }, isApple ? "⌘K" : `${t("sidebar.ctrl")} K`),
  );
}

function section(id, title, button, list) {
  list.setAttribute("aria-labelledby", id);
  return element(
    "section",
    {},
    element("div", { class: "side-head" }, element("h2", { id }, title), button),
    list,
  );
}

/** A button that shows a sign alone. */
export function iconButton(sign, label, run) {
  return element(
    "button",
    { type: "button", class: "icon-button", "aria-label": label, title: label, on: { click: run } },
    icon(sign),
  );
}

function threadsLink(ctx) {
  const unread = ctx.model.threads.unreadCount();
  const isHere = ctx.router.current.screen === "threads";
  const href = ctx.router.threadsAddress();
  return sideLink({ href, title: t("threads.title"), isHere, unread, calls: unread }, icon("thread"));
}

function link(ctx, place) {
  const { id, title } = place;
  const { unread: all } = ctx.model;
  const isMuted = all.isMuted(id);
  const unread = isMuted ? 0 : all.count(id);
  const calls = isMuted ? 0 : all.mentionCount(id);
  const isHere = ctx.router.current.place?.id === id;
  const look = {
    title,
    isHere,
    isMuted,
    unread,
    calls,
    isMarked: !isMuted && all.state(id)?.isMarkedUnread,
    hasDraft: !isHere && ctx.model.drafts.has(id),
  };
  return sideLink({ href: ctx.router.address(place), ...look }, signOf(ctx, place));
}

export function sideLink({ href, title, isHere, isMuted, isMarked, unread, calls, hasDraft }, sign) {
  return element(
    "li",
    {},
    element(
      "a",
      {
        class: `side-link${unread || isMarked ? " unread" : ""}${calls ? " calls" : ""}${isMuted ? " muted" : ""}`,
        href,
        "aria-current": isHere ? "page" : null,
      },
      sign,
      element("span", { class: "name", dir: "auto" }, title),
      hasDraft && [
        element("span", { "aria-hidden": "true" }, "✎"),
        element("span", { class: "visually-hidden" }, t("sidebar.draft")),
      ],
      unread > 0 && badge(unread, calls),
    ),
  );
}

export function badge(unread, calls) {
  const shown = calls || unread;
  return [
    element(
      "span",
      { class: calls ? "badge badge-mention" : "badge", "aria-hidden": "true" },
      shown > MANY ? `${MANY}+` : String(shown),
    ),
    element("span", { class: "visually-hidden" }, t("sidebar.unread", { count: unread })),
    calls > 0 && element("span", { class: "visually-hidden" }, t("sidebar.mentions", { count: calls })),
  ];
}
