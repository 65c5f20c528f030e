// Everything the views show, kept true by the event stream.
//
// Events are applied in their order, after the lists were loaded, and as often as they
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
import { keepPosition, position } from "./visit.js";

const OFFLINE_AFTER = 2; // A try or two may fail; then it is said.

/**
 * Emits "me", "users", "channels", "conversations", "server", "loaded" when these are no longer of the last
 * visit, "lost" {id} for a place that is gone, "rights", "webhooks", "connection", "signedOut", "day" when
 * another one has begun, and "message" {message, place, calls, parentId?} for each new message of somebody
 * else that arrives live; one that `calls` is for the user: a direct or group message, a mention, a reply in
 * a thread they take part in.
 */
export class Model extends Emitter {
  #ending = new AbortController();
  #timelines = new Map();
  #held = [];
  #loading = null;
  #kept;
  #hasBegun = false;
  #isStale;
  named = new Set(); // Messages that name the user in ways their fields don't tell: by a keyword.
  readStates = null; // What keeps counts with the server's, as `threadStates`; there where the server counts.

  /**
   * @param {{api: object, http: object, session: object, config: object, kept: object}} parts
   *   `kept` is this user's
   */
  constructor({ api, http, session, config, kept }) {
    super();
    Object.assign(this, { api, session, config, connection: "connecting", isLoaded: false });
    this.directory = new Directory(api, kept);
    this.pictures = new Pictures(api);
    this.unread = new Unread();
    this.threads = new Threads(kept, this.unread);
    this.drafts = new Drafts(kept);
    this.#kept = kept;
    this.setRights(kept.get("capabilities", {}), kept.get("may", []));
    this.outbox = new Outbox({ api, kept, pictures: this.pictures, name: session.userId });
    this.stream = new Stream(http, session, session.userId);
    const types = ["me", "users", "channels", "conversations", "server"];
    for (const type of types) this.directory.on(type, () => this.emit(type));
  }

  /** Load the lists and open the stream. Done when there is something to show, if only of the last visit. */
  async start() {
    const { signal } = this.#ending;
    this.session.on("ended", (detail) => this.emit("signedOut", detail), signal);
    this.directory.start(signal);
    this.threads.start(signal);
    this.drafts.start(signal);
    this.outbox.on("changed", ({ item }) => this.#showPending(item), signal);
    this.outbox.on("sent", (sent) => this.#sent(sent), signal);
    this.stream.on("event", (event) => this.#receive(event), signal);
    this.stream.on("open", () => this.#connected(), signal);
    this.stream.on("lost", ({ tries }) => this.#disconnected(tries), signal);
    const begun = position(this.#kept);
    const isShown = this.directory.isFilled;
    this.#isStale = () => !begun && (isShown || !this.#loading); // What is shown is of before the stream.
    this.stream.open(begun, signal);
    keepPosition(this.#kept, this.stream, signal);
    const loaded = this.#load();
    if (!this.directory.isFilled) await loaded;
    await this.outbox.start(signal);
  }

  /** Stop listening and sending. */
  stop() {
    this.#ending.abort();
    this.pictures.clear();
  }

  /** What the server announces, by name, and what the user may do there (model/rights.js). */
  setRights(capabilities, may) {
    Object.assign(this, { capabilities, may });
    this.unread.capabilities = capabilities;
    this.emit("rights");
  }

  /** Whether the user is a member of a place, as far as is known here. */
  isIn(id) {
    return this.channels.get(id)?.isMember !== false;
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
    if (!thread.parent && !thread.isGone) findParent(this, thread);
    return thread;
  }

  /** Read a page of a place's messages, and see which threads hang from it, unless it was lost meanwhile. */
  async read(place, page) {
    const messages = await this.api.messages(place, page);
    if (this.isLoaded && !this.place(place.id)) return [];
    for (const message of messages) this.threads.note(message, place.id, this.me?.id);
    return messages;
  }

  /** The timelines there are. */
  get timelines() {
    return [...this.#timelines.values()];
  }

  /** Post a message, or with `parentId` a reply. Returns the pending item at once. */
  post(place, { content, entities, files = [], parentId = null, fields }) {
    const { id, userName } = this.me;
    return this.outbox.add({ place, parentId, content, entities, files, fields, author: { id, userName } });
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
    this.threads.forget(id);
  }

  /** What is unread at a place, and in threads there, is no longer: one left it, or it is archived. */
  forgetUnread(id) {
    this.unread.forgetPlace(id);
    this.threads.forgetPlace(id);
  }

  /**
   * A place is gone for the user, and all that is known of it. What was being written there is given back
   * where it was deleted; where they lost sight of it, nothing remains.
   */
  losePlace(id, isLost) {
    this.forgetUnread(id);
    this.outbox.discardAt(id);
    this.pictures.forgetAt(id);
    if (isLost) this.drafts.forgetAt(id);
    for (const [key, timeline] of this.#timelines) {
      if (timeline.place.id === id && this.#timelines.delete(key)) timeline.end();
    }
    this.emit("lost", { id });
  }

  /** Whether a message names the user, or all there: as the server says, where it does. */
  isMention({ id, content, mentions: all = [], channelId, threadId }) {
    if (this.capabilities.mentions) {
      const isWide = all.includes("@channel");
      const isIgnored = this.unread.state(channelId)?.ignoreChannelMentions;
      const isIn = !isIgnored && (!threadId || this.threads.has(threadId));
      return all.includes(this.me?.id) || (isWide ? isIn : this.named.has(id));
    }
    return content.includes("@") && mentions(content, this.names()).has(this.me?.id);
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
    this.directory.touch(message);
  }

  #receive(event) {
    if (this.#loading) this.#held.push(event);
    else this.#deal(event);
  }

  #deal({ id, type, payload }) {
    if (type === "RESYNC") this.#resync();
    else apply(this, type, payload, id);
  }

  /** Load the lists, again and again if need be; events wait meanwhile. */
  #load() {
    const { signal } = this.#ending;
    this.#loading ??= (async () => {
      for (const backoff = new Backoff(); !signal.aborted; await backoff.wait(signal)) {
        try {
          const gone = await this.directory.load();
          this.isLoaded = true;
          this.#forgetGone(gone);
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
  #forgetGone(gone) {
    for (const id of gone) this.losePlace(id, true);
    for (const { placeId } of this.threads.sorted()) if (!this.place(placeId)) this.forgetUnread(placeId);
  }

  /** The log no longer reaches back: everything is read anew. */
  async #resync(since = this.unread.newest) {
    this.directory.forgetPeople();
    await this.#loading;
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
    if (this.#hasBegun) return;
    this.#hasBegun = true;
    this.unread.newest.at ||= this.stream.connectedAt;
    if (this.#isStale()) this.#resync({});
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

// The directory's own: who and what there is.
for (const name of ["me", "serverName", "users", "channels", "conversations"]) {
  Object.defineProperty(Model.prototype, name, { get() { return this.directory[name]; } });
}
for (const name of ["sortedChannels", "sortedDirect", "names", "userName", "place"]) {
  Model.prototype[name] = function (id) { return this.directory[name](id); };
}

function changed(message, change) {
  return { ...message, ...(typeof change === "function" ? change(message) : change) };
}

async function findParent(model, thread) {
  (await import("./parent.js")).findParent(model, thread);
}

// What people do to messages and conversations that are there (acting.js); loaded with the first of it.
for (const act of ["edit", "remove", "toggleReaction", "openConversation"]) {
  Model.prototype[act] = async function (...given) {
    return (await import("./acting.js"))[act](this, ...given);
  };
}
