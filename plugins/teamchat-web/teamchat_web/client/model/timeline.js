// The messages of one place, or the replies of one thread: pages from the server, and events on top.
//
// Messages are in the order of their ids and each is there once, whatever comes first,
// the event, the answer or the page. What happens while a page is on its way is applied once more when it
// has come, for the page may be older than that. Pending posts stand after all messages.

import { Emitter } from "../lib/emitter.js";

const PAGE = 50;
const KEPT = 2 * PAGE; // of a timeline that nobody looks at

/**
 * Emits "reset", "added" {item}, "changed" {item}, "removed" {item}; "state" when
 * `isLoading`, `error`, `hasOlder` or `isGone` is another.
 */
export class Timeline extends Emitter {
  #fetch;
  #messages = [];
  #pending = [];
  #gone = new Set();
  #held = null;
  #loading = null;

  /**
   * @param {{kind: string, id: string}} place
   * @param {function({before?: string, limit: number}): Promise<object[]>} fetch a page, oldest first
   * @param {?string} parentId of a thread
   */
  constructor(place, fetch, parentId = null) {
    super();
    this.place = place;
    this.parentId = parentId;
    this.parent = null;
    this.unload();
    this.isGone = false;
    this.error = null;
    this.#fetch = fetch;
  }

  /** The messages, ascending, and after them what is pending. */
  get items() {
    return [...this.#messages, ...(this.hasNewer ? [] : this.#pending)];
  }

  get isLoading() {
    return this.#loading !== null;
  }

  /** Whether a view shows it. */
  get isWatched() {
    return this.has("reset");
  }

  /** The newest message, or null. */
  get newest() {
    return this.#messages.at(-1) ?? null;
  }

  /** A message that is there, by its id. */
  find(id) {
    const at = this.#position(id);
    return this.#messages[at]?.id === id ? this.#messages[at] : null;
  }

  /** Load the newest page, unless it was; `error` tells if that failed. */
  load() {
    return this.isLoaded ? Promise.resolve() : this.#once(() => this.#loadPage());
  }

  /** Have the newest messages there, which they may not be. */
  toEnd() {
    if (this.hasNewer) this.unload();
    return this.load();
  }

  /** Load anew what is there (again.js); what is on its way may be of before. */
  async reload() {
    return (await import("./again.js")).readAgain(this);
  }

  /** Load the page before the oldest message. */
  loadOlder() {
    if (!this.isLoaded || !this.hasOlder) return this.load();
    return this.#once(() => this.#loadPage());
  }

  /**
   * Have `load(fetch, messages)` read what is to be there: {messages, hasOlder?, hasNewer?}. What happens
   * meanwhile is applied to that.
   */
  async read(load) {
    while (this.#loading) await this.#loading;
    return this.#once(async () => this.#take(await load(this.#fetch, this.#messages)));
  }

  /** Forget what lies far back; it can be loaded again. */
  trim() {
    if (this.hasNewer) return this.unload();
    if (this.#messages.length <= KEPT) return;
    this.#messages = this.#messages.slice(-KEPT);
    this.hasOlder = true;
  }

  /** Forget what was loaded; the next `load` begins anew. */
  unload() {
    this.isLoaded = false;
    this.#messages = [];
    this.hasOlder = true;
    this.hasNewer = false; // True only while it is read away from its end (model/pages.js).
  }

  // What events and answers tell. Each may come more than once.

  /** A message that is new, or was changed. */
  put(message) {
    this.#hold(() => this.put(message));
    if (!this.isLoaded || this.#gone.has(message.id)) return;
    const at = this.#position(message.id);
    const known = this.#messages[at];
    if (known?.id === message.id) return this.#merge(known, message);
    // What is older than all that was loaded is on a page that was not.
    if (at === 0 && this.hasOlder && this.#messages.length) return undefined;
    if (at === this.#messages.length && this.hasNewer) return undefined;
    const item = { ...message, place: this.place, ...(this.parentId && { parentId: this.parentId }) };
    this.#messages.splice(at, 0, item);
    this.emit("added", { item });
    return undefined;
  }

  /** New values for some of a message's fields, by its id. `change` may be a function of the message. */
  update(id, change) {
    this.#hold(() => this.update(id, change));
    const item = this.find(id);
    const values = typeof change === "function" ? item && change(item) : change;
    if (item && values) this.#merge(item, values);
  }

  /** A message that was deleted. */
  remove(id) {
    this.#hold(() => this.remove(id));
    this.#gone.add(id);
    const item = this.find(id);
    if (!item) return;
    this.#messages.splice(this.#position(id), 1);
    this.emit("removed", { item });
  }

  /** The channel, or the message that the thread hangs from, is gone. */
  end() {
    this.isGone = true;
    this.unload();
    this.parent = null;
    this.emit("state");
  }

  /** What is pending here now; a list of the outbox's items. */
  setPending(items) {
    const before = this.#pending;
    this.#pending = items;
    for (const item of before.filter((one) => !items.includes(one))) this.emit("removed", { item });
    for (const item of items) this.emit(before.includes(item) ? "changed" : "added", { item });
  }

  /** The parent of a thread is another, or has changed. */
  setParent(message) {
    if (this.parent === message) this.emit("changed", { item: message });
    else {
      this.parent = message;
      this.emit("parent", { item: message });
    }
  }

  #merge(known, values) {
    if (values.updatedAt !== undefined && (values.updatedAt ?? 0) < (known.updatedAt ?? 0)) return;
    Object.assign(known, values);
    this.emit("changed", { item: known });
  }

  /** Load the page before the first message, or where there is none, the newest. */
  async #loadPage() {
    const [first] = this.#messages;
    const page = await this.#fetch({ before: first?.id, limit: PAGE });
    if (this.#messages[0]?.id !== first?.id) return; // Trimmed meanwhile: this is not the page before it.
    const older = page.filter(({ id }) => !this.find(id));
    this.#take({ messages: [...older, ...this.#messages], hasOlder: page.length === PAGE });
  }

  #take({ messages, ...more }) {
    this.#messages = this.#items(messages);
    Object.assign(this, more, { isLoaded: true });
    this.emit("reset");
  }

  #items(page) {
    const own = { place: this.place, ...(this.parentId && { parentId: this.parentId }) };
    return page.filter(({ id }) => !this.#gone.has(id)).map((message) => Object.assign(message, own));
  }

  /** Run one load at a time; remember what failed, and what happened in the meantime. */
  #once(load) {
    this.#loading ??= (async () => {
      this.#held = [];
      this.error = null;
      try {
        await load();
      } catch (error) {
        this.error = error;
        this.isGone ||= error.status === 404;
      }
      const held = this.#held;
      this.#held = this.#loading = null;
      for (const again of held) again();
      this.emit("state");
    })();
    this.emit("state");
    return this.#loading;
  }

  #hold(again) {
    this.#held?.push(again);
  }

  /** Where a message with this id is, or would be. */
  #position(id) {
    let low = 0;
    let high = this.#messages.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#messages[middle].id < id) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
