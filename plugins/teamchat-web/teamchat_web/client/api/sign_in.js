// The endpoints of signing in; no token is needed.

export class SignIn {
  #http;

  /** @param {import("./http.js").Http} http */
  constructor(http) {
    this.#http = http;
  }

  devLogin(email, code) {
    return this.#open("/auth/dev-login", { email, code });
  }
  login(email) {
    return this.#open("/auth/login", { email });
  }
  verify(email, token, code) {
    return this.#http.send("POST", "/auth/verify", { body: { email, code }, token });
  }
  passwordLogin(email, password, code) {
    return this.#open("/auth/password-login", { email, password, code });
  }
  requestReset(email) {
    return this.#open("/auth/request-password-reset", { email });
  }
  setupPassword(email, token, password, code) {
    return this.#open("/auth/setup-password", { email, token, password, code });
  }
  secondFactor(ticket, code) {
    return this.#open("/auth/second-factor", { ticket, code });
  }
  register(email, password) {
    return this.#open("/auth/register", { email, password });
  }
  async whose(token) {
    return (await this.#http.send("GET", "/auth/me", { token })).user;
  }
  async providers() {
    return (await this.#http.send("GET", "/auth/oauth/providers")).providers;
  }

  #open(address, body) {
    return this.#http.send("POST", address, { body });
  }
}
