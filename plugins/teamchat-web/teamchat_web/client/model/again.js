// Reading anew what a timeline holds, after what happened meanwhile wasn't heard.

const PAGE = 50;
const MOST = 1000; // messages

/**
 * Read what is there once more, as far back as that goes, in pages, and what is newer. A message that is as
 * it was known is the same object, so that nothing of it is drawn anew.
 */
export function readAgain(timeline) {
  return timeline.read(async (fetch, known) => {
    let page = await fetch({ limit: PAGE });
    const read = page;
    while (page.length === PAGE && page[0].id > known[0]?.id && read.length < MOST) {
      page = await fetch({ before: page[0].id, limit: PAGE });
      read.unshift(...page);
    }
    const before = new Map(known.map((message) => [message.id, message]));
    const messages = read.map((message) => {
      const one = before.get(message.id);
      return one && isSame(one, message) ? one : message;
    });
    return { messages, hasOlder: page.length === PAGE, hasNewer: false };
  });
}

/** Whether a message is as it came; what a timeline adds to its own doesn't count. */
function isSame(known, message) {
  return JSON.stringify({ ...known, place: undefined, parentId: undefined }) === JSON.stringify(message);
}
