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

/** A place was read, and what mentions one in its threads. */
export function markRead(ctx, { id, label }) {
  for (const one of [id, ...calling(ctx.model, id)]) read(ctx.model, one);
  ctx.announce(t("unread.marked_read", { name: label }));
}

/** Everything was read. */
export async function markAllRead(ctx) {
  const { model } = ctx;
  const isDone = await tried(ctx, () => model.readStates.markAllRead());
  if (!isDone) return;
  for (const { id } of model.threads.sorted()) if (model.unread.mentionCount(id)) read(model, id);
  ctx.announce(t("unread.marked_all_read"));
}

/** Whether anything of a place is unread. */
export function isUnread(model, id) {
  const { unread } = model;
  return unread.count(id) > 0 || Boolean(unread.state(id)?.isMarkedUnread) || calling(model, id).length > 0;
}

/** The threads of a place that one follows and is mentioned in: its count of mentions is theirs, too. */
function calling({ threads, unread }, placeId) {
  const calls = (thread) => thread.placeId === placeId && unread.mentionCount(thread.id) > 0;
  return threads.sorted().filter(calls).map(({ id }) => id);
}

function read({ unread }, id) {
  unread.markRead(id);
  unread.emit("left", { id }); // It is told at once.
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
