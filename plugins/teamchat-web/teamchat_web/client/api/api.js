// The endpoints of the chat, each a method named after its resource; what it returns is what is in the
// answer. Those of signing in, of one's own account, of rooms and of administration have modules of
// their own, and so has what is done to messages that are there (messages.js). A request that is refused
// because its token was ended early is sent once more with a new one.

const PATIENCE_FOR_IMAGES_MS = 5 * 60_000;

/**
 * A channel or a conversation.
 * @typedef {{kind: "channel"|"conversation", id: string}} Place
 */

export class Api {
  http;
  #session;

  /**
   * @param {import("./http.js").Http} http
   * @param {import("./session.js").Session} session
   */
  constructor(http, session) {
    this.http = http;
    this.#session = session;
  }

  async me() {
    return (await this.#get("/auth/me")).user;
  }

  // Users, channels, the server.

  async users() {
    return (await this.#get("/users")).users;
  }
  /** All channels that one sees, and of which moment that is: {channels, asOf}. */
  channels() {
    return this.#get("/channels");
  }
  serverSettings() {
    return this.#get("/server/settings");
  }

  // Conversations, messages, threads.

  async conversations() {
    return (await this.#get("/conversations")).conversations;
  }
  async messages(place, cut) {
    return (await this.#get(`${home(place)}/messages${page(cut)}`)).messages;
  }
  post(place, draft, key) {
    return this.#post(`${home(place)}/messages`, draft, key);
  }
  async thread(parentId, cut) {
    return (await this.#get(path`/messages/${parentId}/thread` + page(cut))).replies;
  }
  reply(parentId, draft, key) {
    return this.#post(path`/messages/${parentId}/thread`, draft, key);
  }

  // Images.

  async upload(place, { filename, image, thumbnail }) {
    const options = { body: { filename, image, thumbnail }, patience: PATIENCE_FOR_IMAGES_MS };
    return (await this.send("POST", `${home(place)}/messages/image`, options)).filename;
  }
  image(place, filename, { thumb = false } = {}) {
    const address = home(place) + path`/messages/image/${filename}` + (thumb ? "?size=thumb" : "");
    const patience = PATIENCE_FOR_IMAGES_MS;
    return this.withToken((token) => this.http.blob(address, { patience, token }));
  }

  #get(address) {
    return this.send("GET", address);
  }
  #post(address, body = {}, key) {
    return this.send("POST", address, { body, headers: key ? { "Idempotency-Key": key } : {} });
  }
  /** Send a request of any kind as the user; `options` are those of `Http.send`. */
  send(method, address, options = {}) {
    return this.withToken((token) => this.http.send(method, address, { ...options, token }));
  }

  async withToken(send) {
    const token = await this.#session.token();
    try {
      return await send(token);
    } catch (error) {
      if (error.status === 403) this.#session.checkPassword();
      if (error.status !== 401) throw error;
      return send(await this.#session.replace(token));
    }
  }
}

/** A path with each value escaped. */
export function path(parts, ...values) {
  return String.raw({ raw: parts }, ...values.map(encodeURIComponent));
}

/** The path of a place. */
export function home({ kind, id }) {
  return kind === "channel" ? path`/channels/${id}` : path`/conversations/${id}`;
}

/** `cut` is what of it: `limit`, and `before` a message, `after` it or `around` it. */
function page(cut = {}) {
  const query = new URLSearchParams(Object.entries(cut).filter(([, value]) => value)).toString();
  return query && `?${query}`;
}
