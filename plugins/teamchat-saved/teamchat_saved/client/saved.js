// What the user keeps: read whole after the sign-in, newest first, and kept by events. An event tells neither note nor
// time of saving, so the list is read again from its head until what it was about has come.

const PAGE = 100;

/** @typedef {{message: object, note: string, savedAt: number, remindAt: ?number}} Item */

export class Saved {
  #teamchat;
  #items = new Map(); // By the ids of the messages.
  #isWhole = false; // Whether all of it was read.
  #wanted = new Set(); // Messages of which events have told.
  #lost = new Set(); // Rooms.
  #listeners = new Set();
  #reading = null;
  #isStale = false;

  constructor(teamchat) {
    this.#teamchat = teamchat;
  }

  /** Call `listener` when something of it has changed; returns what ends it. */
  onChange(listener) {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** The items, newest saved first. */
  get items() {
    return [...this.#items.values()].sort(newestFirst);
  }

  /** What is kept of a message, or undefined. @returns {?Item} */
  of({ id }) {
    return this.#items.get(id);
  }

  /** Read all of it. */
  read() {
    this.#isWhole = false;
    return this.#readAgain();
  }

  /** Read what events have told of. */
  readWanted() {
    return this.#wanted.size ? this.#readAgain() : undefined;
  }

  /** Keep a message, or change what is kept beside it: `note` and `remindAt`, as far as they are given. */
  async keep({ id }, beside = {}) {
    const { put, path } = this.#teamchat.api;
    const { item } = await put(path`/me/saved/${id}`, beside);
    this.#items.set(id, item);
    this.#changed();
    return item;
  }

  /** Keep a message no longer. */
  async drop({ id }) {
    const { api } = this.#teamchat;
    await api.delete(api.path`/me/saved/${id}`);
    this.#forget((one) => one.id === id);
  }

  /** The server tells of a change, by this device or another one. */
  heard({ messageId, saved }) {
    this.#wanted.delete(messageId);
    if (!saved) return this.#forget(({ id }) => id === messageId);
    this.#wanted.add(messageId);
    return undefined;
  }

  /** A message was edited. */
  edited(message) {
    const item = this.#items.get(message.id);
    if (!item) return;
    this.#items.set(message.id, { ...item, message: { ...item.message, ...message } });
    this.#changed();
  }

  /** A message was deleted, and with it the replies in its thread. */
  deleted(gone) {
    this.#forget(({ id, threadId }) => id === gone.id || threadId === gone.id);
  }

  /** A room is seen no longer. */
  lost(room) {
    this.#lost.add(room.id);
    this.#forget(({ channelId }) => channelId === room.id);
  }

  /** Whether something may be kept in a room that one sees now: it is back, or others were in it before. */
  mayHave({ id, isPrivate }) {
    return isPrivate || this.#lost.has(id);
  }

  /** A reminder has come. */
  reminded({ id }) {
    if (this.#items.has(id)) this.#tell();
  }

  #readAgain() {
    this.#isStale = true;
    this.#reading ??= this.#readUntilTrue().finally(() => (this.#reading = null));
    return this.#reading;
  }

  /** What changes while it is read may be in what was read, or not: then it is read once more. */
  async #readUntilTrue() {
    while (this.#isStale) {
      this.#isStale = false;
      const wanted = this.#isWhole ? [...this.#wanted] : [];
      const { found, isWhole } = await this.#pages(new Set(wanted));
      if (this.#isStale) continue;
      const last = found.at(-1);
      const rest = isWhole ? [] : this.items.filter((one) => newestFirst(last, one) < 0);
      this.#items = new Map([...found, ...rest].map((item) => [item.message.id, item]));
      this.#isWhole = true;
      for (const id of wanted) this.#wanted.delete(id);
      this.#tell();
    }
  }

  /** The newest items, until those that are wanted have come; without any, all of them. */
  async #pages(wanted) {
    const isForAll = !wanted.size;
    const found = [];
    for (let cursor = null; ; ) {
      const asked = new URLSearchParams({ limit: PAGE, ...(cursor && { cursor }) });
      const { items, next } = await this.#teamchat.api.get(`/me/saved?${asked}`);
      found.push(...items);
      for (const { message } of items) wanted.delete(message.id);
      if (!next || this.#isStale) return { found, isWhole: true };
      if (!isForAll && !wanted.size) return { found, isWhole: false };
      cursor = next;
    }
  }

  #forget(isGone) {
    const { size } = this.#items;
    for (const [id, { message }] of this.#items) if (isGone(message)) this.#items.delete(id);
    this.#isStale = Boolean(this.#reading);
    if (this.#items.size < size) this.#tell();
  }

  #changed() {
    this.#isStale = Boolean(this.#reading);
    this.#tell();
  }

  #tell() {
    for (const listener of this.#listeners) listener();
  }
}

function newestFirst(one, other) {
  return other.savedAt - one.savedAt || (one.message.id < other.message.id ? 1 : -1);
}
