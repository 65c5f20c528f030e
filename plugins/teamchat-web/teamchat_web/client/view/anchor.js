// Anchoring: what is read stays where it is on the screen while things above it come, go and change
// size, and the end stays in view for who is there. Browsers' own anchoring is off (not all have it, and
// it knows nothing of the end): this is the one place that corrects the scroll position.
const END = 48;

export class Anchor {
  #scroller;
  #list;
  #held = null;
  #at = 0;
  #height = 0;

  /** Whether the newest message is in view. */
  isAtEnd = true;

  /** Whether what is loaded ends before the newest message, so that nobody can be there. */
  isLoose = false;

  /**
   * @param {HTMLElement} scroller
   * @param {HTMLElement} list holds chunks, which hold the entries to hold on to
   * @param {AbortSignal} signal
   */
  constructor(scroller, list, signal) {
    this.#scroller = scroller;
    this.#list = list;
    const sizes = new ResizeObserver(() => this.restore());
    sizes.observe(scroller);
    sizes.observe(list);
    signal.addEventListener("abort", () => sizes.disconnect());
    scroller.addEventListener("scroll", () => this.#capture(), { signal, passive: true });
  }

  /** Changes the list (`change` is called at once) with what is read held in its place. */
  hold(change) {
    this.#capture();
    change();
    this.restore();
  }

  /**
   * Puts what was read, or the end, back to where it was. What was scrolled since the last look stays
   * scrolled: its event comes with the next frame, sizes may change before.
   */
  restore() {
    const scroller = this.#scroller;
    const moved = scroller.scrollTop - this.#at;
    // Where the height is the same, nothing but scrolling has moved it.
    if (this.isAtEnd && moved < -END && scroller.scrollHeight === this.#height) this.#capture();
    else if (this.isAtEnd) scroller.scrollTop = scroller.scrollHeight;
    else if (this.#held?.entry.isConnected) {
      this.#held.top -= moved;
      const shift = top(this.#held.entry) - top(scroller) - this.#held.top;
      if (Math.abs(shift) >= 1) scroller.scrollTop += shift;
    }
    this.#at = scroller.scrollTop;
    this.#height = scroller.scrollHeight;
  }

  /** Goes to the newest message and stays there. */
  toEnd() {
    this.isAtEnd = !this.isLoose;
    this.#at = this.#scroller.scrollTop;
    this.restore();
  }

  /** Brings an entry to the upper third of the view. */
  show(entry) {
    this.#scroller.scrollTop += top(entry) - top(this.#scroller) - this.#scroller.clientHeight / 4;
    this.#capture();
  }

  #capture() {
    const line = top(this.#scroller);
    const chunk = firstBelow(this.#list.children, line);
    const entry = chunk && firstBelow(chunk.children, line);
    const { scrollHeight, scrollTop, clientHeight } = this.#scroller;
    this.isAtEnd = !this.isLoose && scrollHeight - scrollTop - clientHeight < END;
    this.#held = entry ? { entry, top: top(entry) - line } : null;
    this.#at = scrollTop;
    this.#height = scrollHeight;
  }
}

function top(node) {
  return node.getBoundingClientRect().top;
}

/** The first of `nodes`, which stand below each other, that reaches below `line`. */
function firstBelow(nodes, line) {
  let low = 0;
  let high = nodes.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (nodes[middle].getBoundingClientRect().bottom > line) high = middle;
    else low = middle + 1;
  }
  return nodes[low];
}
