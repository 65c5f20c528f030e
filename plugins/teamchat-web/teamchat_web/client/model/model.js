// Everything the views show, kept true by the event stream.
//
// What must stay true: events are applied in their order, after the lists were loaded, and as often as they
// come; an answer and the event of the same change may come either way round. Nothing here waits for a view.

import { Backoff } from "../lib/backoff.js";
import { Emitter } from "../lib/emitter.js";
import { mentions } from "../lib/markdown.js";
import { Stream } from "../api/stream.js";
import { Directory } from "./directory.js";
import { Drafts } from "./drafts.js";
import { apply } from "./events.js";
import { Outbox } from "./outbox.js";
import { Pictures } from "./pictures.js";
import { Threads } from "./threads.js";
import { Timeline } from "./timeline.js";
import { Unread } from "./unread.js";

const OFFLINE_AFTER = 2; // A try or two may fail; then it is said.

/**
 * Emits "me", "users", "channels", "conversations", "server", "loaded" when these are no longer of the last
 * visit, "webhooks", "connection", "signedOut", and "message" {message, place, calls, parentId?} for each new
 * message of somebody else that arrives live; one that `calls` is for the user: a direct message, a mention,
 * a reply in a thread they take part in.
 */
export class Model extends Emitter {
  #ending = new AbortController();
  #timelines = new Map();
  #held = [];
  #loading = null;

  /**
   * @param {{api: object, http: object, session: object, config: object, kept: object}} parts
   *   `kept` is this user's
   */
  constructor({ api, http, session, config, kept }) {
    super();
    Object.assign(this, { api, session, config, connection: "connecting", isLoaded: false });
    this.directory = new Directory(api, kept);
    this.pictures = new Pictures(api);
    this.unread = new Unread(kept);
    this.threads = new Threads(kept, this.unread);
    this.drafts = new Drafts(kept);
    this.outbox = new Outbox({ api, kept, pictures: this.pictures, name: session.userId });
    this.stream = new Stream(http, session, session.userId);
    const types = ["me", "users", "channels", "conversations", "server"];
    for (const type of types) this.directory.on(type, () => this.emit(type));
  }

  get me() {
    return this.directory.me;
  }
  get serverName() {
    return this.directory.serverName;
  }
  get users() {
    return this.directory.users;
  }
  get channels() {
    return this.directory.channels;
  }
  get conversations() {
    return this.directory.conversations;
  }

