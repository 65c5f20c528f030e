// After a time away that is too long for the stream: one page of each place tells what came meanwhile, and
// one page of each thread on it in which the user takes part and somebody has replied. What lies further back
// is not counted; it shows when it is read.

const PAGE = { limit: 50 };

/**
 * Count what is newer than anything that was heard of before.
 * @param {import("./model.js").Model} model
 * @param {AbortSignal} signal
 */
export async function catchUp(model, signal) {
  const before = { id: model.unread.newest, at: model.unread.newestAt };
  if (!before.id) return;
  for (const { id } of [...model.sortedConversations(), ...model.sortedChannels()]) {
    if (signal.aborted) return;
    try {
      await catchUpAt(model, model.place(id), before);
    } catch {
      // What can't be read now is read when the place is opened.
    }
  }
}

async function catchUpAt(model, place, before) {
  const messages = await model.api.messages(place, PAGE);
  count(model, place, messages, before);
  for (const message of messages) {
    if (!isMissed(model, message, before)) continue;
    const replies = await model.api.thread(message.id, PAGE);
    count(model, place, replies.map((reply) => ({ ...reply, threadId: message.id })), before);
  }
}

/** Whether a message has newer replies that count for the user. */
function isMissed(model, { author, threadMeta }, before) {
  if (!threadMeta || threadMeta.lastReplyAt < before.at) return false;
  return author.id === model.me.id || threadMeta.participants.includes(model.me.id);
}

function count(model, place, messages, before) {
  for (const message of messages) {
    model.unread.saw(message);
    if (message.id <= before.id || message.author.id === model.me.id) continue;
    model.unread.add(place.id, message, place.kind === "conversation" || model.isMention(message.content));
  }
}
