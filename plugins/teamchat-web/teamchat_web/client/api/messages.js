// The endpoints of what is done to messages and conversations that are there; what a function returns is what
// is in the answer.

import { home, path } from "./api.js";

/** Give a message another text: {message, unreached?}. */
export function edit(api, message, draft) {
  return api.send("PUT", address(message), { body: draft });
}

export function remove(api, message) {
  return api.send("DELETE", address(message));
}

export async function react(api, id, reaction) {
  return (await api.send("POST", path`/messages/${id}/reactions`, { body: { reaction } })).message;
}

export async function unreact(api, id, reaction) {
  return (await api.send("DELETE", path`/messages/${id}/reactions`, { body: { reaction } })).message;
}

/** The conversation with a user, a new one if there was none. */
export async function converse(api, targetUserId) {
  return (await api.send("POST", "/conversations", { body: { targetUserId } })).conversation;
}

/** Where it is changed: a reply at its thread, a direct message at its conversation. */
function address({ id, threadId, place }) {
  if (threadId) return path`/messages/${threadId}/thread/${id}`;
  return place.kind === "channel" ? path`/messages/${id}` : `${home(place)}${path`/messages/${id}`}`;
}
