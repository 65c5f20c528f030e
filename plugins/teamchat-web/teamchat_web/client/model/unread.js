// What is unread. The first view goes without: counting is `counts.js`, which comes after it and is then told
// what happened until then.

import { Emitter } from "../lib/emitter.js";

// What is asked, and the answer until then.
const ASKED = {
  lists: [],
  state: undefined,
  count: 0,
  mentionCount: 0,
  isMuted: false,
  position: "",
  newestOf: "",
  has: false,
  total: { unread: 0, mentions: 0 },
};
const TOLD = ["markRead", "take", "add", "edited", "gone", "answered", "forgetPlace"];

/**
 * Emits "changed" {placeId}, the id of a place or of a thread's parent; "read" {id, position, generation,
 * calls} for what was shown here (it `calls` if some of it is in the badge) and "left" {id} for what is shown
 * no longer; and "doubt" {id} where only the server can tell the count. Its methods are those of `Counts`.
 */
export class Unread extends Emitter {
  #counts = null;
  #waiting = [];

  /** What the server offers, by name: without `mentions` it knows of none. */
  capabilities = {};

  /** The newest message that was heard of, anywhere: its id, and when it was posted by the server's clock. */
  newest = { id: "", at: 0 };

  /** A message that was seen, counted or not. */
  saw({ id, createdAt }) {
    if (id > this.newest.id) this.newest = { id, at: createdAt };
  }

  /** @param {import("./counts.js").Counts} counts from now on */
  begin(counts) {
    this.#counts = counts;
    for (const [name, about] of this.#waiting.splice(0)) counts[name](...about);
  }

  ask(name, about) {
    return this.#counts ? this.#counts[name](...about) : ASKED[name];
  }

  tell(name, about) {
    if (!this.#counts) this.#waiting.push([name, about]);
    return this.#counts?.[name](...about);
  }
}

for (const [how, names] of [["ask", Object.keys(ASKED)], ["tell", TOLD]]) {
  for (const name of names) Unread.prototype[name] = function (...about) { return this[how](name, about); };
}
