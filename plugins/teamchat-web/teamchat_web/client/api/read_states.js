// The endpoints of read states (docs/reference/extensions.md, D). What a method returns is what is in the
// answer.

import { path } from "./api.js";

/**
 * How far somebody has read in a place, and what is unread there.
 * @typedef {{placeId: string, kind: string, position: string, generation: number, isMarkedUnread: boolean,
 *   unreadCount: number, mentionCount: number, lastMessageId: ?string, level: string, isMuted: boolean,
 *   mutedUntil: ?number}} ReadState
 */

export class ReadStatesApi {
  #api;

  /** @param {import("./api.js").Api} api */
  constructor(api) {
    this.#api = api;
  }

  /** All of them, or those that changed since an earlier answer's mark: {places, left, badge, mark, asOf}. */
  places(since) {
    return this.#api.send("GET", `/me/places${since ? path`?since=${since}` : ""}`);
  }
  /** One of them, as of now. */
  async place(id) {
    const { state, asOf } = await this.#api.send("GET", path`/me/places/${id}`);
    return { ...state, asOf };
  }
  /** A place, or a thread, was shown up to a message: {state, changed}; `keepalive` for a page that goes. */
  read(id, { position, generation, isThread }, { keepalive } = {}) {
    const address = isThread ? path`/me/threads/${id}/read` : path`/me/places/${id}/read`;
    return this.#api.send("PUT", address, { keepalive, body: { position, generation } });
  }
  /** From a message on everything is unread. */
  unread(id, from) {
    return this.#api.send("PUT", path`/me/places/${id}/unread`, { body: { from } });
  }
  /** A page of the threads one follows, by the last reply: {threads: {parent, state}[], next, asOf}. */
  threads({ filter = "all", limit, cursor } = {}) {
    const query = new URLSearchParams({ filter, limit, ...(cursor && { cursor }) });
    return this.#api.send("GET", `/me/threads?${query}`);
  }
  follow(id, following) {
    return this.#api.send("PUT", path`/me/threads/${id}`, { body: { following } });
  }
  unreadThread(id, from) {
    return this.#api.send("PUT", path`/me/threads/${id}/unread`, { body: { from } });
  }
  /** What notifies one in a place: any of level, isMuted, mutedUntil, ignoreChannelMentions. */
  notify(id, changes) {
    return this.#api.send("PUT", path`/me/places/${id}/notifications`, { body: changes });
  }
  /** What notifies one in all places: {defaults, keywords, quietHours, pausedUntil, preview, urgentFrom}. */
  choices() {
    return this.#api.send("GET", "/me/notifications");
  }
  /** Choose some of them; returns all. */
  choose(changes) {
    return this.#api.send("PUT", "/me/notifications", { body: changes });
  }
  /** Many places were shown: message ids by the ids of places, 1,000 at most. */
  readAll(positions) {
    return this.#api.send("PUT", "/me/read", { body: { positions } });
  }
}
