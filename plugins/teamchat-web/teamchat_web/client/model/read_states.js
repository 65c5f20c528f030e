// Read states kept with the server (docs/reference/extensions.md, D-6, D-11): what is asked for, and when.

import { ReadStatesApi } from "../api/read_states.js";
import { Retry } from "../lib/retry.js";
import { Reading } from "./reading.js";

const SOON_MS = 150;
const SLEPT_MS = 60_000;
const MOST_AT_ONCE = 1000;
const FEW = 5; // places that are asked for one by one
// After these it is open which places there are.
const OPENING = /^(NEW_CHANNEL|NEW_CONVERSATION|UPDATE_CHANNEL|CHANNEL_MEMBERS_ADDED|RESYNC)$/;

export class ReadStates {
  #model;
  #api;
  #reading;
  #mark = null;
  #isStale = true;
  #doubted = new Set();
  #asking = null;
  #timer = null;
  #retry;
  #askedAt = 0;

  /**
   * @param {import("./model.js").Model} model
   * @param {AbortSignal} signal ends it
   */
  constructor(model, signal) {
    this.#model = model;
    this.#api = new ReadStatesApi(model.api);
    this.#reading = new Reading(this.#api, model.unread);
    this.#retry = new Retry(() => this.#soon(), signal);
    const { unread } = model;
    unread.on("doubt", ({ id }) => this.#doubt(id), signal);
    unread.on("read", ({ id, ...shown }) => this.#reading.note(id, shown), signal);
    unread.on("left", ({ id }) => this.#reading.send(id), signal);
    model.on("event", ({ type, payload }) => this.#heard(type, payload), signal);
    model.on("connection", () => model.connection === "online" && this.#again(), signal);
    const flush = () => this.#reading.sendAll({ keepalive: true });
    for (const type of ["pagehide", "blur"]) addEventListener(type, flush, { signal });
    const seen = () => (document.hidden ? flush() : Date.now() - this.#askedAt > SLEPT_MS && this.#again());
    document.addEventListener("visibilitychange", seen, { signal });
    signal.addEventListener("abort", () => (clearTimeout(this.#timer), this.#reading.end()));
  }

  /** Whether the server has said how much is unread. */
  get isKnown() {
    return this.#mark !== null;
  }

  /** Learn all of them; done when that was tried. */
  start() {
    return this.#ask();
  }

  /** Once it was told what was shown of a place, or of a thread. */
  told(id) {
    return this.#reading.sent(id);
  }

  /** Have everything of a place unread from a message on. */
  async markUnread(id, messageId) {
    await this.#reading.sent(id); // Else it would come after, and be for nothing.
    await this.#api.unread(id, messageId);
    await this.#askPlaces([id]);
  }

  /** What notifies one in a place: any of level, isMuted, mutedUntil and ignoreChannelMentions. */
  async notify(id, changes) {
    await this.#api.notify(id, changes);
    await this.#askPlaces([id]);
  }

  /** All places were read, as far as is known here. */
  async markAllRead() {
    const { unread } = this.#model;
    await this.#reading.sendAll();
    const isOpen = (id) => isPlace(unread, id) && (unread.count(id) || unread.state(id).isMarkedUnread);
    const ids = unread.lists().filter(isOpen);
    for (let at = 0; at < ids.length; at += MOST_AT_ONCE) {
      const some = ids.slice(at, at + MOST_AT_ONCE).map((id) => [id, unread.newestOf(id)]);
      await this.#api.readAll(Object.fromEntries(some));
      for (const [id, position] of some) unread.markRead(id, position);
    }
  }

  #heard(type, payload) {
    const { members } = payload;
    if (type === "READ_STATE") this.#take(payload);
    if (type === "NEW_THREAD_REPLY") this.#replied(payload);
    if (/^(NEW|DELETE)_ACTIVITY$/.test(type) && payload.kind === "mention") this.#named(type, payload);
    if (type === "NOTIFICATION_SETTINGS" && payload.placeId) this.#doubt(payload.placeId);
    if (!OPENING.test(type)) return;
    if (members && !members.some(({ userId }) => userId === this.#model.me.id)) return;
    if (type === "RESYNC") {
      this.#mark = null;
      this.#model.unread.tell("reopen", []);
    }
    this.#isStale = true;
    this.#soon();
  }

  /** It is told before the message, or the edit, that it is about. */
  #named(type, { messageId, actor }) {
    const { named, me } = this.#model;
    if (type === "DELETE_ACTIVITY") named.delete(messageId);
    else if (actor !== me.id) named.add(messageId);
  }

  /** What mentions one in a thread that one doesn't follow is counted in its place. */
  #replied({ parentMessageId: threadId, channelId, reply }) {
    if (this.#model.threads.has(threadId)) return;
    if (this.#model.isMention({ ...reply, channelId, threadId })) this.#doubt(channelId);
  }

  #doubt(id) {
    if (!isPlace(this.#model.unread, id)) return;
    this.#doubted.add(id);
    this.#soon();
  }

  #soon() {
    this.#timer ??= setTimeout(() => {
      this.#timer = null;
      this.#ask();
    }, SOON_MS);
  }

  /** After a break: what the other devices did meanwhile. */
  async #again() {
    this.#isStale = true;
    await this.#reading.sendAll();
    await this.#ask();
  }

  /** Ask one thing at a time; what fails for want of a connection is asked with the next. */
  async #ask() {
    if (this.#asking) return this.#soon();
    const doubted = [...this.#doubted];
    this.#doubted.clear();
    try {
      this.#asking = doubted.length > FEW ? this.#askAll(null) : this.#askSome(doubted);
      await this.#asking;
      this.#retry.worked();
    } catch (error) {
      for (const id of doubted) this.#doubted.add(id);
      if (this.#model.connection === "online") this.#retry.failed(error);
    } finally {
      this.#asking = null;
    }
  }

  async #askSome(doubted) {
    if (this.#isStale) await this.#askAll(this.#mark);
    await this.#askPlaces(doubted);
  }

  async #askAll(since) {
    const { unread } = this.#model;
    const before = unread.lists().filter((id) => isPlace(unread, id));
    this.#isStale = false;
    try {
      const { places, left, mark, asOf } = await this.#api.places(since);
      this.#mark = mark;
      this.#askedAt = Date.now();
      for (const state of places) this.#take({ ...state, asOf });
      const there = new Set(places.map(({ placeId }) => placeId));
      for (const id of since ? left : before) if (!there.has(id)) unread.forgetPlace(id);
    } catch (error) {
      this.#isStale = true;
      throw error;
    }
  }

  async #askPlaces(ids) {
    for (const id of ids) {
      try {
        this.#take(await this.#api.place(id));
      } catch (error) {
        if (error.status !== 404 && error.status !== 403) throw error;
        this.#model.unread.forgetPlace(id);
      }
    }
  }

  #take(state) {
    if (this.#model.isIn(state.placeId)) this.#model.unread.take(state);
  }
}

/** Whether the server counts a list, and it is no thread. */
function isPlace(unread, id) {
  const state = unread.state(id);
  return state !== undefined && !state.messageId;
}
