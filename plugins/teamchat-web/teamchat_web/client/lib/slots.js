// Where more is added to the page. A view offers an element and says what it belongs to. What fills it
// comes once the first view is there, and is then given what was offered before, in that order: the page's
// own parts (view/later.js), and what capabilities bring (view/extensions/). Events of the stream go the same
// way, so that none is missed.

export class Slots {
  #offered = [];
  #fills = [];

  /**
   * Offer something to be filled.
   * @param {string} slot
   * @param {HTMLElement|object} node what may be added to, or an event
   * @param {object} [about] what it belongs to
   */
  offer(...offered) {
    for (const fill of this.#fills) fill(...offered);
    this.#offered?.push(offered);
  }

  /** Have `fill` called with all that was offered, and from now on with what is. */
  watch(fill) {
    for (const offered of this.#offered ?? []) fill(...offered);
    this.#fills.push(fill);
  }

  /** The same, as the last one: what was offered is kept no longer. */
  take(fill) {
    this.watch(fill);
    this.#offered = null;
  }
}
