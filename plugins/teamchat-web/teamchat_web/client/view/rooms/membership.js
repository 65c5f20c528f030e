// Joining and leaving. Out of a private channel, or a group, there is no way back by oneself: that is asked before.

import { t } from "../../lib/strings.js";
import { askChannel } from "../../model/asking.js";
import { confirm } from "../dialog.js";
import { roomsApi } from "./api.js";
import { explained } from "./explain.js";
import { titleOf } from "./names.js";

/** Join a public channel. */
export async function join(ctx, { id }) {
  try {
    await roomsApi(ctx).join(id);
  } catch (error) {
    ctx.toast(explained(error), { kind: "danger" });
  }
}

/** Leave a room; returns whether it was done. */
export async function leave(ctx, room) {
  const isHidden = Boolean(room.isPrivate);
  const act = () => roomsApi(ctx).leave(room.id);
  try {
    if (!isHidden) {
      await act();
      await askChannel(ctx.api, ctx.model.directory, room.id); // The event is for those who are left.
    } else if (!(await ask(ctx, room, act))) return false;
  } catch (error) {
    ctx.toast(explained(error), { kind: "danger" });
    return false;
  }
  ctx.toast(t("rooms.left", { name: titleOf(ctx, room) }));
  if (isHidden && ctx.router.current.place?.id === room.id) ctx.router.go(firstBut(ctx, room.id));
  return true;
}

function ask(ctx, room, act) {
  const name = titleOf(ctx, room);
  const { kind = "channel", role, memberCount } = room;
  const lead = [
    t(kind === "group" ? "rooms.leave_group" : "rooms.leave_private"),
    kind === "channel" && memberCount === 1 && t("rooms.leave_last"),
    kind === "channel" && memberCount > 1 && role === "manager" && t("rooms.leave_manager"),
  ];
  return confirm(ctx, {
    title: t("rooms.leave_title", { name }),
    lead: lead.filter(Boolean).join(" "),
    action: t("rooms.leave"),
    act,
    explain: explained,
  });
}

function firstBut({ model }, id) {
  const other = model.sortedChannels().find((one) => one.id !== id);
  return other ? { kind: "channel", id: other.id } : null;
}
