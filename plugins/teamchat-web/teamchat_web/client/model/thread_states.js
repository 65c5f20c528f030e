// The threads one follows, kept with the server (docs/reference/extensions.md, D-8, D-11): those with
// something unread from the beginning, the others page by page as they are looked at.

import { ReadStatesApi } from "../api/read_states.js";

const SOON_MS = 150;
const NEWEST = 50; // threads that are asked for where something is in doubt
const MOST = 200;

export class ThreadStates {
  #model;
  #api;
  #timer = null;
  #cursor;
  #doubted = new Set();

  /**
   * @param {import("./model.js").Model} model
   * @param {AbortSignal} signal ends it
   */
  constructor(model, signal) {
    this.#model = model;
    this.#api = new ReadStatesApi(model.api);
    this.#takeOver();
    model.unread.on("doubt", ({ id }) => this.#isThread(id) && this.#soon(id), signal);
    model.on("event", ({ type, payload }) => this.#heard(type, payload), signal);
    model.on("connection", () => model.connection === "online" && this.start(), signal);
    signal.addEventListener("abort", () => clearTimeout(this.#timer));
  }

  /** Learn those with something unread, and the newest; what fails is asked with the next connection. */
  async start() {
    try {
      this.#takeAll(await this.#api.threads({ filter: "unread", limit: MOST }));
      const page = await this.#api.threads({ limit: NEWEST });
      if (this.#cursor === undefined) this.#cursor = page.next;
      this.#takeAll(page);
    } catch {}
  }

  /** Whether there are more than `load` has brought. */
  get hasMore() {
    return Boolean(this.#cursor);
  }

  /** The next page of all of them. */
  async load() {
    if (!this.hasMore) return;
    const page = await this.#api.threads({ limit: NEWEST, cursor: this.#cursor });
    this.#cursor = page.next;
    this.#takeAll(page);
  }

  /** Follow a thread, or no more. */
  async follow(id, following) {
    const { state } = await this.#api.follow(id, following);
    this.#take({ ...state, asOf: this.#model.stream.lastEventId });
  }

  /** Have a thread unread from a reply on. */
  async markUnread(id, replyId) {
    await this.#model.readStates.told(id);
    const { state } = await this.#api.unreadThread(id, replyId);
    this.#take({ ...state, asOf: this.#model.stream.lastEventId });
    this.#soon(id);
  }

  /** What this browser knew of threads goes. */
  #takeOver() {
    const { threads } = this.#model;
    threads.isServers = true;
    for (const { id } of threads.sorted()) threads.forget(id);
  }

  #heard(type, payload) {
    if (type === "THREAD_STATE") this.#take(payload);
    if (type === "NEW_THREAD_REPLY") this.#replied(payload);
    if (type === "RESYNC") this.start();
  }

  /** Whoever replies follows, and has read; whether one follows an unknown thread the server tells. */
  #replied({ parentMessageId: id, reply }) {
    const { threads, unread, me } = this.#model;
    if (reply.author.id === me.id || (threads.has(id) && !unread.state(id))) this.#soon(id);
  }

  #isThread(id) {
    const state = this.#model.unread.state(id);
    return state ? Boolean(state.messageId) : !this.#model.place(id);
  }

  #soon(id) {
    this.#doubted.add(id);
    this.#timer ??= setTimeout(() => this.#askNewest(), SOON_MS);
  }

  /** There is no question for one thread; what somebody has replied in a moment ago is among the newest. */
  async #askNewest() {
    this.#timer = null;
    const doubted = [...this.#doubted];
    this.#doubted.clear();
    try {
      const page = await this.#api.threads({ limit: NEWEST });
      this.#takeAll(page);
      const there = new Set(page.threads.map(({ state }) => state.messageId));
      if (page.threads.length < NEWEST) for (const id of doubted) if (!there.has(id)) this.#end(id);
    } catch {} // The next connection, or the next reply, asks again.
  }

  #end(id) {
    this.#model.unread.forgetPlace(id);
    this.#list({ messageId: id, following: false });
    this.#model.threads.emit("changed");
  }

  #takeAll({ threads, asOf }) {
    for (const { state } of threads) this.#take({ ...state, asOf }, false);
    this.#model.threads.emit("changed");
  }

  /** A generation is begun by marking as unread alone. */
  #take(told, isAlone = true) {
    const { unread } = this.#model;
    const known = unread.state(told.messageId);
    const isMarked = told.generation > (known?.generation ?? told.generation);
    const isSame = told.generation === known?.generation && known.isMarkedUnread;
    unread.take({ ...told, isMarkedUnread: isMarked || Boolean(isSame && told.position <= known.position) });
    this.#list(told);
    if (isAlone) this.#model.threads.emit("changed");
  }

  #list({ messageId: id, placeId, following, lastReplyAt }) {
    const { all } = this.#model.threads;
    if (!following || !lastReplyAt) all.delete(id);
    else if (!(all.get(id)?.lastReplyAt >= lastReplyAt)) all.set(id, { id, placeId, lastReplyAt });
  }
}
