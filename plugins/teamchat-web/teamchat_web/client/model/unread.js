// What has not been read: of each place its messages, and of each thread, under its parent's id, its replies.
//
// What came is kept with the id of the last event, so that a page opened later counts what came meanwhile;
// every tab hears of the same messages, and writes the same. What of it was read is the marks' to say: a
// message is unread if it came and is after the mark of its list.

import { Emitter } from "../lib/emitter.js";
import { ReadMarks } from "./read_marks.js";

const MOST = 500;
const SOON_MS = 250;
const LOG = "unread";

/** Emits "changed" {placeId}, the id of a place or of a thread's parent. */
export class Unread extends Emitter {
  #kept;
  #marks;
  #came;
  #lastEventId;
  #newest;
  #newestAt;
  #saving = null;

  /**
   * @param {import("../lib/kept.js").Kept} kept of this user
   * @param {ReadMarks} [marks] up to where each list was read
   */
  constructor(kept, marks = new ReadMarks(kept)) {
    super();
    this.#kept = kept;
    this.#marks = marks;
    const { lastEventId = "", newest = "", newestAt = 0, came = {} } = kept.get(LOG, {});
    this.#lastEventId = lastEventId;
    this.#newest = newest;
    this.#newestAt = newestAt;
    this.#came = new Map(Object.entries(came));
  }

  start(signal) {
    this.#marks.on("changed", (id) => this.#changed(id), signal);
    this.#marks.start(signal);
    addEventListener("pagehide", () => this.save(), { signal });
    signal.addEventListener("abort", () => clearTimeout(this.#saving));
  }

  /** Where the stream goes on from; empty the first time. */
  get lastEventId() {
    return this.#lastEventId;
  }

  /** The newest message that was heard of, anywhere: its id, and when it was posted by the server's clock. */
  get newest() {
    return { id: this.#newest, at: this.#newestAt };
  }

  /** The ids of the places and threads of which something came. */
  lists() {
    return [...this.#came.keys()];
  }

  /** How many messages of a place, or replies of a thread, are unread. */
  count(id) {
    return this.#unread(id).length;
  }

  /** How many of them call for the user. */
  mentionCount(id) {
    return this.#unread(id).filter((entry) => entry.isMention).length;
  }

  /** The id of the oldest unread message of a place; null if there is none. */
  firstUnread(id) {
    return this.#unread(id)[0]?.id ?? null;
  }

  /** Whether a message of a place, or a reply of a thread, is unread. */
  has(id, messageId) {
    return this.#unread(id).some((entry) => entry.id === messageId);
  }

  /** All of it: `unread` messages and replies, and how many of them are `mentions`. */
  total() {
    const sum = (count) => this.lists().reduce((total, id) => total + count(id), 0);
    return { unread: sum((id) => this.count(id)), mentions: sum((id) => this.mentionCount(id)) };
  }

  /** The place (or thread) was read, as far as anything came. */
  markRead(id) {
    const last = this.#unread(id).at(-1)?.id;
    if (last) this.#marks.advance(id, last);
  }

  /** A message of somebody else that counts; it may be told more than once. A mention calls for the user. */
  add(id, message, isMention) {
    const entries = this.#came.get(id) ?? [];
    if (entries.some((entry) => entry.id === message.id)) return;
    entries.push({ id: message.id, isMention });
    entries.sort((a, b) => (a.id < b.id ? -1 : 1));
    this.#came.set(id, few(this.#stillNeeded(id, entries)));
    this.#changed(id);
  }

  /** A message was edited, and calls for the user now, or no longer. Returns whether that is news. */
  edited(id, messageId, isMention) {
    const entry = this.#unread(id).find((one) => one.id === messageId);
    if (!entry || entry.isMention === isMention) return false;
    entry.isMention = isMention;
    this.#changed(id);
    return isMention;
  }

  /** The stream begins, for the first time, at this moment by the server's clock: all before it was read. */
  begin(at) {
    this.#newestAt ||= at;
  }

  /** A message that was seen, counted or not. */
  saw({ id, createdAt }) {
    if (id <= this.#newest) return;
    this.#newest = id;
    this.#newestAt = createdAt;
  }

  /** One's own message: what stands before it was read. */
  answered(id, message) {
    if (this.#unread(id).some((entry) => entry.id < message.id)) this.#marks.advance(id, message.id);
  }

  /** A message was deleted. */
  forget(messageId) {
    for (const [id, entries] of this.#came) {
      const left = entries.filter((entry) => entry.id !== messageId);
      if (left.length === entries.length) continue;
      this.#came.set(id, left);
      this.#changed(id);
    }
  }

  /** A place or a thread is gone. */
  forgetPlace(id) {
    this.#marks.forget(id);
    if (this.#came.delete(id)) this.#changed(id);
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
    for (const [id, entries] of this.#came) {
      const needed = this.#stillNeeded(id, entries);
      if (needed.length) this.#came.set(id, needed);
      else this.#came.delete(id);
    }
    const [lastEventId, newest, newestAt] = [this.#lastEventId, this.#newest, this.#newestAt];
    this.#kept.set(LOG, { lastEventId, newest, newestAt, came: Object.fromEntries(this.#came) });
  }

  #unread(id) {
    const came = this.#came.get(id);
    return came ? this.#stillNeeded(id, came) : [];
  }

  #stillNeeded(id, entries) {
    const read = this.#marks.get(id);
    return entries.filter((entry) => entry.id > read);
  }

  #changed(placeId) {
    this.emit("changed", { placeId });
  }
}

/** No more than so many: the first stays, the newest, and what calls for the user. */
function few(entries) {
  const at = entries.length > MOST ? entries.findIndex((entry, place) => place > 0 && !entry.isMention) : -1;
  return at < 0 ? entries : entries.toSpliced(at, 1);
}
