// The pages of a timeline away from its end: those around a message, and from there on down to the newest.
// Where a server doesn't announce `message-context`, there are none.

const PAGE = 50;

/** Have the timeline hold the messages around one, whether that is there or not. */
export function readAround(timeline, id) {
  return timeline.read(async (fetch) => {
    const messages = await fetch({ around: id, limit: PAGE });
    const before = messages.filter((message) => message.id < id).length;
    const after = messages.filter((message) => message.id > id).length;
    return { messages, hasOlder: before >= PAGE / 2 - 1, hasNewer: after >= PAGE / 2 - 1 };
  });
}

/** Load the page after the last message that is there; where all was let go of meanwhile, the newest. */
export function readNewer(timeline) {
  return timeline.read(async (fetch, messages) => {
    const page = await fetch({ after: messages.at(-1).id, limit: PAGE });
    if (timeline.isLoaded) return { messages: [...messages, ...page], hasNewer: page.length === PAGE };
    const newest = await fetch({ limit: PAGE });
    return { messages: newest, hasOlder: newest.length === PAGE, hasNewer: false };
  });
}
