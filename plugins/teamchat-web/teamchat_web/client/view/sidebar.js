// The sidebar: every place there is, what is unread in it, and the ways to settings and administration.
// It is a list of links (the address is the place), names are the newest known, and nothing is told by colour
// alone. The list of threads stands above what scrolls.
import { element, icon, renew, replace } from "../lib/dom.js";
import { perFrame } from "../lib/frames.js";
import { part } from "../lib/parts.js";
import { t } from "../lib/strings.js";
import { avatar } from "./people.js";

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
  const addChannel = add(t("sidebar.add_channel"), () => admin(ctx, "channels"));

  const scroller = element(
    "div",
    { class: "side-scroll" },
    section("side-channels", t("sidebar.channels"), addChannel, channels),
    section(
      "side-people",
      t("sidebar.people"),
      add(t("sidebar.add_person"), () => palette(ctx, "people")),
      people,
    ),
  );
  /** What is unread beyond the edges is marked there, from the first that is unread. */
  let fold = async () => {
    fold = () => {};
    const { markFold } = await part(import("./fold.js"));
    if (!signal.aborted) markFold(scroller, signal);
  };
  const drawLists = () => {
    const lists = [threads, channels, people];
    const held = lists.some((list) => list.contains(document.activeElement)) && document.activeElement.hash;
    renew(threads, [threadsLink(ctx)]);
    renew(
      channels,
      model.sortedChannels().map((one) => link(ctx, { ...one, kind: "channel", title: one.name })),
    );
    renew(
      people,
      model.sortedConversations().map((one) => conversationLink(ctx, one)),
    );
    const links = lists.flatMap((list) => [...list.querySelectorAll("a")]);
    if (held) links.find(({ hash }) => hash === held)?.focus();
    if (links.some(({ classList }) => classList.contains("unread"))) fold();
  };
  const draw = perFrame(drawLists, signal);
  const drawMe = () => {
    replace(me, avatar(model.me), element("bdi", { class: "name" }, model.me.userName));
    addChannel.hidden = !model.me.isAdmin;
  };
  const drawServer = () => replace(server, model.serverName || "Teamchat");
  const drawConnection = () => {
    offline.hidden = model.connection !== "offline";
    replace(offline, offline.hidden ? null : [icon("offline"), t("sidebar.offline")]);
  };
  for (const type of ["channels", "conversations", "users"]) model.on(type, draw, signal);
  for (const told of [model.unread, model.threads, model.drafts]) told.on("changed", draw, signal);
  router.on("changed", draw, signal);
  model.on("me", drawMe, signal);
  model.on("server", drawServer, signal);
  model.on("connection", drawConnection, signal);
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
      element("div", { class: "side-body" }, scroller),
    ),
    element(
      "footer",
      { class: "side-foot" },
      me,
      element(
        "button",
        {
          type: "button",
          class: "icon-button",
          "aria-label": t("settings.title"),
          title: t("settings.title"),
          on: { click: () => settings(ctx) },
        },
        icon("settings"),
      ),
    ),
  );
}

/** The settings, loaded when they are wanted. */
export async function settings(ctx) {
  (await part(import("./settings/settings.js"))).openSettings(ctx);
}

/** The administration, loaded when it is wanted. */
export async function admin(ctx, first) {
  (await part(import("./admin/admin.js"))).openAdmin(ctx, first);
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

function add(label, run) {
  return element(
    "button",
    { type: "button", class: "icon-button", "aria-label": label, title: label, on: { click: run } },
    icon("plus"),
  );
}

function conversationLink(ctx, conversation) {
  const { id, userName } = conversation.otherUser;
  const title = ctx.model.users.get(id)?.userName ?? userName;
  return link(ctx, { id: conversation.id, kind: "conversation", title }, avatar({ id, userName: title }));
}

function threadsLink(ctx) {
  const unread = ctx.model.threads.unreadCount();
  const isHere = ctx.router.current.screen === "threads";
  const href = ctx.router.threadsAddress();
  return sideLink({ href, title: t("threads.title"), isHere, unread, calls: unread }, icon("thread"));
}

function link(ctx, { id, kind, title }, sign = icon("hash")) {
  const unread = ctx.model.unread.count(id);
  const calls = kind === "conversation" ? unread : ctx.model.unread.mentionCount(id);
  const isHere = ctx.router.current.place?.id === id;
  const hasDraft = !isHere && ctx.model.drafts.has(id);
  return sideLink({ href: ctx.router.address({ kind, id }), title, isHere, unread, calls, hasDraft }, sign);
}

function sideLink({ href, title, isHere, unread, calls, hasDraft = false }, sign) {
  return element(
    "li",
    {},
    element(
      "a",
      {
        class: `side-link${unread ? " unread" : ""}${calls ? " calls" : ""}`,
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

function badge(unread, calls) {
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
