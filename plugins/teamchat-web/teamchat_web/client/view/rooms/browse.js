// All channels one sees, to look through: which one is in, which not, which are archived. A dialog that follows the
// stream.

import { assign, element, icon, replace } from "../../lib/dom.js";
import "../../lib/more_strings.js";
import { t } from "../../lib/strings.js";
import { openDialog } from "../dialog.js";
import { needsSheets } from "../sheet.js";
import { join, leave } from "./membership.js";
import { signOf } from "./names.js";
import { rightsIn } from "./rights.js";

needsSheets("rooms");

const SHOWN = {
  all: (room) => !room.isArchived,
  joined: (room) => !room.isArchived && room.isMember,
  others: (room) => !room.isArchived && !room.isMember,
  archived: (room) => room.isArchived,
};
const MOST = 200;
const SMALL = { class: "button button-quiet button-small", type: "button" };

/** Open the dialog. */
export function openBrowse(ctx) {
  const { model } = ctx;
  let shown = "all";
  const end = new AbortController();
  const count = element("p", { class: "soft small", role: "status" });
  const list = element("ul", { class: "rows", "aria-label": t("rooms.browse"), tabindex: "-1" });
  const find = element("input", {
    class: "input",
    type: "search",
    "aria-label": t("rooms.find_channel"),
    placeholder: t("rooms.find_channel"),
    autocomplete: "off",
    on: { input: () => draw() },
  });
  const kinds = Object.keys(SHOWN).map((kind) =>
    element("button", { ...SMALL, on: { click: () => choose(kind) } }, label(kind)),
  );
  const filters = element("div", { class: "cluster", role: "group", "aria-label": t("rooms.show") }, kinds);
  const body = element("div", { class: "dialog-body stack" }, find, filters, count, list);
  const dialog = openDialog(ctx, { title: t("rooms.browse"), kind: "dialog-wide" }, body);
  dialog.node.addEventListener("close", (event) => event.target === dialog.node && end.abort());
  const signal = AbortSignal.any([ctx.signal, end.signal]);
  for (const type of ["channels", "me"]) model.on(type, draw, signal);
  choose("all");
  find.focus();

  function choose(kind) {
    shown = kind;
    kinds.forEach((button, at) => assign(button, { "aria-pressed": String(Object.keys(SHOWN)[at] === kind) }));
    draw();
  }

  function draw() {
    const query = find.value.trim().toLowerCase();
    const fits = ({ name, topic = "" }) => `${name} ${topic}`.toLowerCase().includes(query);
    const isChannel = ({ kind = "channel" }) => kind === "channel";
    const all = [...model.channels.values()].sort(byName).filter((one) => isChannel(one) && SHOWN[shown](one) && fits(one));
    const held = list.contains(document.activeElement) ? document.activeElement.dataset.key : null;
    replace(list, all.slice(0, MOST).map(line));
    count.textContent = all.length > MOST ? t("rooms.found_more", { count: all.length, shown: MOST }) : said(all.length);
    if (held === null) return;
    const same = [...list.querySelectorAll("[data-key]")].find((one) => one.dataset.key === held);
    const [id] = (held ?? "").split(" ");
    (same ?? list.querySelector(`[data-key^="${CSS.escape(id)} "]`) ?? list).focus();
  }

  function line(room) {
    const { id, name, topic, isMember, memberCount, isArchived } = room;
    const rights = rightsIn(model, room);
    const href = ctx.router.address({ kind: "channel", id });
    const go = { class: "room-name", href, dataset: { key: `${id} open` }, on: { click: () => dialog.close() } };
    const words = [
      memberCount !== undefined && t("rooms.count", { count: memberCount }),
      topic,
    ];
    return element(
      "li",
      { class: "row" },
      icon(signOf(room)),
      element(
        "div",
        { class: "row-main" },
        element(
          "span",
          {},
          element("a", go, element("bdi", {}, name)),
          tags([room.isPrivate && t("rooms.private"), isMember && t("rooms.joined"), isArchived && t("rooms.is_archive")]),
        ),
        element("span", { class: "soft", dir: "auto" }, words.filter(Boolean).join(" · ")),
      ),
      element(
        "div",
        { class: "row-actions" },
        rights.join && button(id, "join", t("rooms.join_name", { name }), t("rooms.join"), () => join(ctx, room)),
        rights.leave && button(id, "leave", t("rooms.leave_name", { name }), t("rooms.leave"), () => leave(ctx, room)),
      ),
    );
  }
}

function byName(one, other) {
  return one.name.localeCompare(other.name, undefined, { numeric: true });
}

function tags(words) {
  return words.filter(Boolean).map((word) => [" ", element("bdi", { class: "tag" }, word)]);
}

function button(id, key, label, text, act) {
  const look = { class: "button button-small", type: "button", "aria-label": label, dataset: { key: `${id} ${key}` } };
  return element("button", { ...look, on: { click: act } }, text);
}

function said(count) {
  return count ? t("rooms.channels", { count }) : t("rooms.no_channels");
}

function label(kind) {
  return t(`rooms.show_${kind}`);
}
