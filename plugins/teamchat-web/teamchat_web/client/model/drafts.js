// What was begun and not sent, by place and by thread: the text of a message to come, and the unfinished edit
// of one that is there. Other tabs hear of it, and it is there after a reload.

import { Emitter } from "../lib/emitter.js";

const START = "draft/";

/** Emits "changed" when drafts are begun or gone, and "written" {key, from} for each text. */
export class Drafts extends Emitter {
  #kept;
  #keys;

  /** @param {import("../lib/kept.js").Kept} kept of this user */
  constructor(kept) {
    super();
    this.#kept = kept;
    this.#keys = new Set(kept.keys(START));
  }

  start(signal) {
    this.#kept.onChange((key) => key?.startsWith(START) && this.#look(key, "tab"), signal);
  }

  /** The text of a message to come, or with `isEdit` an unfinished edit {id, text}; null if there is none. */
  get(place, parentId, isEdit = false) {
    const key = keyOf(place, parentId, isEdit);
    return this.#keys.has(key) ? this.#kept.get(key) : null;
  }

  /** Keep it; what is empty or null is forgotten. */
  set(place, parentId, value, isEdit = false, from = "here") {
    const key = keyOf(place, parentId, isEdit);
    if (value) this.#kept.set(key, value);
    else if (this.#keys.has(key)) this.#kept.delete(key);
    this.#look(key, from);
  }

  get keys() {
    return [...this.#keys];
  }

  /** Whether anything waits at a place, or in a thread there. */
  has(placeId) {
    return this.#at(placeId).length > 0;
  }

  /** Forget what was begun at a place, and in threads there. */
  forgetAt(placeId) {
    for (const key of this.#at(placeId)) {
      this.#kept.delete(key);
      this.#look(key);
    }
  }

  #at(placeId) {
    const whole = START + placeId;
    return [...this.#keys].filter((key) => key === whole || key.startsWith(`${whole}/`));
  }

  #look(key, from) {
    const isThere = Boolean(this.#kept.get(key));
    const isOther = isThere !== this.#keys.has(key);
    if (isThere) this.#keys.add(key);
    else this.#keys.delete(key);
    if (isOther) this.emit("changed");
    this.emit("written", { key, from });
  }
}

const keyOf = ({ id }, parentId, isEdit) =>
  START + id + (parentId ? `/${parentId}` : "") + (isEdit ? "/edit" : "");
