// The endpoints of rooms beyond the core: members, private channels, the archive, groups, notes, roles, and
// what admins see of channels they are not in (docs/reference/extensions.md). What a method returns is what
// is in the answer. A server that doesn't announce a capability answers its endpoints with 404.

import { path } from "./api.js";

/**
 * A channel, a group or notes, as the caller sees it. A field that is missing means its default.
 * @typedef {{id: string, name: string, kind?: "channel"|"group"|"notes", isPrivate?: boolean, topic?: string,
 *   description?: string, isDefault?: boolean, isArchived?: boolean, postPolicy?: "everyone"|"managers",
 *   invitePolicy?: "members"|"managers", historyFor?: "all"|"joiners", memberCount?: number,
 *   isMember?: boolean, role?: "manager"|"member"}} Channel
 * @typedef {{userId: string, role: "manager"|"member", joinedAt: number, addedBy: string}} Member
 */

export class Rooms {
  #api;

  /** @param {import("./api.js").Api} api */
  constructor(api) {
    this.#api = api;
  }

  // What the server offers, and what the caller may do.

  /** The capabilities that are announced, by name; none on a server of the core. */
  async capabilities() {
    try {
      return (await this.#get("/capabilities")).capabilities ?? {};
    } catch (error) {
      if (error.status === 404 || error.status === 405) return {};
      throw error;
    }
  }
  /** The caller: {user, role, may, asOf, hasPassword}. Needs `membership`. */
  me() {
    return this.#get("/me");
  }

  // Channels.

  /** One channel, as the caller sees it now. */
  async channel(id) {
    return (await this.#get(path`/channels/${id}`)).channel;
  }
  /** Make a public channel: `name`, and perhaps `topic`, `description`, `isDefault`, `postPolicy`. */
  async add(given) {
    return (await this.#post("/channels", given)).channel;
  }
  /** Make a private channel, also with `members` (user ids); `key` is an Idempotency-Key. */
  async addPrivate(given, key) {
    return (await this.#post("/private-channels", given, key)).channel;
  }
  /** Change any of name, topic, description, isDefault, postPolicy, invitePolicy, historyFor. */
  async change(id, changes) {
    return (await this.#put(path`/channels/${id}`, changes)).channel;
  }
  /** To private with `members` or without; to public with `history`, "show" or "hide". */
  async setPrivacy(id, change) {
    return (await this.#put(path`/channels/${id}/privacy`, change)).channel;
  }
  async archive(id) {
    return (await this.#post(path`/channels/${id}/archive`)).channel;
  }
  async unarchive(id) {
    return (await this.#post(path`/channels/${id}/unarchive`)).channel;
  }
  async join(id) {
    return (await this.#post(path`/channels/${id}/join`)).channel;
  }
  leave(id) {
    return this.#post(path`/channels/${id}/leave`);
  }

  // Members.

  /** A page of members, in the order of their ids: {members, next, count}. */
  members(id, { limit = 200, cursor } = {}) {
    return this.#get(path`/channels/${id}/members` + query({ limit, cursor }));
  }
  /** The members of a channel, all pages of them. */
  async allMembers(id) {
    const all = [];
    for (let cursor; cursor !== null; ) {
      const { members, next } = await this.members(id, { cursor });
      all.push(...members);
      cursor = next;
    }
    return all;
  }
  /** Add users, 1 to 200: {added, alreadyMembers}. */
  addMembers(id, userIds) {
    return this.#post(path`/channels/${id}/members`, { userIds });
  }
  /** Make a member a "manager", or a "member" again. */
  async setRole(id, userId, role) {
    return (await this.#put(path`/channels/${id}/members/${userId}`, { role })).member;
  }
  removeMember(id, userId) {
    return this.#api.send("DELETE", path`/channels/${id}/members/${userId}`);
  }

  // Groups and notes.

  /** The group of the caller and 2 to 8 others, the same one each time: {channel, isNew}. */
  openGroup(userIds, key) {
    return this.#post("/groups", { userIds }, key);
  }
  async addToGroup(id, userIds) {
    return (await this.#post(path`/groups/${id}/members`, { userIds })).channel;
  }
  /** Make a group a private channel with a name; it never goes back. */
  async convertGroup(id, name) {
    return (await this.#post(path`/groups/${id}/convert`, { name })).channel;
  }
  /** The caller's notes: {channel, isNew}. */
  openNotes() {
    return this.#put("/me/notes");
  }

  // Administration.

  /** A page of all channels, without anything that was said in them: {channels, next}. */
  allChannels({ limit = 200, cursor } = {}) {
    return this.#get(`/admin/channels${query({ limit, cursor })}`);
  }
  /** Become a manager of a channel one is not in; its members are told the reason. */
  async enter(id, reason) {
    return (await this.#post(path`/admin/channels/${id}/enter`, { reason })).channel;
  }
  /** Delete a channel one sees, with all that is in it. */
  remove(id) {
    return this.#api.send("DELETE", path`/channels/${id}`);
  }
  /** Delete a channel one need not be in. */
  removeAny(id) {
    return this.#api.send("DELETE", path`/admin/channels/${id}`);
  }
  /** Make a user an "admin", or a "user" again. */
  async setUserRole(id, role) {
    return (await this.#put(path`/users/${id}/role`, { role })).user;
  }

  #get(address) {
    return this.#api.send("GET", address);
  }
  #put(address, body) {
    return this.#api.send("PUT", address, { body });
  }
  #post(address, body = {}, key) {
    return this.#api.send("POST", address, { body, headers: key ? { "Idempotency-Key": key } : {} });
  }
}

function query(values) {
  const given = Object.entries(values).filter(([, value]) => value !== undefined);
  return `?${new URLSearchParams(given)}`;
}
