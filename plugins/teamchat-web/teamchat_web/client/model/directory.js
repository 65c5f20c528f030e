// Who and what there is: users, channels (groups and notes among them) and conversations, with the events
// that change them. The lists are kept, so that a page without a network still shows where one was.
//
// A list of channels says of which moment it is (`asOf`): events of before that are in it already.

import { Emitter } from "../lib/emitter.js";
import { t } from "../lib/strings.js";
import { appeared, changed, isUncertain, isUnknown, joined, left } from "./rooms.js";

const KEY = "directory";
const SOON_MS = 1000;

/** Emits "me", "users", "channels", "conversations", "server". */
export class Directory extends Emitter {
  #api;
  #kept;
  #names = null;
  #formerNames = new Map();
  #saving = null;
  #asOf = 0;

  /** Why a channel is there no longer, by its id: "deleted", "removed" (oneself was) or "private". */
  lost = new Map();

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

  /** Keep what there is when the page is left, too; and nothing that is answered after the end. */
  start(signal) {
    addEventListener("pagehide", () => this.#saving && this.#save(), { signal });
    signal.addEventListener("abort", () => (this.#saving = clearTimeout(this.#saving) ?? true));
  }

  /** Load everything anew. Returns the ids of the channels that are there no longer. */
  async load() {
    const api = this.#api;
    const [me, users, { channels, asOf }, conversations, server] = await Promise.all([
      api.me(), api.users(), api.channels(), api.conversations(), api.serverSettings(),
    ]);
    const before = this.channels;
    this.#asOf = Number(asOf ?? 0);
    this.#fill({ me, users, channels, conversations, serverName: server.name });
    for (const [id, { people, lastMessageAt }] of before) {
      if (this.channels.has(id)) Object.assign(this.channels.get(id), { people, lastMessageAt });
    }
    for (const type of ["me", "users", "channels", "conversations", "server"]) this.#changed(type);
    return [...before.keys()].filter((id) => !this.channels.has(id));
  }

  /** Forget who is in the groups: what changed it may have been missed. */
  forgetPeople() {
    for (const channel of this.channels.values()) delete channel.people;
  }

  /** The channels one is in, but for archived ones. */
  sortedChannels() {
    const { compare } = new Intl.Collator(undefined, { numeric: true });
    return this.#all(({ kind = "channel", isMember }) => kind === "channel" && isMember !== false)
      .sort((a, b) => compare(a.name, b.name));
  }

  /** The places that are called after people: one's notes, then what was last written in. */
  sortedDirect() {
    const age = (one) => one.lastMessageAt ?? one.createdAt ?? 0;
    const all = [...this.#all(({ kind }) => kind === "group"), ...this.conversations.values()];
    const notes = this.#all(({ kind }) => kind === "notes");
    return [...notes, ...all.sort((a, b) => age(b) - age(a))].map(({ id }) => this.place(id));
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

  /**
   * A place, or null if there is none of this id: its title, how it is spoken of (`label`, "#title" for a
   * channel with a name of its own), and its `type`: "public", "private", "group", "notes" or "direct".
   */
  place(id) {
    const channel = this.channels.get(id);
    if (channel) return { kind: "channel", id, ...this.#called(channel) };
    const conversation = this.conversations.get(id);
    if (!conversation) return null;
    const { otherUser } = conversation;
    const title = this.userName(otherUser.id) ?? otherUser.userName;
    return { kind: "conversation", id, type: "direct", title, label: title, person: otherUser.id };
  }

  #called({ kind = "channel", isPrivate, name, people = [] }) {
    if (kind === "channel") return { type: isPrivate ? "private" : "public", title: name, label: `#${name}` };
    const others = people.flatMap((id) => (id === this.me.id ? [] : (this.userName(id) ?? [])));
    const listed = others.length ? others : name.split(", ").filter((one) => one !== this.me.userName);
    const names = listed.sort((a, b) => a.localeCompare(b));
    const title = kind === "notes" ? t("sidebar.notes") : names.join(", ") || name;
    return { type: kind, title, label: title };
  }

  #all(isWanted) {
    return [...this.channels.values()].filter((one) => isWanted(one) && !one.isArchived);
  }

  /** Apply an event, by its id; one that is about something else, or in the lists already, is passed over. */
  apply(type, payload, id) {
    const isOld = Number(id) <= this.#asOf && type.includes("CHANNEL");
    if (!isOld) this[`_${type}`]?.(payload);
  }

  /** Take up a channel as an answer has it. */
  take(channel) {
    const { people, lastMessageAt } = this.channels.get(channel.id) ?? {};
    this.#set({ people, lastMessageAt, ...channel });
  }

  /** Take up who is an admin. */
  setRoles(me, users) {
    this.me = me;
    for (const { id, isAdmin } of users) this.users.set(id, { ...this.users.get(id), isAdmin });
    for (const type of ["me", "users"]) this.#changed(type);
  }

  /** Take up a user as they are now. */
  setUser(user) {
    this.users.set(user.id, user);
    this.#changed("users");
    if (user.id !== this.me?.id) return;
    this.me = { ...this.me, userName: user.userName, isAdmin: user.isAdmin };
    this.#changed("me");
  }

  /** Take up a conversation that was opened. */
  addConversation(conversation) {
    const { lastMessageAt = null, createdAt = Date.now(), ...rest } = conversation;
    const known = this.conversations.get(conversation.id);
    this.conversations.set(conversation.id, { ...rest, lastMessageAt, createdAt, ...known });
    this.#changed("conversations");
  }

  /** A message was posted in a conversation, or in a group. */
  async touch({ channelId: id, createdAt }) {
    const find = () => this.channels.get(id) ?? this.conversations.get(id);
    if (!find()) await this.#loadConversations();
    const found = find();
    if (!found || found.lastMessageAt >= createdAt) return;
    found.lastMessageAt = createdAt;
    if (found.otherUser || found.kind) this.#changed("conversations");
  }

  _NEW_CHANNEL(told) {
    this.lost.delete(told.id);
    this.#tell(told, appeared(told, this.me.id));
  }
  _UPDATE_CHANNEL(told) {
    this.#tell(told, changed(this.channels.get(told.id), told));
  }
  _DELETE_CHANNEL({ id, reason = "deleted" }) {
    if (!this.channels.delete(id)) return;
    this.lost.set(id, reason);
    this.#changed("channels");
    this.#save();
  }
  _CHANNEL_MEMBERS_ADDED({ channelId, members }) {
    const channel = this.channels.get(channelId);
    if (channel) this.#set(joined(channel, members, this.me.id));
  }
  _CHANNEL_MEMBER_REMOVED({ channelId, userId }) {
    const channel = this.channels.get(channelId);
    if (channel) this.#set(left(channel, userId, this.me.id));
  }
  _CHANNEL_MEMBER_UPDATED({ channelId, userId, role }) {
    const channel = this.channels.get(channelId);
    if (channel && userId === this.me.id) this.#set({ ...channel, role });
  }
  _NEW_USER({ id, userName, email }) {
    this.users.set(id, { isAdmin: false, createdAt: Date.now(), ...this.users.get(id), id, userName, email });
    this.#changed("users");
  }
  _UPDATE_USER(told) {
    this.#ask("askUser", told);
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

  #tell(told, channel) {
    const isOpen = isUncertain(this.channels.get(told.id), told, this.me.id);
    this.#set(channel);
    if (isOpen) this.#ask("askChannel", told.id);
  }

  #set(channel) {
    this.channels.set(channel.id, channel);
    this.#changed("channels");
  }

  /** Ask the server for what an event leaves open; where it can't be asked, the next visit tells. */
  async #ask(what, ...about) {
    try {
      await (await import("./asking.js"))[what](this.#api, this, ...about);
    } catch {}
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
    if (type === "channels" && [...this.channels.values()].some(isUnknown)) this.#ask("askPeople");
    this.emit(type);
  }

  #save() {
    this.#saving = clearTimeout(this.#saving);
    this.#kept.set(KEY, {
      me: this.me,
      users: [...this.users.values()],
      channels: [...this.channels.values()],
      conversations: [...this.conversations.values()],
      serverName: this.serverName,
    });
  }
}
