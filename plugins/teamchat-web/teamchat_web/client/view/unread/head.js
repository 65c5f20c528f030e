// The menu of a place, in its head.

import { element, icon } from "../../lib/dom.js";
import "../../lib/more_strings.js";
import { part } from "../../lib/parts.js";
import { t } from "../../lib/strings.js";
import { openMenu } from "../popup.js";
import { isUnread, markAllRead, markRead } from "./marking.js";

/** Put its button there. */
export function dressHead(main, { ctx, place: { id } }) {
  const label = t("unread.menu");
  const look = { type: "button", class: "icon-button", "aria-haspopup": "menu", "aria-expanded": "false" };
  const open = ({ currentTarget }) => openMenu(currentTarget, items(ctx, id));
  if (ctx.signal.aborted) return;
  const button = element("button", { ...look, "aria-label": label, title: label, on: { click: open } }, icon("more"));
  main.querySelector(".bar-action").after(button);
}

function items(ctx, id) {
  const place = ctx.model.place(id);
  return [
    isUnread(ctx.model, id) && { icon: "check", label: t("unread.mark_read"), run: () => markRead(ctx, place) },
    { icon: "check", label: t("unread.mark_all_read"), run: () => markAllRead(ctx) },
    ctx.model.capabilities["notification-levels"] && {
      icon: "bell",
      label: t("levels.open"),
      run: async () => (await part(import("./levels.js"))).openLevels(ctx, place),
    },
  ].filter(Boolean);
}
