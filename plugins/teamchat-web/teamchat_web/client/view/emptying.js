// Emptying: the sections of a timeline that are far from view are emptied, with their height kept, and filled
// again when they come near. What is written in, selected or has the focus stays.
import { isEmptied } from "./chunks.js";

// How far from view a section is filled, and how far it is emptied, in heights of the view.
const NEAR = 3;
const FAR = 6;

export class Emptying {
  #chunks;
  #scroller;

  constructor(chunks, scroller) {
    this.#chunks = chunks;
    this.#scroller = scroller;
  }

  /** What to empty and to fill now, for `turn`; null if nothing. Measures, and changes nothing. */
  due() {
    const view = this.#scroller.getBoundingClientRect();
    const empty = new Map();
    const fill = [];
    for (const chunk of this.#chunks.list.children) {
      const { top, bottom, height } = chunk.getBoundingClientRect();
      const away = Math.max(view.top - bottom, top - view.bottom) / view.height;
      if (isEmptied(chunk)) away < NEAR && fill.push(chunk);
      else if (away > FAR && !this.#isInUse(chunk)) empty.set(chunk, height);
    }
    return empty.size || fill.length ? { empty, fill } : null;
  }

  /** Empties and fills what is due. */
  turn({ empty, fill }) {
    for (const [chunk, height] of empty) {
      chunk.style.height = `${height}px`;
      // Not skipped any longer: Chromium would keep the layout of what was there, some 25 KB a message.
      chunk.classList.remove("settled");
      chunk.classList.add("emptied");
      for (const node of chunk.children) node.replaceChildren();
    }
    for (const chunk of fill) this.fill(chunk);
  }

  /** Fills a section again. */
  fill(chunk) {
    chunk.classList.remove("emptied");
    chunk.style.height = "";
    for (const node of chunk.children) this.#chunks.refill(node);
    this.#chunks.settle(chunk);
  }

  #isInUse(chunk) {
    const { locked } = this.#chunks;
    const selection = getSelection();
    return (
      chunk.contains(document.activeElement) ||
      (locked && chunk.contains(this.#chunks.entry(locked))) ||
      (!selection.isCollapsed && selection.containsNode(chunk, true))
    );
  }
}
