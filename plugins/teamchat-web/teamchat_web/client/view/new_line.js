// The line above what is new in a timeline, and whether what is shown may count as read. The line stands where
// the person left off and stays until they write. What was marked as unread while it was in view is not read by
// that: one looks away first.

export class NewLine {
  #unread;
  #timeline;
  #me;
  #from = "";
  #isKept = false;
  #generation = null;
  #isKnown;

  /** The id of the message that has the line above it, if there is one. */
  marker = null;

  /**
   * @param {object} model
   * @param {object} timeline of a place, or of a thread, which has no line
   */
  constructor({ unread, me }, timeline) {
    this.#unread = unread;
    this.#timeline = timeline;
    this.#me = me;
    this.list = timeline.parentId ?? timeline.place.id;
    this.learn();
  }

  /** Whether the server has only now said how much is unread here. */
  learn() {
    const isNews = !this.#isKnown;
    this.#isKnown = Boolean(this.#unread.state(this.list));
    return isNews && this.#isKnown;
  }

  /** Whether what is in view stays unread. */
  get isHeld() {
    const { isMarkedUnread, generation = null } = this.#unread.state(this.list) ?? {};
    if (!isMarkedUnread || this.#generation === null) this.#generation = generation;
    return this.#generation !== generation;
  }

  /** The person comes back to what is shown, or writes there. */
  release(hasWritten) {
    this.#generation = null;
    if (hasWritten) this.#isKept = false;
  }

  /** Put the line where it belongs; returns the ids of the messages that are to be drawn anew. */
  place(isSeen) {
    const { list } = this;
    if (this.isHeld) this.#isKept = false;
    if (this.#timeline.parentId || this.#isKept || (isSeen && !this.isHeld) || !this.#unread.count(list)) return [];
    this.#from = this.#unread.position(list);
    return this.isFurtherUp ? [] : this.draw();
  }

  /** Whether what is new begins before what was loaded. */
  get isFurtherUp() {
    const { hasOlder, items: [oldest] } = this.#timeline;
    return hasOlder && this.#from !== "" && oldest?.id > this.#from;
  }

  /** Put the line where the person left off, as far as it was loaded. */
  draw() {
    const first = this.#timeline.items.find((item) => this.#isNew(item))?.id;
    if (!first || first === this.marker) return [];
    const changed = [this.marker, first].filter(Boolean);
    this.marker = first;
    this.#isKept = true;
    return changed;
  }

  #isNew({ id, state, author }) {
    if (state || author.id === this.#me.id) return false;
    return this.#from ? id > this.#from : this.#unread.has(this.list, id);
  }
}
