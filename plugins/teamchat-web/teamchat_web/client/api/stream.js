// The event stream: read with fetch, so that the token travels in a header, and resumed after every break.
//
// * Every tab is told every event once and in order, from where it said it begins.
// * One tab alone holds the stream, for a browser opens six connections to a host and no more; it hands
//   events on to the others. When it goes, another takes over and resumes from what it saw itself.
// * A tab that comes in late is given what it misses from memory; if that does not reach back, it is told to
//   load anew (RESYNC), as the server tells a client that was away for too long.

import { Backoff } from "../lib/backoff.js";
import { Emitter } from "../lib/emitter.js";
import { exclusively, newId, reachOverTabs } from "../lib/tabs.js";
import { refusal } from "./http.js";

const SILENCE_MS = 40_000; // The server says something every 15 seconds.
const REMEMBERED = 1000;

/** Emits "open", "event" {id, type, payload} (id is empty for what isn't in the log), and "lost" {tries}. */
export class Stream extends Emitter {
  #http;
  #session;
  #name;
  #tab = newId();
  #backoff = new Backoff();
  #channel = null;
  #lastId = "";
  #isOpen = false;
  #isLeader = false;
  #recent = [];
  #recentFrom = "";
  #heardAt = 0;
  #reading = null;
  #connected = null;

  /** When the stream was last opened, by the server's clock, in epoch milliseconds. */
  connectedAt = 0;

  /**
   * @param {import("./http.js").Http} http
   * @param {import("./session.js").Session} session
   * @param {string} name the same for all tabs of one user
   */
  constructor(http, session, name) {
    super();
    this.#http = http;
    this.#session = session;
    this.#name = `teamchat-stream-${name}`;
  }

  /** Whether this tab holds the stream, and others may be fed by it. */
  get isLeader() {
    return this.#isLeader;
  }

  /** The id of the last event, to begin from the next time. */
  get lastEventId() {
    return this.#lastId;
  }

