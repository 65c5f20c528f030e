// Chunks: the messages of a timeline as entries in sections of some fifty, so that the browser skips
// those out of view (content-visibility), and those far from it are emptied, with their height kept.
// So ten thousand messages scroll like fifty and take the memory of some hundred. A section is skipped only
// once it was laid out and its height is known, so the scroll bar tells the truth. Entries stand in the
// order of the items, each item has one, and what needs no change in an entry is left alone.
import { element } from "../lib/dom.js";

const FULL = 50;

/** What an item is known by, from its posting on. */
export const keyOf = (item) => item.localId ?? item.id;

export class Chunks {
  #entries = new Map();
  #byNode = new WeakMap();
  #items = [];
  #make;
  #unsettled = new Set();

  /** Empties what is far from view (emptying.js), where there is much. */
  emptying = null;

  /** The key of an entry to leave alone, such as one in which something is being written. */
  locked = null;

  /** What takes the focus from something in an entry that was made anew; the tools know better than the message. */
  like = (node) => node.lastChild;

  /** The element that holds the sections. */
  list = element("div", { class: "chunks" });

  /**
   * @param {(item, previous, drawn?: HTMLElement) => HTMLElement[]} make what stands in an entry; the last one is
   *   the message: `drawn` again, where that still shows it
   */
  constructor(make) {
    this.#make = make;
  }

  /** Whether an item is here, by its key. */
  has(key) {
    return this.#entries.has(key);
  }

  /** The entry of an item, by its key; filled, wherever it stands. */
  entry(key) {
    const node = this.#entries.get(key)?.node;
    if (node && isEmptied(node.parentNode)) this.emptying.fill(node.parentNode);
    return node;
  }

  /** The item whose entry holds `node`. */
  itemOf(node) {
    return this.#byNode.get(node.closest(".entry"))?.item;
  }

  /**
   * Brings the entries in line with the items. `stale` are the keys of those to make anew, each with whether the
   * message itself is another, or only what stands above it.
   */
  sync(items, stale) {
    const { start, end } = difference(this.#items, items);
    const changed = items.slice(start, items.length - end);
    const wanted = new Set(changed.map(keyOf));
    for (const item of this.#items.slice(start, this.#items.length - end)) {
      if (!wanted.has(keyOf(item))) this.#remove(keyOf(item));
    }
    this.#items = items;
    // The one after those that changed has another before it.
    const last = Math.min(items.length - end, items.length - 1);
    let next = this.#entries.get(items[last + 1] && keyOf(items[last + 1]))?.node ?? null;
    for (let at = last; at >= start; at--) {
      const item = items[at];
      const entry = this.#entries.get(keyOf(item)) ?? this.#insert(item, next);
      this.#fill(entry, item, items[at - 1], stale);
      next = entry.node;
      wanted.add(keyOf(item));
    }
    for (const key of stale.keys()) {
      const entry = !wanted.has(key) && this.#entries.get(key);
      if (entry) this.#fill(entry, entry.item, entry.previous, stale);
    }
    this.#settleSoon();
  }

  /** Makes what stands in an entry anew. */
  refill(node) {
    const { item, previous } = this.#byNode.get(node);
    node.replaceChildren(...this.#make(item, previous));
  }

  /** Lets the browser skip a section, once it was laid out. */
  settle(chunk) {
    this.#unsettled.add(chunk);
    this.#settleSoon();
  }

  #insert(item, next) {
    const node = element("div", { class: "entry" });
    const entry = { node };
    this.#entries.set(keyOf(item), entry);
    this.#byNode.set(node, entry);
    const chunk = next ? next.parentNode : this.list.lastChild;
    if (chunk && (chunk.childElementCount < FULL || (next && next !== chunk.firstChild))) {
      if (isEmptied(chunk)) this.emptying.fill(chunk);
      chunk.insertBefore(node, next);
    } else {
      const made = element("div", { class: "chunk" }, node);
      this.list.insertBefore(made, next && chunk);
      this.#unsettled.add(made);
    }
    return entry;
  }

  #fill(entry, item, previous, stale) {
    const { node } = entry;
    const key = keyOf(item);
    const isSame = entry.item === item;
    const isBelow = keyOf(entry.previous ?? {}) === keyOf(previous ?? {});
    Object.assign(entry, { item, previous });
    if (key === this.locked) return;
    if ((isSame && isBelow && !stale.has(key)) || isEmptied(node.parentNode)) return;
    const { activeElement } = document;
    const held = node.contains(activeElement);
    const made = this.#make(item, previous, isSame && !stale.get(key) && node.lastChild);
    while (node.firstChild && node.firstChild !== made.at(-1)) node.firstChild.remove();
    node.prepend(...made.filter((one) => !one.parentNode));
    if (held && !activeElement.isConnected) this.like(node, activeElement).focus({ preventScroll: true });
  }

  #remove(key) {
    const { node } = this.#entries.get(key);
    const chunk = node.parentNode;
    this.#entries.delete(key);
    if (key === this.locked) this.locked = null;
    node.remove();
    if (!chunk.firstChild) chunk.remove();
  }

  #settleSoon() {
    if (this.#unsettled.size) requestAnimationFrame(() => this.#settle());
  }

  #settle() {
    const chunks = [...this.#unsettled].filter((chunk) => chunk.isConnected && !isEmptied(chunk));
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

export const isEmptied = (chunk) => chunk.classList.contains("emptied");

/** How many items are the same at the start and at the end. */
function difference(before, after) {
  const most = Math.min(before.length, after.length);
  let start = 0;
  while (start < most && before[start] === after[start]) start++;
  let end = 0;
  while (end < most - start && before.at(-1 - end) === after.at(-1 - end)) end++;
  return { start, end };
}

/** The last message that is filled. */
export function lastOf(list) {
  let chunk = list.lastChild;
  while (chunk && isEmptied(chunk)) chunk = chunk.previousSibling;
  return chunk?.lastChild.lastChild;
}
