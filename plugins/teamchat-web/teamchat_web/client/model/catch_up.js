// After a time away that is too long for the stream: one page of each place tells what came meanwhile.
// Replies are left out; their threads show them when they are opened.

/**
 * Count what is newer than anything that was heard of before.
 * @param {import("./model.js").Model} model
 * @param {AbortSignal} signal
 */
export async function catchUp(model, signal) {
  const before = model.unread.newest;
  if (!before) return;
  for (const { id } of [...model.sortedConversations(), ...model.sortedChannels()]) {
    if (signal.aborted) return;
    try {
      count(model, model.place(id), await model.api.messages(model.place(id), { limit: 50 }), before);
    } catch {
      // What can't be read now is read when the place is opened.
    }
  }
}

function count(model, place, messages, before) {
  for (const message of messages) {
    model.unread.saw(message);
    if (message.id <= before || message.author.id === model.me.id) continue;
    model.unread.add(place.id, message, place.kind === "conversation" || model.isMention(message.content));
  }
}