  /**
   * Begin after an event; with an empty id, from now on.
   * @param {string} lastEventId
   * @param {AbortSignal} signal ends the stream
   */
  open(lastEventId, signal) {
    this.#lastId = this.#recentFrom = lastEventId;
    if (reachOverTabs) this.#join(signal);
    exclusively(this.#name, () => this.#lead(signal), signal).catch(() => {
      if (!signal.aborted) this.emit("lost", { tries: 1 });
    });
  }

  // Following: what the tab that leads hands on.

  #join(signal) {
    this.#channel = new BroadcastChannel(this.#name);
    this.#channel.onmessage = ({ data }) => (this.#isLeader ? this.#serve(data) : this.#follow(data));
    signal.addEventListener("abort", () => this.#channel.close());
    this.#say({ kind: "hello", lastId: this.#lastId });
  }

  #follow({ kind, to, event, lastId, at, tries }) {
    if (to && to !== this.#tab) return;
    if (kind === "leader") this.#say({ kind: "hello", lastId: this.#lastId });
    if (kind === "open") this.#opened(lastId, at);
    if (kind === "lost") this.#lost(tries);
    if (kind === "event" && isNew(event, this.#lastId)) this.#take(event);
  }

  #serve({ kind, from, lastId }) {
    if (kind !== "hello") return;
    const missed = this.#after(lastId);
    const resync = { id: this.#lastId, type: "RESYNC", payload: {} };
    for (const event of missed ?? [resync]) this.#say({ kind: "event", to: from, event });
    if (this.#isOpen) this.#sayOpen(from);
    if (this.#connected) this.#say({ kind: "event", to: from, event: this.#connected });
  }

  /** The events after an id, as far as they are remembered; null if they are not. */
  #after(id) {
    if (id === "" || Number(id) >= Number(this.#lastId)) return [];
    if (id === this.#recentFrom) return this.#recent;
    const at = this.#recent.findIndex((event) => event.id === id);
    return at < 0 ? null : this.#recent.slice(at + 1);
  }

  #sayOpen(to) {
    this.#say({ kind: "open", to, lastId: this.#lastId, at: this.connectedAt });
  }

  #say(message) {
    this.#channel?.postMessage({ ...message, from: this.#tab });
  }

  // Leading: the stream itself.

  async #lead(signal) {
    this.#isLeader = true;
    this.#say({ kind: "leader" });
    const hurry = () => this.#distrust();
    addEventListener("online", hurry, { signal });
    addEventListener("offline", () => this.#reading?.abort(), { signal });
    document.addEventListener("visibilitychange", hurry, { signal });
    while (!signal.aborted) {
      const reader = new EventReader();
      let least = 0;
      try {
        await this.#read(reader, signal);
      } catch (error) {
        if (!this.#session.isSignedIn) return;
        least = (error.retryAfter ?? 0) * 1000;
      }
      if (signal.aborted) return;
      this.#lost(this.#backoff.tries + 1);
      this.#say({ kind: "lost", tries: this.#backoff.tries + 1 });
      await this.#backoff.wait(signal, Math.max(least, reader.retry));
    }
  }

  async #read(reader, signal) {
    const reading = (this.#reading = new AbortController());
    const stop = AbortSignal.any([signal, reading.signal]);
    const watchdog = setInterval(() => this.#isSilent(SILENCE_MS) && reading.abort(), 5000);
    this.#heardAt = Date.now();
    try {
      const response = await this.#connect(stop);
      const decoder = new TextDecoder();
      for (const body = response.body.getReader(); ; ) {
        const { done, value } = await body.read();
        if (done) return;
        this.#heardAt = Date.now();
        for (const { id, data } of reader.push(decoder.decode(value, { stream: true }))) {
          this.#receive({ id, ...JSON.parse(data) });
        }
      }
    } finally {
      clearInterval(watchdog);
      reading.abort();
    }
  }

  async #connect(signal) {
    const token = await this.#session.token();
    const response = await this.#request(token, signal);
    if (response.ok) return response;
    if (response.status === 403) this.#session.checkPassword();
    if (response.status !== 401) throw await refusal(response);
    const second = await this.#request(await this.#session.replace(token), signal);
    if (!second.ok) throw await refusal(second);
    return second;
  }

  #request(token, signal) {
    const headers = { Authorization: `Bearer ${token}`, Accept: "text/event-stream" };
    const since = encodeURIComponent(this.#lastId);
    const address = this.#http.url(`/events?lastEventId=${since}&ephemeral=read,presence,typing`);
    return fetch(address, { headers, signal, credentials: "omit", cache: "no-store" });
  }

  #receive(event) {
    if (event.type === "CONNECTED") {
      this.#backoff.reset();
      this.#opened(event.id, Date.parse(event.payload.timestamp));
      this.#sayOpen();
      event.id = "";
      this.#connected = event;
    }
    this.#take(event);
    this.#say({ kind: "event", event });
  }

  #remember(event) {
    this.#recent.push(event);
    if (event.type === "RESYNC") this.#recent = [event];
    if (this.#recent.length > REMEMBERED) this.#recentFrom = this.#recent.shift().id;
  }

  /** Don't wait for what may be dead: a machine that slept, a network that was another. */
  #distrust() {
    if (!document.hidden && this.#isSilent(SILENCE_MS / 2)) this.#reading?.abort();
  }

  #isSilent(ms) {
    return Date.now() - this.#heardAt > ms;
  }

  // Both.

  #take(event) {
    if (event.id) {
      this.#lastId = event.id;
      this.#remember(event);
    }
    this.emit("event", event);
  }

  #opened(lastId, at) {
    this.connectedAt = at;
    if (this.#lastId === "") this.#lastId = this.#recentFrom = lastId;
    this.#isOpen = true;
    this.emit("open");
  }

  #lost(tries) {
    this.#isOpen = false;
    this.emit("lost", { tries });
  }
}

function isNew({ id, type }, lastId) {
  return !id || type === "RESYNC" || lastId === "" || !(Number(id) <= Number(lastId));
}

/**
 * Reads server-sent events out of text that arrives in pieces (HTML standard, section 9.2.6). An event
 * without an `id:` of its own has none here: it isn't in the log.
 */
class EventReader {
  #rest = "";
  #data = [];
  #id = "";
  #retry = 0;

  /** Milliseconds to wait before coming back, as the server last said; 0 if it did not. */
  get retry() {
    return this.#retry;
  }

  /**
   * Take a piece of the stream and return the events it completes.
   * @param {string} text
   * @returns {{id: string, data: string}[]}
   */
  push(text) {
    const lines = (this.#rest + text).split(/\r\n|\n|\r(?!$)/);
    this.#rest = lines.pop();
    return lines.flatMap((line) => this.#line(line));
  }

  #line(line) {
    if (line === "") return this.#finish();
    const [, field, value] = /^([^:]*):? ?(.*)$/.exec(line);
    if (field === "data") this.#data.push(value);
    if (field === "id") this.#id = value;
    if (field === "retry" && /^\d+$/.test(value)) this.#retry = Number(value);
    return [];
  }

  #finish() {
    if (!this.#data.length) return [];
    const event = { id: this.#id, data: this.#data.join("\n") };
    this.#data = [];
    this.#id = "";
    return [event];
  }
}
