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
  NEW_THREAD_REPLY(model, payload) {
    const { parentMessageId: threadId, channelId, reply, threadMeta } = payload;
    model.update(threadId, { threadMeta });
    const counts = takesPart(model, payload) || model.isMention(reply.content);
    if (counts) model.threads.follow(threadId, channelId, reply.createdAt);
    arrive(model, { kind: "channel", id: channelId }, { channelId, ...reply, threadId }, counts);
  },
  UPDATE_THREAD_REPLY: (model, payload) => update(model, payload.reply ?? payload),
  DELETE_THREAD_REPLY(model, { id, threadId, threadMeta }) {
    model.update(threadId, { threadMeta: threadMeta ?? undefined });
    model.forget(id);
    if (!threadMeta) model.threads.forget(threadId);
  },
  NEW_REACTION: (model, { messageId, userId, reaction }) =>
    model.setReaction(messageId, reaction, userId, true),
  DELETE_REACTION: (model, { messageId, userId, reaction }) =>
    model.setReaction(messageId, reaction, userId, false),
  DELETE_CHANNEL(model, { id }) {
    model.forgetPlace(id);
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
  if (isOwn) model.unread.answered(threadId ?? place.id, message);
  else if (counts) count(model, place, message);
}

function count(model, place, message) {
  const { threadId } = message;
  const calls = Boolean(threadId) || place.kind === "conversation" || model.isMention(message.content);
  model.unread.add(threadId ?? place.id, message, calls);
  if (isLive(model, message.createdAt)) tell(model, place, message, calls);
}

/** Tell whoever listens of a message that is new for the user. */
export function tell(model, place, message, calls) {
  const parent = message.threadId && { parentId: message.threadId };
  model.emit("message", { message, place, calls, ...parent });
}

/** Whether something is new now, and not of what came while nobody was here. */
export function isLive(model, at) {
  return at > model.stream.connectedAt - RECENT_MS;
}

/** Whether replies to a message count for the user. A server may leave out who wrote the parent (D-45). */
function takesPart(model, { parentMessageId: id, parentAuthorId, threadMeta }) {
  const isMine = parentAuthorId ? parentAuthorId === model.me.id : isOwn(model, id);
  return isMine || Boolean(threadMeta?.participants.includes(model.me.id)) || model.threads.has(id);
}

function isOwn(model, id) {
  const found = (timeline) => timeline.find(id) ?? (timeline.parentId === id ? timeline.parent : null);
  return model.timelines.some((timeline) => found(timeline)?.author.id === model.me.id);
}

function update(model, { id, ...values }) {
  model.update(id, { images: undefined, ...values });
  if (values.channelId && values.author.id !== model.me.id) reconsider(model, { id, ...values });
}

async function reconsider(model, message) {
  (await import("./edits.js")).reconsider(model, message);
}

function remove(model, { id }) {
  model.forget(id);
}
