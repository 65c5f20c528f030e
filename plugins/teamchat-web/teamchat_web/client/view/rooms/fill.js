// What rooms add to the page, slot by slot.

import { element, icon } from "../../lib/dom.js";
import "../../lib/more_strings.js";
import { part } from "../../lib/parts.js";
import { t } from "../../lib/strings.js";
import { needsSheets } from "../sheet.js";
import { keepBar } from "./bars.js";
import { dressHead } from "./head.js";
import { titleOf } from "./names.js";

needsSheets("rooms");

/** Returns what fills a slot of the page. */
export function filler(ctx) {
  const fill = {
    room(main, { ctx: its, place }) {
      dressHead(ctx, its.signal, main, place.id);
      keepBar(its, main, place.id);
    },
    thread: (panel, { ctx: its, place }) => keepBar(its, panel, place.id, true),
    sidebar: () => offerBrowse(ctx),
    event: ({ payload }) => tellEntry(ctx, payload),
  };
  return (slot, ...offered) => fill[slot](...offered);
}

/** The way to all channels, below those one is in. */
function offerBrowse(ctx) {
  const open = async () => (await part(import("./browse.js"))).openBrowse(ctx);
  const look = { type: "button", class: "side-link side-browse", on: { click: open } };
  const button = element("button", look, icon("search"), element("span", { class: "name" }, t("rooms.browse")));
  document.getElementById("side-channels").closest("section").append(button);
}

/** An admin has entered a private channel: all in it are told (B-12). */
function tellEntry(ctx, { channelId, by }) {
  const { model } = ctx;
  const room = model.channels.get(channelId);
  if (!room || by === model.me.id) return;
  const run = async () => (await part(import("./room.js"))).openRoom(ctx, channelId, "members");
  const words = { name: model.userName(by) ?? "…", room: titleOf(ctx, room) };
  ctx.toast(t("rooms.admin_entered", words), { action: { label: t("rooms.members"), run } });
}
