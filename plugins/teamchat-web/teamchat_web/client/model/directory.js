// Who and what there is: users, channels and conversations, with the events that change them. The lists are
// kept, so that a page without a network still shows where one was.

import { Emitter } from "../lib/emitter.js";

const KEY = "directory";
const SOON_MS = 1000;

/** Emits "me", "users", "channels", "conversations", "server". */
export class Directory extends Emitter {
  #api;
  #kept;
  #names = null;
  #formerNames = new Map();
  #saving = null;

  constructor(api, kept) {
    super();
    this.#api = api;
    this.#kept = kept;
    this.#fill(kept.get(KEY) ?? { me: null, users: [], channels: [], conversations: [], serverName: "" });
  }

  /** Whether there is anything to show. */
  get isFilled() {
    return this.me !== null;
  }

  /** Keep what there is when the page is left, too. */
  start(signal) {
    addEventListener("pagehide", () => this.#saving && this.#save(), { signal });
    signal.addEventListener("abort", () => clearTimeout(this.#saving));
  }

  /** Load everything anew. */
  async load() {
    const api = this.#api;
    const [me, users, channels, conversations, server] = await Promise.all([
      api.me(), api.users(), api.channels(), api.conversations(), api.serverSettings(),
    ]);
    this.#fill({ me, users, channels, conversations, serverName: server.name });
    for (const type of ["me", "users", "channels", "conversations", "server"]) this.#changed(type);
  }

  sortedChannels() {
    const { compare } = new Intl.Collator(undefined, { numeric: true });
    return [...this.channels.values()].sort((a, b) => compare(a.name, b.name));
  }

  /** The one last written in first. */
  sortedConversations() {
    const age = (one) => one.lastMessageAt ?? one.createdAt ?? 0;
    return [...this.conversations.values()].sort((a, b) => age(b) - age(a));
  }

  /** The ids of users by their names in lower case. The same map until a name changes. */
  names() {
    this.#names ??= new Map([...this.users.values()].map(({ id, userName }) => [userName.toLowerCase(), id]));
    return this.#names;
  }

  /** The name of a user who is there or was, or undefined. */
  userName(id) {
    return this.users.get(id)?.userName ?? this.#formerNames.get(id);
  }

  /** A place with its title, or null if there is none of this id. */
  place(id) {
    const channel = this.channels.get(id);
    if (channel) return { kind: "channel", id, title: channel.name };
    const conversation = this.conversations.get(id);
    if (!conversation) return null;
    const { otherUser } = conversation;
    return { kind: "conversation", id, title: this.userName(otherUser.id) ?? otherUser.userName };
  }

  /** Apply an event; one that is about something else is passed over. */
  apply(type, payload) {
    this[`_${type}`]?.(payload);
  }

  /** Take up a conversation that was opened. */
  addConversation(conversation) {
    const { lastMessageAt = null, createdAt = Date.now(), ...rest } = conversation;
    const known = this.conversations.get(conversation.id);
    this.conversations.set(conversation.id, { ...rest, lastMessageAt, createdAt, ...known });
    this.#changed("conversations");
  }

  /** A message was posted in a conversation. */
  async touchConversation({ channelId: id, createdAt }) {
    if (!this.conversations.has(id)) await this.#loadConversations();
    const conversation = this.conversations.get(id);
    if (!conversation || conversation.lastMessageAt >= createdAt) return;
    conversation.lastMessageAt = createdAt;
    this.#changed("conversations");
  }

  setMe(user) {
    this.me = { ...this.me, ...user };
    this._UPDATE_USER(user);
    this.#changed("me");
  }

  _NEW_CHANNEL({ id, name, createdAt }) {
    this.channels.set(id, { id, name, createdAt });
    this.#changed("channels");
  }
  _UPDATE_CHANNEL({ id, name }) {
    this.channels.set(id, { ...this.channels.get(id), id, name });
    this.#changed("channels");
  }
  _DELETE_CHANNEL({ id }) {
    if (this.channels.delete(id)) this.#changed("channels");
  }
  _NEW_USER({ id, userName, email }) {
    this.users.set(id, { isAdmin: false, createdAt: Date.now(), ...this.users.get(id), id, userName, email });
    this.#changed("users");
  }
  _UPDATE_USER({ id, userName }) {
    const user = this.users.get(id);
    if (!user || user.userName === userName) return;
    this.users.set(id, { ...user, userName });
    this.#changed("users");
    if (id === this.me?.id) {
      this.me = { ...this.me, userName };
      this.#changed("me");
    }
  }
  _REMOVE_USER({ id }) {
    const user = this.users.get(id);
    if (!user) return;
    this.#formerNames.set(id, user.userName);
    this.users.delete(id);
    this.#changed("users");
  }
  _USER_EXIT(payload) {
    this._REMOVE_USER(payload);
  }
  _UPDATE_SERVER_SETTINGS({ name }) {
    this.serverName = name;
    this.#changed("server");
  }
  _NEW_CONVERSATION({ id, participants, createdAt }) {
    const other = participants.find((user) => user !== this.me.id);
    const userName = this.userName(other);
    if (userName === undefined) this.#loadConversations();
    else this.addConversation({ id, participants, createdAt, otherUser: { id: other, userName } });
  }

  async #loadConversations() {
    try {
      for (const conversation of await this.#api.conversations()) this.addConversation(conversation);
    } catch {
      // The next message, or the next visit, tries again.
    }
  }

  #fill({ me, users, channels, conversations, serverName }) {
    const byId = (list) => new Map(list.map((one) => [one.id, one]));
    for (const { id, userName } of this.users?.values() ?? []) this.#formerNames.set(id, userName);
    this.me = me;
    this.users = byId(users);
    this.channels = byId(channels);
    this.conversations = byId(conversations);
    this.serverName = serverName;
    this.#names = null;
  }

  #changed(type) {
    this.#names = null;
    this.#saving ??= setTimeout(() => this.#save(), SOON_MS);
    this.emit(type);
  }

  #save() {
    clearTimeout(this.#saving);
    this.#saving = null;
    this.#kept.set(KEY, {
      me: this.me,
      users: [...this.users.values()],
      channels: [...this.channels.values()],
      conversations: [...this.conversations.values()],
      serverName: this.serverName,
    });
  }
}
