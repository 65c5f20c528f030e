// The members of a room, as far as they were loaded, kept true by the events of the stream. Of a channel that is
// everybody's the events tell nobody but who is concerned: there, a change of what the channel counts reads anew.

import { Emitter } from "../../lib/emitter.js";
import { roomsApi } from "./api.js";

const PAGE = 200; // the most that a server gives at once (extension rule X-11)

/** Emits "changed". */
export class Roll extends Emitter {
  #ctx;
  #id;
  #signal;
  #members = new Map();
  #next = null;
  #loading = null;
  #isEnough = null; // while members are sought
  #total = 0;

  error = null;

  constructor(ctx, id, signal) {
    super();
    this.#ctx = ctx;
    this.#id = id;
    this.#signal = signal;
    this.#total = this.#room?.memberCount ?? 0;
    ctx.model.on("event", (event) => this.#heard(event), signal);
    ctx.model.on("loaded", () => this.load(), signal);
    ctx.model.on("users", () => this.#room?.isDefault && this.load(), signal);
  }

  get members() {
    return [...this.#members.values()];
  }
  get hasMore() {
    return this.#next !== null;
  }
  get count() {
    return this.hasMore ? Math.max(this.#total, this.#members.size) : this.#members.size || this.#total;
  }
  has(userId) {
    return this.#members.has(userId);
  }

  /** Read the first page anew. */
  load() {
    return this.#read(null);
  }

  async loadMore() {
    if (this.hasMore) await this.#read(this.#next);
  }

  /** Whether pages are on their way because somebody is sought. */
  get isSeeking() {
    return this.#isEnough !== null;
  }

  /**
   * Load pages, one at a time, until `isEnough()` or there are no more. Whoever seeks anew takes the place of who
   * sought before.
   */
  async seek(isEnough) {
    const isFirst = !this.isSeeking;
    this.#isEnough = isEnough;
    if (!isFirst) return;
    this.error = null;
    while (this.hasMore && !this.error && !this.#signal.aborted && !this.#isEnough()) await this.loadMore();
    this.#isEnough = null;
    if (!this.#signal.aborted) this.emit("changed");
  }

  get #room() {
    return this.#ctx.model.channels.get(this.#id);
  }

  async #read(cursor) {
    while (this.#loading) await this.#loading;
    this.#loading = this.#fetch(cursor);
    await this.#loading;
    this.#loading = null;
    if (!this.#signal.aborted) this.emit("changed");
  }

  async #fetch(cursor) {
    try {
      const page = { cursor: cursor ?? undefined, limit: PAGE };
      const { members, next, count } = await roomsApi(this.#ctx).members(this.#id, page);
      if (!cursor) this.#members.clear();
      for (const member of members) this.#members.set(member.userId, member);
      this.#next = next;
      this.#total = count;
      this.error = null;
    } catch (error) {
      this.error = error;
    }
  }

  #heard({ type, payload }) {
    // It may have become private, of some of its members.
    if (type === "UPDATE_CHANNEL" && payload.id === this.#id) this.load();
    if (payload?.channelId !== this.#id) return;
    const change = {
      CHANNEL_MEMBERS_ADDED: ({ members }) => members.forEach((one) => this.#members.set(one.userId, one)),
      CHANNEL_MEMBER_REMOVED: ({ userId }) => this.#members.delete(userId),
      CHANNEL_MEMBER_UPDATED: ({ userId, role }) => {
        const known = this.#members.get(userId);
        if (known) this.#members.set(userId, { ...known, role });
      },
    }[type];
    if (!change) return;
    change(payload);
    this.emit("changed");
    if (this.#room?.isDefault || this.#loading) this.load(); // What is on its way may be older.
  }
}
