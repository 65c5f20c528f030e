// The endpoints of one's own account: name, sessions, and leaving for good.

export class Account {
  #api;
  #session;

  /**
   * @param {import("./api.js").Api} api
   * @param {import("./session.js").Session} session
   */
  constructor(api, session) {
    this.#api = api;
    this.#session = session;
  }

  async rename(userName) {
    return (await this.#api.send("PUT", "/users/me", { body: { userName } })).user;
  }
  exit() {
    return this.#api.send("POST", "/users/exit", { body: {} });
  }
  async sessions() {
    return (await this.#api.send("GET", "/auth/sessions")).sessions;
  }
  endSession(sessionId) {
    return this.#end({ sessionId });
  }
  async endOtherSessions() {
    const { refreshToken } = this.#session;
    if (refreshToken) return this.#end({ refreshToken });
    const others = (await this.sessions()).filter((session) => !session.isCurrentSession);
    for (const { id } of others) await this.endSession(id);
    return { success: true, revoked: others.length };
  }

  #end(body) {
    return this.#api.send("DELETE", "/auth/sessions", { body });
  }
}
