// After a time away that is too long for the stream. On a server that counts neither messages nor replies,
// one page of each place tells what came meanwhile, and one page of each thread with newer replies in which
// the user takes part, whether it hangs from such a page or is known from before. What lies further back is
// not counted; it shows when it is read.

import { callsAt } from "./events.js";
import { findParent } from "./parent.js";

const PAGE = { limit: 50 };
const MOST_THREADS = 30;

/**
 * Load what is shown anew, and count what is newer than anything that was heard of before.
 * @param {import("./model.js").Model} model
 * @param {{id?: string, at?: number}} since the newest message that was heard of; nothing is counted without
 * @param {AbortSignal} signal
 */
export async function catchUp(model, since, signal) {
  model.emit("event", { type: "RESYNC", payload: {} });
  loadAnew(model);
  if (!since.at || (model.readStates && model.capabilities.threads)) return;
  const read = new Set();
  await each([...model.sortedDirect(), ...model.sortedChannels()], signal, ({ id }) =>
    countPlace(model, model.place(id), since, read),
  );
  const others = model.threads.sorted().filter(({ id }) => !read.has(id));
  await each(others.slice(0, MOST_THREADS), signal, ({ id, placeId }) =>
    countThread(model, id, placeId, since),
  );
}

/** Load what is shown anew, and then the messages that its threads hang from; forget all else. */
async function loadAnew(model) {
  const { timelines } = model;
  const shown = timelines.filter(({ isWatched }) => isWatched);
  for (const timeline of timelines.filter(({ isWatched }) => !isWatched)) {
    timeline.unload();
    timeline.parent = null;
  }
  await Promise.all(shown.map((timeline) => timeline.reload()));
  for (const timeline of shown) if (timeline.parentId && !timeline.isGone) findParent(model, timeline);
}

/**
 * Read one page of each channel, to learn of the threads the user takes part in.
 * @param {import("./model.js").Model} model
 * @param {AbortSignal} signal
 */
export function findThreads(model, signal) {
  const rooms = model.sortedDirect().filter(({ type }) => type !== "direct");
  const all = [...model.sortedChannels(), ...rooms];
  return each(all, signal, ({ id }) => model.read({ kind: "channel", id }, PAGE));
}

async function each(all, signal, work) {
  for (const one of all) {
    if (signal.aborted) return;
    try {
      await work(one);
    } catch {
      // What can't be read now is read when it is opened.
    }
  }
}

async function countPlace(model, place, since, read) {
  const messages = await model.read(place, PAGE);
  for (const message of messages) {
    model.unread.saw(message);
    if (!isNews(model, message, since) || model.unread.state(place.id)) continue;
    model.unread.add(place.id, message, callsAt(model, place, message));
  }
  for (const { id, threadMeta } of messages) {
    read.add(id);
    const isMissed = threadMeta?.lastReplyAt >= since.at && model.threads.has(id);
    if (isMissed) await countThread(model, id, place.id, since);
  }
}

async function countThread(model, id, placeId, since) {
  for (const reply of await model.api.thread(id, PAGE)) {
    model.unread.saw(reply);
    model.threads.follow(id, placeId, reply.createdAt);
    if (isNews(model, reply, since)) model.unread.add(id, reply, true);
  }
}

/** Whether somebody else wrote it since. Before the first message is heard of, only the time is known. */
function isNews(model, { id, createdAt, author }, since) {
  return author.id !== model.me.id && (since.id ? id > since.id : createdAt > since.at);
}
