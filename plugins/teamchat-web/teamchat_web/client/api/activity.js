// The endpoints of the feed (docs/reference/extensions.md, E-9, H-7).

/**
 * Something that concerns one; `message` is missing where one was `added` to a place.
 * @typedef {{id: string, kind: "mention" | "reply" | "reaction" | "added" | "reminder", at: number,
 *   placeId: string, actors: string[], message?: object, reaction?: string}} Item
 */

export class ActivityApi {
  #api;

  /** @param {import("./api.js").Api} api */
  constructor(api) {
    this.#api = api;
  }

  /** A page, newest first, of one kind or of all: {items: Item[], unreadCount, asOf}. */
  page({ kind, before, unread, limit }) {
    const asked = { kinds: kind, before, unread, limit };
    const query = Object.entries(asked).filter(([, value]) => value);
    return this.#api.send("GET", `/me/activity?${new URLSearchParams(query)}`);
  }
  /** It was shown up to an item: {unreadCount}. */
  read(position) {
    return this.#api.send("PUT", "/me/activity/read", { body: { position } });
  }
}
