// Chunks: the messages of a timeline as entries in sections of some fifty, so that the browser skips
// those out of view (content-visibility) and ten thousand scroll like fifty. A section is skipped only
// once it was laid out and its height is known, so the scroll bar tells the truth.
// What must stay true: entries stand in the order of the items, each item has one, and an entry that
// needs no change is left alone.
import { element } from "../lib/dom.js";

const FULL = 50;

/** What an item is known by, from its posting on. */
export const keyOf = (item) => item.localId ?? item.id;

export class Chunks {
  #entries = new Map();
  #byNode = new WeakMap();
  #make;
  #unsettled = new Set();

  /** The key of an entry to leave alone, such as one in which something is being written. */
  locked = null;

  /** The element that holds the sections. */
  list = element("div", { class: "chunks" });

  /** @param {(item, previous) => HTMLElement[]} make what stands in an entry; the last one is the message */
  constructor(make) {
    this.#make = make;
  }

  /** The entry of an item, by its key. */
  entry(key) {
    return this.#entries.get(key)?.node;
  }

  /** The item whose entry holds `node`. */
  itemOf(node) {
    return this.#byNode.get(node.closest(".entry"))?.item;
  }

  /** Brings the entries in line with the items. `stale` are the keys of those to make anew. */
  sync(items, stale = new Set()) {
    const wanted = new Set(items.map(keyOf));
    for (const key of this.#entries.keys()) if (!wanted.has(key)) this.#remove(key);
    let next = null;
    for (let at = items.length - 1; at >= 0; at--) {
      const item = items[at];
      const entry = this.#entries.get(keyOf(item)) ?? this.#insert(item, next);
      this.#fill(entry, item, items[at - 1], stale.has(keyOf(item)));
      next = entry.node;
    }
    if (this.#unsettled.size) requestAnimationFrame(() => this.#settle());
  }

  #insert(item, next) {
    const node = element("div", { class: "entry" });
    const entry = { node };
    this.#entries.set(keyOf(item), entry);
    this.#byNode.set(node, entry);
    const chunk = next ? next.parentNode : this.list.lastChild;
    if (chunk && (chunk.childElementCount < FULL || (next && next !== chunk.firstChild))) {
      chunk.insertBefore(node, next);
    } else {
      const made = element("div", { class: "chunk" }, node);
      this.list.insertBefore(made, next && chunk);
      this.#unsettled.add(made);
    }
    return entry;
  }

  #fill(entry, item, previous, isStale) {
    const before = previous && keyOf(previous);
    if (!isStale && entry.item === item && entry.before === before) return;
    if (keyOf(item) === this.locked) return;
    Object.assign(entry, { item, before });
    const held = entry.node.contains(document.activeElement);
    entry.node.replaceChildren(...this.#make(item, previous));
    if (held) entry.node.lastChild.focus({ preventScroll: true });
  }

  #remove(key) {
    const { node } = this.#entries.get(key);
    const chunk = node.parentNode;
    this.#entries.delete(key);
    node.remove();
    if (!chunk.firstChild) chunk.remove();
  }

  #settle() {
    const chunks = [...this.#unsettled].filter((chunk) => chunk.isConnected);
    const heights = chunks.map(
      (chunk) => chunk.clientHeight - parseFloat(getComputedStyle(chunk).paddingTop),
    );
    chunks.forEach((chunk, at) => {
      chunk.style.containIntrinsicBlockSize = `auto ${heights[at]}px`;
      chunk.classList.add("settled");
    });
    this.#unsettled.clear();
  }
}