  /** Load the lists and open the stream. Done when there is something to show, if only of the last visit. */
  async start() {
    const { signal } = this.#ending;
    this.session.on("ended", (detail) => this.emit("signedOut", detail), signal);
    this.directory.start(signal);
    this.unread.start(signal);
    this.threads.start(signal);
    this.drafts.start(signal);
    this.outbox.on("changed", ({ item }) => this.#showPending(item), signal);
    this.outbox.on("sent", (sent) => this.#sent(sent), signal);
    this.stream.on("event", (event) => this.#receive(event), signal);
    this.stream.on("open", () => this.#connected(), signal);
    this.stream.on("lost", ({ tries }) => this.#disconnected(tries), signal);
    this.stream.open(this.unread.lastEventId, signal);
    const loaded = this.#load();
    if (!this.directory.isFilled) await loaded;
    await this.outbox.start(signal);
  }

  /** Stop listening and sending. */
  stop() {
    this.#ending.abort();
    this.pictures.clear();
  }

  sortedChannels() {
    return this.directory.sortedChannels();
  }
  sortedConversations() {
    return this.directory.sortedConversations();
  }
  names() {
    return this.directory.names();
  }
  userName(id) {
    return this.directory.userName(id);
  }
  place(id) {
    return this.directory.place(id);
  }

  /** The messages of a place; the same object each time. */
  timeline({ kind, id }) {
    const place = { kind, id };
    return this.#timeline(id, place, (page) => this.read(place, page));
  }

  /** The replies to a message; its `parent` is the message, once it is known. */
  thread(parentId, { kind, id }) {
    const place = { kind, id };
    const thread = this.#timeline(parentId, place, (page) => this.api.thread(parentId, page), parentId);
    if (!thread.parent) findParent(this, thread);
    return thread;
  }

  /** Read a page of a place's messages, and see which threads hang from it. */
  async read(place, page) {
    const messages = await this.api.messages(place, page);
    for (const message of messages) this.threads.note(message, place.id, this.me?.id);
    return messages;
  }

  /** The timelines there are. */
  get timelines() {
    return [...this.#timelines.values()];
  }

  /** Post a message, or with `parentId` a reply. Returns the pending item at once. */
  post(place, { content, files = [], parentId = null }) {
    const { id, userName } = this.me;
    return this.outbox.add({ place, parentId, content, files, author: { id, userName } });
  }
  retry(localId) {
    this.outbox.retry(localId);
  }
  discard(localId) {
    this.outbox.discard(localId);
  }

  /** Give a message another text. */
  async edit(message, typed) {
    const content = await this.outbox.withEmoji(typed);
    const draft = { content, ...(message.images && { images: message.images }) };
    const { updatedAt } = await this.api.edit(message.place, message, draft);
    this.update(message.id, { content, updatedAt });
  }

  async remove(message) {
    await this.api.remove(message.place, message);
    this.forget(message.id);
  }

  /** Add one's reaction, or take it back: shown at once, and undone if the server refuses. */
  async toggleReaction({ id, reactions }, reaction) {
    const has = Boolean(reactions[reaction]?.includes(this.me.id));
    this.setReaction(id, reaction, this.me.id, !has);
    try {
      const answer = await (has ? this.api.unreact(id, reaction) : this.api.react(id, reaction));
      this.update(id, { reactions: answer.reactions });
    } catch (error) {
      this.setReaction(id, reaction, this.me.id, has);
      throw error;
    }
  }

  /** The place of the conversation with a user, a new one if there was none. */
  async openConversation(userId) {
    const conversation = await this.api.converse(userId);
    this.directory.addConversation(conversation);
    return this.place(conversation.id);
  }

  // What events and answers change in the timelines.

  update(id, change) {
    for (const timeline of this.timelines) {
      timeline.update(id, change);
      if (timeline.parent?.id === id) timeline.setParent(this.#known(id) ?? changed(timeline.parent, change));
    }
  }

  forget(id) {
    for (const timeline of this.timelines) {
      timeline.remove(id);
      if (timeline.parentId === id) timeline.end();
    }
    this.unread.forget(id);
    this.threads.forget(id);
  }

  forgetPlace(id) {
    this.unread.forgetPlace(id);
    this.threads.forgetPlace(id);
    for (const timeline of this.timelines) if (timeline.place.id === id) timeline.end();
  }

  setReaction(id, reaction, userId, isThere) {
    this.update(id, ({ reactions }) => {
      const users = (reactions[reaction] ?? []).filter((one) => one !== userId);
      if (isThere) users.push(userId);
      const { [reaction]: _, ...others } = reactions;
      if (!users.length) return { reactions: others };
      return { reactions: { ...reactions, [reaction]: users } };
    });
  }

  /** Whether a text names the user. */
  isMention(text) {
    return text.includes("@") && mentions(text, this.names()).has(this.me?.id);
  }

  #timeline(key, place, fetch, parentId) {
    if (!this.#timelines.has(key)) {
      const timeline = new Timeline(place, fetch, parentId);
      timeline.setPending(this.outbox.pending(place, parentId));
      this.#timelines.set(key, timeline);
    }
    return this.#timelines.get(key);
  }

  #known(id) {
    return this.timelines.map((timeline) => timeline.find(id)).find(Boolean);
  }

  #showPending({ place, parentId }) {
    this.#timelines.get(parentId ?? place.id)?.setPending(this.outbox.pending(place, parentId));
  }

  #sent({ item, message, threadMeta }) {
    const { place, parentId } = item;
    this.unread.saw(message);
    this.#timelines.get(parentId ?? place.id)?.put({ reactions: {}, updatedAt: null, ...message });
    if (threadMeta) this.update(parentId, { threadMeta });
    if (place.kind === "conversation") this.directory.touchConversation(message);
  }

  #receive(event) {
    if (this.#loading) this.#held.push(event);
    else this.#deal(event);
  }

  #deal({ id, type, payload }) {
    if (type === "RESYNC") this.#resync();
    else apply(this, type, payload);
    this.unread.reached(id);
  }

  /** Load the lists, again and again if need be; events wait meanwhile. */
  #load() {
    const { signal } = this.#ending;
    this.#loading ??= (async () => {
      for (const backoff = new Backoff(); !signal.aborted; await backoff.wait(signal)) {
        try {
          await this.directory.load();
          this.isLoaded = true;
          this.#forgetGone();
          this.emit("loaded");
          break;
        } catch (error) {
          if (!this.session.isSignedIn) return;
          this.#disconnected(backoff.tries + 1);
        }
      }
      this.#loading = null;
      for (const event of this.#held.splice(0)) this.#receive(event);
    })();
    return this.#loading;
  }

  /** What was deleted while nobody was here is not unread. */
  #forgetGone() {
    for (const { placeId } of this.threads.sorted()) if (!this.place(placeId)) this.forgetPlace(placeId);
    const isThere = (id) => this.place(id) || this.threads.has(id);
    for (const id of this.unread.lists()) if (!isThere(id)) this.forgetPlace(id);
  }

  /** The log no longer reaches back: everything is read anew. */
  async #resync() {
    const since = this.unread.newest;
    await this.#load();
    (await import("./catch_up.js")).catchUp(this, since, this.#ending.signal);
  }

  #connected() {
    this.#setConnection("online");
    this.outbox.send();
    for (const timeline of this.timelines.filter(({ isWatched }) => isWatched)) {
      if (timeline.error) timeline.load();
      if (timeline.parentId && !timeline.parent) findParent(this, timeline);
    }
    if (this.unread.lastEventId !== "") return;
    this.unread.begin(this.stream.connectedAt);
    this.unread.reached(this.stream.lastEventId);
    if (!this.#loading) this.#resync(); // The first stream of all begins now; what was read is older.
  }

  #disconnected(tries) {
    this.#setConnection(navigator.onLine && tries < OFFLINE_AFTER ? "connecting" : "offline");
  }

  #setConnection(connection) {
    if (connection === this.connection) return;
    this.connection = connection;
    this.emit("connection");
  }
}

function changed(message, change) {
  return { ...message, ...(typeof change === "function" ? change(message) : change) };
}

async function findParent(model, thread) {
  (await import("./parent.js")).findParent(model, thread);
}
