// Up to which message each list was read: a place's messages by the place's id, a thread's replies by its
// parent's. Marks only ever move forward, so tabs can't undo each other. They are kept in this browser.

import { Emitter } from "../lib/emitter.js";

const PREFIX = "read/";

/** Emits "changed" with the id of the list. */
export class ReadMarks extends Emitter {
  #kept;

  /** @param {import("../lib/kept.js").Kept} kept of this user */
  constructor(kept) {
    super();
    this.#kept = kept;
  }

  /** Hear of what other tabs read. */
  start(signal) {
    const heard = (key) => key?.startsWith(PREFIX) && this.emit("changed", key.slice(PREFIX.length));
    this.#kept.onChange(heard, signal);
  }

  /** The id of the last message that was read; empty if none was. */
  get(id) {
    return this.#kept.get(PREFIX + id, "");
  }

  /** The list was read up to a message. */
  advance(id, messageId) {
    if (messageId <= this.get(id)) return;
    this.#kept.set(PREFIX + id, messageId);
    this.emit("changed", id);
  }

  /** The list is gone. */
  forget(id) {
    this.#kept.delete(PREFIX + id);
  }
}
