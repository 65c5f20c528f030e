// What an edit changes of what is unread.

import { callsAt, isLive, tell } from "./events.js";

/** An edit may name the user, or no longer: what is unread calls, a thread is one they take part in. */
export function reconsider(model, message) {
  const { id, threadId, channelId, updatedAt } = message;
  if (!model.directory.channels.has(channelId)) return;
  const place = { kind: "channel", id: channelId };
  const isMention = threadId ? model.isMention(message) : callsAt(model, place, message);
  if (threadId && !model.threads.has(threadId)) {
    if (!isMention) return;
    model.threads.follow(threadId, channelId, message.createdAt);
    model.unread.add(threadId, message, true);
    if (model.threads.isServers) model.unread.emit("doubt", { id: threadId });
  } else if (threadId && !model.threads.isServers) {
    return; // Every reply there calls.
  } else if (!model.unread.edited(threadId ?? channelId, id, isMention)) return;
  if (isLive(model, updatedAt)) tell(model, place, message, true);
}
