// The threads the user follows; where the server doesn't know of that, those they take part in: under their
// own messages, with replies of theirs, and with one that named them. Of these this browser learns from
// events and from the pages it reads, and keeps each by itself, without any text; so tabs write at the same
// time and undo nothing of each other.

import { Emitter } from "../lib/emitter.js";

const PREFIX = "thread/";
const MOST = 300;

/**
 * A thread by its parent's id. `lastReplyAt` is in epoch milliseconds.
 * @typedef {{id: string, placeId: string, lastReplyAt: number}} FollowedThread
 */

/** Emits "changed". */
export class Threads extends Emitter {
  #kept;
  #unread;
  /** They, by their parents' ids. */
  all = new Map();

  /**
   * @param {import("../lib/kept.js").Kept} kept of this user
   * @param {import("./unread.js").Unread} unread
   */
  constructor(kept, unread) {
    super();
    this.#kept = kept;
    this.#unread = unread;
    for (const key of kept.keys(PREFIX)) this.#take(key);
  }

  /** Whether the server knows of them: then nothing is learned here, or kept (model/thread_states.js). */
  isServers = false;

  /** Hear of what other tabs learn. */
  start(signal) {
    const heard = (key) => key?.startsWith(PREFIX) && this.#take(key) && this.emit("changed");
    this.#kept.onChange(heard, signal);
  }

  /** Whether the user takes part in the thread under this message. */
  has(id) {
    return this.all.has(id);
  }

  /** What is unread comes first, and each half begins with the last reply. */
  sorted() {
    const isUnread = ({ id }) => this.#unread.count(id) > 0;
    return [...this.all.values()].sort(
      (a, b) => isUnread(b) - isUnread(a) || b.lastReplyAt - a.lastReplyAt,
    );
  }

  /** How many replies are unread in all of them. */
  unreadCount() {
    return [...this.all.keys()].reduce((total, id) => total + this.#unread.count(id), 0);
  }

  /** The user takes part in a thread, and this is when somebody last replied. */
  follow(id, placeId, lastReplyAt) {
    const known = this.all.get(id);
    if (known && known.lastReplyAt >= lastReplyAt) return;
    this.all.set(id, { id, placeId, lastReplyAt });
    if (!this.isServers) this.#kept.set(PREFIX + id, { placeId, lastReplyAt });
    if (!this.isServers && this.all.size > MOST) this.#drop();
    this.emit("changed");
  }

  /** A message of a channel was read that may be the parent of such a thread. */
  note({ id, author, threadMeta }, placeId, userId) {
    if (this.isServers || !threadMeta?.replyCount) return;
    const takesPart = author.id === userId || threadMeta.participants.includes(userId);
    if (takesPart || this.has(id)) this.follow(id, placeId, threadMeta.lastReplyAt);
  }

  /** The message was deleted, or its last reply. */
  forget(id) {
    this.#kept.delete(PREFIX + id);
    this.#unread.forgetPlace(id);
    if (this.all.delete(id)) this.emit("changed");
  }

  /** The channel was deleted. */
  forgetPlace(placeId) {
    for (const thread of [...this.all.values()]) if (thread.placeId === placeId) this.forget(thread.id);
  }

  /** Take what is kept under a key, or find that it is there no longer. */
  #take(key) {
    const id = key.slice(PREFIX.length);
    const kept = this.#kept.get(key);
    if (kept) this.all.set(id, { id, ...kept });
    else this.all.delete(id);
    return true;
  }

  /** Forget the one that was quiet for longest. */
  #drop() {
    this.forget(this.sorted().at(-1).id);
  }
}
