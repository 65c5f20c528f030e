// What the next message at a place, or in a thread there, is to quote. It is there after a reload, until it was sent or let
// go of.

const NAME = "pending/";

export class Pending {
  #kept;
  #changed;

  /** `changed` is called when another message is to be quoted. */
  constructor({ kept }, changed) {
    this.#kept = kept;
    this.#changed = changed;
  }

  /** The id of what is to be quoted, or null. */
  get(about) {
    return this.#kept.get(nameOf(about));
  }

  set(about, id) {
    const before = this.get(about);
    if (before === id) return;
    if (id) this.#kept.set(nameOf(about), id);
    else this.#kept.delete(nameOf(about));
    this.#changed();
  }

  /** Quote nothing. Returns whether anything was to be. */
  letGo(about) {
    const was = this.get(about);
    this.set(about, null);
    return was;
  }

  /** What a post has besides. */
  fields(about) {
    const quotedMessageId = this.get(about);
    return quotedMessageId ? { quotedMessageId } : null;
  }
}

function nameOf({ place, parentId }) {
  return NAME + place.id + (parentId ? `/${parentId}` : "");
}
