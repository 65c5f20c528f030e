// Which messages of the open room are pinned: read when it is opened, and kept by events. A message that is here shows
// by its own fields that it is pinned.

export class Pins {
  #teamchat;
  #roomId = null;
  #threads = new Map(); // By the ids of the pinned messages: the thread each stands in, null for none, if known.
  #listeners = new Set();
  #opening = null; // While the pins of a room are read; stale if an event came meanwhile.

  constructor(teamchat) {
    this.#teamchat = teamchat;
  }

  /** Call `listener` when other messages are pinned, or other words stand in them; returns what ends it. */
  onChange(listener) {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** How many are pinned in a room; 0 unless it is the open one. */
  count(roomId) {
    return roomId === this.#roomId ? this.#threads.size : 0;
  }

  /** The pinned messages of a room, the newest pin first, from the server. */
  async list({ kind, id }) {
    const { get, path } = this.#teamchat.api;
    const address = kind === "channel" ? path`/channels/${id}/pins` : path`/conversations/${id}/pins`;
    return (await get(address)).messages;
  }

  /** A room was opened. */
  async open(room) {
    const opening = (this.#opening = { isStale: false });
    this.#roomId = room?.id ?? null;
    this.#threads = new Map();
    for (opening.isStale = Boolean(room); opening.isStale; ) {
      opening.isStale = false;
      const messages = await this.list(room);
      if (this.#opening !== opening) return; // Another room was opened meanwhile.
      this.#threads = new Map(messages.map(({ id, threadId = null }) => [id, threadId]));
    }
    this.#opening = null;
    this.#changed();
  }

  /** Pin a message, or take its pin away. Returns whether that was done; the person is told if it was not. */
  async set({ id }, isPinned) {
    const { api, limits, messages, t, toast } = this.#teamchat;
    const address = api.path`/messages/${id}/pin`;
    try {
      const { message } = await (isPinned ? api.post(address) : api.delete(address));
      messages.update(id, { pinnedAt: message.pinnedAt, pinnedBy: message.pinnedBy });
      return true;
    } catch (error) {
      if (error.status !== 400) throw error;
      toast(t("most", { count: limits.perPlace }), { kind: "danger" });
      return false;
    }
  }

  /** A message was pinned. */
  pinned({ messageId, placeId, by, at }) {
    const { messages } = this.#teamchat;
    messages.update(messageId, { pinnedAt: at, pinnedBy: by });
    if (placeId !== this.#roomId) return;
    const message = messages.find(messageId);
    this.#threads.set(messageId, message ? (message.threadId ?? null) : undefined);
    this.#changed();
  }

  /** A message is pinned no longer. */
  unpinned({ messageId }) {
    this.#teamchat.messages.update(messageId, { pinnedAt: undefined, pinnedBy: undefined });
    if (this.#threads.delete(messageId)) this.#changed();
  }

  /** A message was edited. */
  edited({ id }) {
    if (this.#threads.has(id)) this.#changed();
  }

  /** A message was deleted, and with it the replies in its thread. */
  deleted({ id }) {
    const all = [...this.#threads];
    if (all.some(([, thread]) => thread === undefined)) return this.open(this.#teamchat.room);
    for (const [pinned, thread] of all) if (pinned === id || thread === id) this.#threads.delete(pinned);
    if (this.#threads.size < all.length) this.#changed();
    return undefined;
  }

  #changed() {
    if (this.#opening) this.#opening.isStale = true;
    for (const listener of this.#listeners) listener();
  }
}
