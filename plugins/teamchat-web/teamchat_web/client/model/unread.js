// What has not been read, by place and by thread.
//
// Two things are kept, in a way in which tabs can't undo each other: the messages that came (every tab hears
// of the same ones, and writes the same), with the id of the last event, so that a page opened later counts
// what came meanwhile; and for each place up to which message it was read, which only ever grows. A message
// is unread if it came and is after that. Replies count at their place for those who take part, and under
// their parent's id until the thread itself is read.

import { Emitter } from "../lib/emitter.js";

const MOST = 500;
const SOON_MS = 250;
const LOG = "unread";
const READ = "read/";

/** Emits "changed" {placeId}; null means all. */
export class Unread extends Emitter {
  #kept;
  #came;
  #lastEventId;
  #newest;
  #newestAt;
  #saving = null;

  /** @param {import("../lib/kept.js").Kept} kept of this user */
  constructor(kept) {
    super();
    this.#kept = kept;
    const { lastEventId = "", newest = "", newestAt = 0, came = {} } = kept.get(LOG, {});
    this.#lastEventId = lastEventId;
    this.#newest = newest;
    this.#newestAt = newestAt;
    this.#came = new Map(Object.entries(came));
  }

  start(signal) {
    this.#kept.onChange((key) => key?.startsWith(READ) && this.#changed(key.slice(READ.length)), signal);
    addEventListener("pagehide", () => this.save(), { signal });
    signal.addEventListener("abort", () => clearTimeout(this.#saving));
  }

  /** Where the stream goes on from; empty the first time. */
  get lastEventId() {
    return this.#lastEventId;
  }

  /** The newest message that was heard of, anywhere. */
  get newest() {
    return this.#newest;
  }

  /** When it was posted, by the server's clock, in epoch milliseconds. */
  get newestAt() {
    return this.#newestAt;
  }

  /** How many messages of a place, or replies of a thread (by its parent's id), are unread. */
  count(placeId) {
    return this.#unread(placeId).length;
  }

  /** How many of them name the user. */
  mentionCount(placeId) {
    return this.#unread(placeId).filter((entry) => entry.isMention).length;
  }

  /** The id of the oldest unread message of a place, replies aside; null if there is none. */
  firstUnread(placeId) {
    return this.#unread(placeId).find((entry) => !entry.threadId)?.id ?? null;
  }

  /** All of it: `unread` messages, and how many of them are `mentions`. */
  total() {
    const all = [...this.#came.keys()];
    const sum = (count) => all.reduce((total, placeId) => total + count(placeId), 0);
    return { unread: sum((id) => this.count(id)), mentions: sum((id) => this.mentionCount(id)) };
  }

  /** The place (or thread) was read, as far as anything came. */
  markRead(placeId) {
    const last = this.#unread(placeId).at(-1)?.id;
    if (last) this.#read(placeId, last);
  }

  /** A message of somebody else that counts. It may be told more than once. */
  add(placeId, { id, threadId = null }, isMention) {
    const entries = this.#came.get(placeId) ?? [];
    if (entries.some((entry) => entry.id === id)) return;
    entries.push({ id, threadId, isMention });
    entries.sort((a, b) => (a.id < b.id ? -1 : 1));
    this.#came.set(placeId, this.#stillNeeded(placeId, entries).slice(0, MOST));
    this.#changed(placeId, threadId);
  }

  /** A message that was seen, counted or not. */
  saw({ id, createdAt }) {
    if (id <= this.#newest) return;
    this.#newest = id;
    this.#newestAt = createdAt;
  }

  /** One's own message: what stands before it was read. */
  answered(placeId, { id, threadId = null }) {
    if (this.#unread(threadId ?? placeId).some((entry) => entry.id < id)) this.#read(threadId ?? placeId, id);
  }

  /** A message was deleted, with its replies. */
  forget(messageId) {
    for (const [placeId, entries] of this.#came) {
      const left = entries.filter((entry) => entry.id !== messageId && entry.threadId !== messageId);
      if (left.length === entries.length) continue;
      this.#came.set(placeId, left);
      this.#changed(placeId);
    }
  }

  /** A place is gone. */
  forgetPlace(placeId) {
    this.#came.delete(placeId);
    this.#kept.delete(READ + placeId);
    this.#changed(placeId);
  }

  /** An event was dealt with; the next visit goes on after it. */
  reached(eventId) {
    this.#lastEventId = eventId;
    this.#saving ??= setTimeout(() => this.save(), SOON_MS);
  }

  /** Keep it now. */
  save() {
    clearTimeout(this.#saving);
    this.#saving = null;
    const came = {};
    for (const [placeId, entries] of this.#came) {
      const needed = this.#stillNeeded(placeId, entries);
      if (needed.length) came[placeId] = needed;
      this.#came.set(placeId, needed);
    }
    const [lastEventId, newest, newestAt] = [this.#lastEventId, this.#newest, this.#newestAt];
    this.#kept.set(LOG, { lastEventId, newest, newestAt, came });
  }

  #unread(id) {
    const own = this.#came.get(id);
    const read = this.#readUpTo(id);
    if (own) return own.filter((entry) => entry.id > read);
    return [...this.#came.values()].flat().filter((entry) => entry.threadId === id && entry.id > read);
  }

  #stillNeeded(placeId, entries) {
    const read = this.#readUpTo(placeId);
    return entries.filter(
      ({ id, threadId }) => id > read || (threadId !== null && id > this.#readUpTo(threadId)),
    );
  }

  #readUpTo(id) {
    return this.#kept.get(READ + id, "");
  }

  #read(id, messageId) {
    if (messageId <= this.#readUpTo(id)) return;
    this.#kept.set(READ + id, messageId);
    this.#changed(id);
  }

  #changed(placeId, threadId) {
    this.emit("changed", { placeId });
    if (threadId) this.emit("changed", { placeId: threadId });
  }
}
