// What an edit changes of what is unread.

import { callsAt, isLive, tell } from "./events.js";

/** An edit may name the user, or no longer: what is unread calls, a thread is one they take part in. */
export function reconsider(model, message) {
  const { id, threadId, channelId, updatedAt } = message;
  if (!model.directory.channels.has(channelId)) return;
  const place = { kind: "channel", id: channelId };
  const isMention = threadId ? model.isMention(message) : callsAt(model, place, message);
  const { threads, unread } = model;
  const { following } = unread.state(threadId) ?? {};
  // What mentions one in a thread that one doesn't follow is counted in its place.
  const mayCount = isMention || unread.state(channelId)?.mentionCount;
  if (threadId && threads.isServers && !following && mayCount) unread.emit("doubt", { id: channelId });
  if (threadId && !threads.has(threadId)) {
    if (!isMention || following === false) return;
    threads.follow(threadId, channelId, message.createdAt);
    unread.add(threadId, message, true);
    if (threads.isServers) unread.emit("doubt", { id: threadId });
  } else if (threadId && !threads.isServers) {
    return; // Every reply there calls.
  } else if (!unread.edited(threadId ?? channelId, id, isMention)) return;
  if (isLive(model, updatedAt)) tell(model, place, message, true);
}
