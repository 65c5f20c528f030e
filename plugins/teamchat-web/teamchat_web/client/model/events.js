// What each event of the stream changes (the interface's part 6). Lists of users, channels and
// conversations are the directory's; messages are here.

const RECENT_MS = 60_000;

/**
 * Apply an event to the model.
 * @param {import("./model.js").Model} model
 * @param {string} type
 * @param {object} payload
 */
export function apply(model, type, payload) {
  model.directory.apply(type, payload);
  HANDLERS[type]?.(model, payload);
}

const HANDLERS = {
  NEW_MESSAGE: (model, message) => arrive(model, { kind: "channel", id: message.channelId }, message),
  UPDATE_MESSAGE: update,
  DELETE_MESSAGE: remove,
  NEW_DM_MESSAGE(model, { participants, ...message }) {
    model.directory.touchConversation(message);
    arrive(model, { kind: "conversation", id: message.channelId }, message);
  },
  UPDATE_DM_MESSAGE: (model, { participants, ...message }) => update(model, message),
  DELETE_DM_MESSAGE: remove,
  NEW_THREAD_REPLY(model, { parentMessageId, channelId, reply, threadMeta }) {
    model.update(parentMessageId, { threadMeta });
    const message = { ...reply, channelId: reply.channelId ?? channelId, threadId: parentMessageId };
    const takesPart = threadMeta?.participants.includes(model.me.id) || isMine(model, parentMessageId);
    arrive(model, { kind: "channel", id: channelId }, message, takesPart);
  },
  UPDATE_THREAD_REPLY: (model, payload) => update(model, payload.reply ?? payload),
  DELETE_THREAD_REPLY(model, { id, threadId, threadMeta }) {
    model.update(threadId, { threadMeta: threadMeta ?? undefined });
    model.forget(id);
  },
  NEW_REACTION: (model, { messageId, userId, reaction }) =>
    model.setReaction(messageId, reaction, userId, true),
  DELETE_REACTION: (model, { messageId, userId, reaction }) =>
    model.setReaction(messageId, reaction, userId, false),
  DELETE_CHANNEL(model, { id }) {
    model.unread.forgetPlace(id);
    model.outbox.discardAt(id);
  },
  NEW_WEBHOOK: (model) => model.emit("webhooks"),
  DELETE_WEBHOOK: (model) => model.emit("webhooks"),
};

/** A new message. One that `counts` is unread, unless it is one's own. */
function arrive(model, place, message, counts = true) {
  const { threadId = null } = message;
  const isOwn = message.author.id === model.me.id;
  if (isOwn) model.outbox.arrived(message);
  const isHere = (timeline) => timeline.place.id === place.id && timeline.parentId === threadId;
  model.timelines.find(isHere)?.put({ reactions: {}, updatedAt: null, ...message });
  model.unread.saw(message);
  if (isOwn) return model.unread.answered(place.id, message);
  const isMention = model.isMention(message.content);
  if (!counts && !isMention) return undefined;
  model.unread.add(place.id, message, place.kind === "conversation" || isMention);
  const parent = threadId && { parentId: threadId };
  if (isLive(model, message)) model.emit("message", { message, place, ...parent });
  return undefined;
}

/** Whether a message is new now, and not one of those that came while nobody was here. */
function isLive(model, { createdAt }) {
  return createdAt > model.stream.connectedAt - RECENT_MS;
}

function isMine(model, id) {
  const found = (timeline) => timeline.find(id) ?? (timeline.parentId === id ? timeline.parent : null);
  return model.timelines.some((timeline) => found(timeline)?.author.id === model.me.id);
}

function update(model, { id, ...values }) {
  model.update(id, { images: undefined, ...values });
}

function remove(model, { id }) {
  model.forget(id);
}
