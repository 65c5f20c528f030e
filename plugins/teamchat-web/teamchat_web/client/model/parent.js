// The message that a thread hangs from. There is no endpoint for one message, so a page that ends with it is
// read, unless it is there already.

const NUMBER = /^[0-9a-f]+$/;

/** Give a thread its parent, or end it where there is none. */
export async function findParent(model, thread) {
  const { place, parentId } = thread;
  const known = model.timeline(place).find(parentId);
  if (known) return thread.setParent(known);
  try {
    const [message] = await model.read(place, { before: following(parentId), limit: 1 });
    if (message?.id === parentId) thread.setParent({ ...message, place });
    else if (NUMBER.test(parentId)) thread.end();
  } catch {
    // The replies, which are asked for as well, tell what is wrong; with the connection it is tried again.
  }
  return thread.emit("state");
}

/** The id right after another: a page before it ends with the other, where ids are hexadecimal numbers. */
export function following(id) {
  return NUMBER.test(id) ? (BigInt(`0x${id}`) + 1n).toString(16).padStart(id.length, "0") : id;
}
