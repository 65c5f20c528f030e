// What the user does to messages and conversations that are there; what follows from it events bring as well.

import * as requests from "../api/messages.js";
import { moved, withoutTyped } from "../lib/meant.js";
import { setReaction } from "./events.js";

/**
 * Give a message another text, and say whom it means.
 * @param {{content: string, entities?: object[]}} typed
 */
export async function edit(model, message, typed) {
  const draft = await model.outbox.withEmoji(typed);
  const { place, images } = message;
  const send = (entities) => requests.edit(model.api, message, { ...draft, entities, images });
  const answer = await send(draft.entities).catch((error) => {
    const left = error.status === 403 && withoutTyped(draft.entities);
    if (!left) throw error;
    return send(left);
  });
  const { content, updatedAt, entities, mentions } = answer.message;
  model.update(message.id, { content, updatedAt, entities, mentions });
  model.outbox.emit("edited", { item: { place }, unreached: answer.unreached });
}

/** Delete a message. */
export async function remove(model, message) {
  await requests.remove(model.api, message);
  model.forget(message.id);
}

/** Add one's reaction, or take it back: shown at once, and undone if the server refuses. */
export async function toggleReaction(model, { id, reactions }, reaction) {
  const { me, api } = model;
  const has = Boolean(reactions[reaction]?.includes(me.id));
  const own = { messageId: id, userId: me.id, reaction };
  setReaction(model, own, !has);
  try {
    const answer = await (has ? requests.unreact(api, id, reaction) : requests.react(api, id, reaction));
    model.update(id, { reactions: answer.reactions });
  } catch (error) {
    setReaction(model, own, has);
    throw error;
  }
}

/** The place of the conversation with a user, a new one if there was none. */
export async function openConversation(model, userId) {
  const conversation = await requests.converse(model.api, userId);
  model.directory.addConversation(conversation);
  return model.place(conversation.id);
}

/** A draft with emoji in place of their short names; as it is where their set can't be had. */
export async function withEmoji({ content, entities }, kept) {
  try {
    const set = await (await import("../lib/emoji.js")).emojiSet();
    const filled = set.filled(content, kept.get("skin-tone", 0));
    return { content: filled, entities: entities && moved(entities, content, filled) };
  } catch {
    return { content, entities };
  }
}
