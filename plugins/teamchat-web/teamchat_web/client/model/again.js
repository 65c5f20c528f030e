// Reading anew what a timeline holds, after what happened meanwhile wasn't heard.

const MOST = 1000; // messages

/**
 * A way to read what is known once more, as far back as that goes, in pages. A message that is as it was
 * known is the same object, so that nothing of it is drawn anew.
 * @param {object[]} known the messages, oldest first
 * @param {function({before?: string, limit: number}): Promise<object[]>} fetch a page, oldest first
 */
export function readAgain(known, fetch) {
  return async ({ limit }) => {
    let page = await fetch({ limit });
    const read = page;
    while (page.length === limit && page[0].id > known[0]?.id && read.length < MOST) {
      page = await fetch({ before: page[0].id, limit });
      read.unshift(...page);
    }
    const before = new Map(known.map((message) => [message.id, message]));
    return read.map((message) => {
      const one = before.get(message.id);
      return one && isSame(one, message) ? one : message;
    });
  };
}

/** Whether a message is as it came; what a timeline adds to its own doesn't count. */
function isSame(known, message) {
  return JSON.stringify({ ...known, place: undefined, parentId: undefined }) === JSON.stringify(message);
}
