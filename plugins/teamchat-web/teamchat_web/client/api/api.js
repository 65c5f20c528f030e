// Every endpoint as a method named after its resource; what it returns is what is in the answer. A request
// that is refused because its token was ended early is sent once more with a new one.

const PATIENCE_FOR_IMAGES_MS = 5 * 60_000;

/**
 * A channel or a conversation.
 * @typedef {{kind: "channel"|"conversation", id: string}} Place
 */

export class Api {
  #http;
  #session;

  /**
   * @param {import("./http.js").Http} http
   * @param {import("./session.js").Session} session
   */
  constructor(http, session) {
    this.#http = http;
    this.#session = session;
  }

  /** The whole address of a path, for links that leave the page. */
  url(path) {
    return this.#http.url(path);
  }

  // Signing in; no token is needed.

  devLogin(email) {
    return this.#open("/auth/dev-login", { email });
  }
  login(email) {
    return this.#open("/auth/login", { email });
  }
  verify(email, token) {
    return this.#http.send("POST", "/auth/verify", { body: { email }, token });
  }
  passwordLogin(email, password) {
    return this.#open("/auth/password-login", { email, password });
  }
  requestReset(email) {
    return this.#open("/auth/request-password-reset", { email });
  }
  setupPassword(email, token, password) {
    return this.#open("/auth/setup-password", { email, token, password });
  }
  register(email, password) {
    return this.#open("/auth/register", { email, password });
  }
  async providers() {
    return (await this.#http.send("GET", "/auth/oauth/providers")).providers;
  }

  // The current user, their password and their sessions.

  async me() {
    return (await this.#get("/auth/me")).user;
  }
  /** Change one's own password. */
  async changePassword(...given) {
    return (await import("./own_password.js")).change(this.#http, this.#session, ...given);
  }
  async rename(userName) {
    return (await this.#put("/users/me", { userName })).user;
  }
  exit() {
    return this.#post("/users/exit");
  }
  async sessions() {
    return (await this.#get("/auth/sessions")).sessions;
  }
  endSession(sessionId) {
    return this.#delete("/auth/sessions", { sessionId });
  }
  async endOtherSessions() {
    const { refreshToken } = this.#session;
    if (refreshToken) return this.#delete("/auth/sessions", { refreshToken });
    const others = (await this.sessions()).filter((session) => !session.isCurrentSession);
    for (const { id } of others) await this.endSession(id);
    return { success: true, revoked: others.length };
  }

  // Users, channels, webhooks, the server.

  async users() {
    return (await this.#get("/users")).users;
  }
  addUser({ email, role, password }) {
    return this.#post("/users/add", { email, role, ...(password ? { password } : {}) });
  }
  removeUser(id) {
    return this.#delete(path`/users/${id}`);
  }
  resetPassword(id, password) {
    return this.#post(path`/users/${id}/reset-password`, { password });
  }
  async channels() {
    return (await this.#get("/channels")).channels;
  }
  async addChannel(name) {
    return (await this.#post("/channels", { name })).channel;
  }
  async renameChannel(id, name) {
    return (await this.#put(path`/channels/${id}`, { name })).channel;
  }
  removeChannel(id) {
    return this.#delete(path`/channels/${id}`);
  }
  async webhooks() {
    return (await this.#get("/webhooks")).webhooks;
  }
  async addWebhook({ name, channelId }) {
    return (await this.#post("/webhooks", { name, channelId })).webhook;
  }
  removeWebhook(id) {
    return this.#delete(path`/webhooks/${id}`);
  }
  serverSettings() {
    return this.#get("/server/settings");
  }
  setServerName(name) {
    return this.#put("/server/settings", { name });
  }

  // Conversations, messages, threads, reactions.

  async conversations() {
    return (await this.#get("/conversations")).conversations;
  }
  async converse(targetUserId) {
    return (await this.#post("/conversations", { targetUserId })).conversation;
  }
  async messages(place, { before, limit } = {}) {
    return (await this.#get(`${home(place)}/messages${page(before, limit)}`)).messages;
  }
  async post(place, { content, images }, key) {
    return (await this.#post(`${home(place)}/messages`, draft(content, images), key)).message;
  }
  async edit(place, message, { content, images }) {
    return (await this.#put(address(place, message), draft(content, images))).message;
  }
  remove(place, message) {
    return this.#delete(address(place, message));
  }
  async thread(parentId, { before, limit } = {}) {
    return (await this.#get(path`/messages/${parentId}/thread` + page(before, limit))).replies;
  }
  reply(parentId, { content, images }, key) {
    return this.#post(path`/messages/${parentId}/thread`, draft(content, images), key);
  }
  async react(id, reaction) {
    return (await this.#post(path`/messages/${id}/reactions`, { reaction })).message;
  }
  async unreact(id, reaction) {
    return (await this.#delete(path`/messages/${id}/reactions`, { reaction })).message;
  }

  // Images.

  async upload(place, { filename, image, thumbnail }) {
    const options = { body: { filename, image, thumbnail }, patience: PATIENCE_FOR_IMAGES_MS };
    return (await this.#send("POST", `${home(place)}/messages/image`, options)).filename;
  }
  image(place, filename, { thumb = false } = {}) {
    const address = home(place) + path`/messages/image/${filename}` + (thumb ? "?size=thumb" : "");
    const patience = PATIENCE_FOR_IMAGES_MS;
    return this.#withToken((token) => this.#http.blob(address, { patience, token }));
  }

  #open(address, body) {
    return this.#http.send("POST", address, { body });
  }
  #get(address) {
    return this.#send("GET", address);
  }
  #put(address, body) {
    return this.#send("PUT", address, { body });
  }
  #delete(address, body) {
    return this.#send("DELETE", address, { body });
  }
  #post(address, body = {}, key) {
    return this.#send("POST", address, { body, headers: key ? { "Idempotency-Key": key } : {} });
  }
  #send(method, address, options = {}) {
    return this.#withToken((token) => this.#http.send(method, address, { ...options, token }));
  }

  async #withToken(send) {
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
function path(parts, ...values) {
  return String.raw({ raw: parts }, ...values.map(encodeURIComponent));
}

function home({ kind, id }) {
  return kind === "channel" ? path`/channels/${id}` : path`/conversations/${id}`;
}

/** Where a message is edited and deleted: a reply at its thread, a direct message at its conversation. */
function address(place, { id, threadId }) {
  if (threadId) return path`/messages/${threadId}/thread/${id}`;
  return place.kind === "channel" ? path`/messages/${id}` : `${home(place)}${path`/messages/${id}`}`;
}

function page(before, limit) {
  const query = new URLSearchParams({ ...(limit && { limit }), ...(before && { before }) }).toString();
  return query && `?${query}`;
}

function draft(content, images) {
  return images ? { content, images } : { content };
}
