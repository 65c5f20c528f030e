// The endpoints of administration, and those of the chat that it needs.

import { path } from "./api.js";

export class Administration {
  #api;

  /** @param {import("./api.js").Api} api */
  constructor(api) {
    this.#api = api;
  }

  users() {
    return this.#api.users();
  }
  addUser({ email, role, password }) {
    return this.#post("/users/add", { email, role, ...(password ? { password } : {}) });
  }
  removeUser(id) {
    return this.send("DELETE", path`/users/${id}`);
  }
  setActive(id, isActive) {
    return this.#post(isActive ? path`/users/${id}/activate` : path`/users/${id}/deactivate`);
  }
  resetPassword(id, password) {
    return this.#post(path`/users/${id}/reset-password`, { password });
  }
  channels() {
    return this.#api.channels();
  }
  async addChannel(name) {
    return (await this.#post("/channels", { name })).channel;
  }
  async renameChannel(id, name) {
    return (await this.send("PUT", path`/channels/${id}`, { body: { name } })).channel;
  }
  removeChannel(id) {
    return this.send("DELETE", path`/channels/${id}`);
  }
  async webhooks() {
    return (await this.send("GET", "/webhooks")).webhooks;
  }
  async addWebhook({ name, channelId }) {
    return (await this.#post("/webhooks", { name, channelId })).webhook;
  }
  removeWebhook(id) {
    return this.send("DELETE", path`/webhooks/${id}`);
  }
  /** A page of the audit log: {entries, next}. */
  audit(which) {
    const query = new URLSearchParams(Object.entries(which).filter(([, value]) => value));
    return this.send("GET", `/admin/audit?${query}`);
  }
  setServerName(name) {
    return this.send("PUT", "/server/settings", { body: { name } });
  }

  #post(address, body) {
    return this.send("POST", address, { body });
  }
  /** Send a request of any kind; `options` are those of `Http.send`. */
  send(...request) {
    return this.#api.send(...request);
  }
}
