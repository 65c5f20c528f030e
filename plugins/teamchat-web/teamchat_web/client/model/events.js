// What each event of the stream changes (the interface's part 6). Lists of users, channels and
// conversations are the directory's; messages are here.

const RECENT_MS = 60_000;

/**
 * Apply an event to the model, and tell whoever else listens.
 * @param {import("./model.js").Model} model
 * @param {string} type
 * @param {object} payload
 * @param {string} id its position in the log; empty if it isn't there
 */
export function apply(model, type, payload, id) {
  model.directory.apply(type, payload, id);
  HANDLERS[type]?.(model, payload, Number(id));
  model.emit("event", { type, payload });
}

const HANDLERS = {
  NEW_MESSAGE(model, message, at) {
    const { channelId: id } = message;
    if (model.channels.has(id)) model.directory.touch(message);
    arrive(model, { kind: "channel", id }, message, at);
  },
  UPDATE_MESSAGE: update,
  DELETE_MESSAGE: remove,
  NEW_DM_MESSAGE(model, { participants, ...message }, at) {
    model.directory.touch(message);
    arrive(model, { kind: "conversation", id: message.channelId }, message, at);
  },
  UPDATE_DM_MESSAGE: (model, { participants, ...message }) => update(model, message),
  DELETE_DM_MESSAGE: remove,
  NEW_THREAD_REPLY(model, payload, at) {
    const { parentMessageId: threadId, channelId, reply, threadMeta } = payload;
    model.update(threadId, { threadMeta });
    const message = { channelId, ...reply, threadId };
    const isIn = takesPart(model, payload) || model.isMention(message);
    const counts = isIn && model.unread.state(threadId)?.following !== false;
    if (counts) model.threads.follow(threadId, channelId, reply.createdAt);
    arrive(model, { kind: "channel", id: channelId }, message, at, counts);
  },
  UPDATE_THREAD_REPLY: (model, payload) => update(model, payload.reply ?? payload),
  DELETE_THREAD_REPLY(model, payload, at) {
    const { threadId, threadMeta } = payload;
    model.update(threadId, { threadMeta: threadMeta ?? undefined });
    remove(model, payload, at);
    if (!threadMeta) model.threads.forget(threadId);
  },
  NEW_REACTION: (model, told) => setReaction(model, told, true),
  DELETE_REACTION: (model, told) => setReaction(model, told, false),
  DELETE_CHANNEL(model, { id, reason }) {
    if (!model.channels.has(id)) model.losePlace(id, Boolean(reason));
  },
  UPDATE_CHANNEL: (model, { id, isArchived }) => isArchived && model.forgetUnread(id),
  CHANNEL_MEMBER_REMOVED: (model, { channelId, userId }) =>
    userId === model.me.id && model.forgetUnread(channelId),
  NEW_WEBHOOK: (model) => model.emit("webhooks"),
  DELETE_WEBHOOK: (model) => model.emit("webhooks"),
};

/** A new message. One that `counts` is unread, unless it is one's own. */
function arrive(model, place, message, at, counts = true) {
  const { threadId = null } = message;
  const isOwn = message.author.id === model.me.id;
  if (isOwn) model.outbox.arrived(message);
  const isHere = (timeline) => timeline.place.id === place.id && timeline.parentId === threadId;
  model.timelines.find(isHere)?.put({ reactions: {}, updatedAt: null, ...message });
  model.unread.saw(message);
  if (isOwn) model.unread.answered(threadId ?? place.id, message);
  else if (counts) count(model, place, message, at);
}

function count(model, place, message, at) {
  const { threadId } = message;
  if (!threadId && !model.isIn(place.id)) return;
  const calls = Boolean(threadId) || callsAt(model, place, message);
  const isNamed = threadId && model.threads.isServers ? model.isMention(message) : calls;
  model.unread.add(threadId ?? place.id, message, isNamed, at);
  const isTold = calls || message.mentions?.includes("@here");
  if (isLive(model, message.createdAt)) tell(model, place, message, isTold);
}

/** Whether what is said at a place is for the user: a direct message, one in a group, or a mention. */
export function callsAt(model, { id }, message) {
  return ["direct", "group"].includes(model.place(id)?.type) || model.isMention(message);
}

/** Add somebody's reaction to a message, or take it back. */
export function setReaction(model, { messageId, userId, reaction }, isThere) {
  model.update(messageId, ({ reactions }) => {
    const users = (reactions[reaction] ?? []).filter((one) => one !== userId);
    if (isThere) users.push(userId);
    const { [reaction]: _, ...others } = reactions;
    if (!users.length) return { reactions: others };
    return { reactions: { ...reactions, [reaction]: users } };
  });
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
  model.update(id, { images: undefined, entities: undefined, mentions: undefined, ...values });
  if (values.channelId && values.author.id !== model.me.id) model.emit("edited", { id, ...values });
}

function remove(model, { id, threadId, channelId, conversationId, authorId }, at) {
  model.forget(id);
  const isOwn = authorId === model.me.id;
  if (!isOwn) model.unread.gone(threadId ?? channelId ?? conversationId, id, authorId, at);
  // The replies to it are gone too, and may have named the user.
  if (!threadId && model.unread.state(channelId)?.mentionCount) model.unread.emit("doubt", { id: channelId });
}
