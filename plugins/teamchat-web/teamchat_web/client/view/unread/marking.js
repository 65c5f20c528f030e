// What people do about what is unread, beyond reading it: mark a message as unread, a place or all of them as read.

import "../../lib/more_strings.js";
import { t } from "../../lib/strings.js";
import { words } from "../notices.js";

/** From this message on its place is unread, on all devices; or its thread, from this reply on. */
export async function markUnread(ctx, { id, place, parentId }) {
  const { readStates, threadStates } = ctx.model;
  const mark = () => (parentId ? threadStates.markUnread(parentId, id) : readStates.markUnread(place.id, id));
  const isDone = await tried(ctx, mark);
  if (isDone) ctx.announce(t("unread.marked_unread"));
}

/** A place was read. */
export function markRead(ctx, { id, label }) {
  ctx.model.unread.markRead(id);
  ctx.model.unread.emit("left", { id }); // It is told at once.
  ctx.announce(t("unread.marked_read", { name: label }));
}

/** Everything was read. */
export async function markAllRead(ctx) {
  const isDone = await tried(ctx, () => ctx.model.readStates.markAllRead());
  if (isDone) ctx.announce(t("unread.marked_all_read"));
}

/** Whether anything of a place is unread. */
export function isUnread({ unread }, id) {
  return unread.count(id) > 0 || Boolean(unread.state(id)?.isMarkedUnread);
}

async function tried(ctx, act) {
  try {
    await act();
    return true;
  } catch (error) {
    ctx.toast(words(error), { kind: "danger" });
    return false;
  }
}
