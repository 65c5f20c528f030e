// What concerns the user: mentions, replies in their threads, reactions, being added to a place, reminders.
// The server works it out (docs/reference/extensions.md, E-9, E-10, H-7); here it is asked anew when an event
// says that it has changed.

import { ActivityApi } from "../api/activity.js";
import { Emitter } from "../lib/emitter.js";
import { Retry } from "../lib/retry.js";

const PAGE = 50;
const MOST = 200;
const SOON_MS = 150;
const CHANGING = /^(NEW_ACTIVITY|DELETE_ACTIVITY|ACTIVITY_READ|RESYNC)$/;
// These change it only where something of it is known here.
const TOUCHING = /^(UPDATE|DELETE)_(MESSAGE|DM_MESSAGE|THREAD_REPLY|CHANNEL)$|^NOTIFICATION_SETTINGS$/;
const OF_MESSAGE = /^(UPDATE|DELETE)_(?:MESSAGE|DM_MESSAGE|THREAD_REPLY)$/;
const all = new WeakMap();

/** The feed of a model; the same each time. */
export function activityOf(model) {
  if (!all.has(model)) all.set(model, new Activity(model));
  return all.get(model);
}

/** Emits "changed", and "came" {item} for what is new in a feed that is watched. */
class Activity extends Emitter {
  #model;
  #api;
  #timer = null;
  #retry;
  #asking = null;
  #isStale = false;
  #watching = 0;
  #firstNew = null;
  #gone = null; // what goes while a page is on its way

  /** The items that are loaded, newest first; of `kind`, or with null of all. */
  items = [];
  kind = null;
  /** How many are unread, of all kinds. */
  unreadCount = 0;
  hasMore = false;
  isLoaded = false;
  error = null;

  constructor(model) {
    super();
    this.#model = model;
    this.#api = new ActivityApi(model.api);
    const ending = new AbortController();
    this.#retry = new Retry(() => this.#soon(), ending.signal);
    model.on("signedOut", () => ending.abort());
    model.on("event", ({ type, payload }) => this.#heard(type, payload));
    model.on("connection", () => model.connection === "online" && this.#soon());
    model.on("lost", ({ id }) => this.#forget(({ placeId }) => placeId === id));
  }

  /** Whether an item was unread as the feed was opened, or has come since. */
  isNew({ id }) {
    return this.#firstNew !== null && id >= this.#firstNew;
  }

  /** Ask how much is unread, and for what is newer than what is loaded. */
  refresh() {
    clearTimeout(this.#timer);
    this.#timer = null;
    if (this.#asking) this.#isStale = true;
    this.#asking ??= this.#ask().finally(() => {
      this.#asking = null;
      if (this.#isStale) this.#soon();
      this.#isStale = false;
    });
    return this.#asking;
  }

  /** Open the feed, from its beginning; until the signal is aborted it is kept. */
  watch(signal) {
    this.#watching++;
    signal.addEventListener("abort", () => --this.#watching || this.#reset(null));
    return this.choose(null);
  }

  /** Have items of one kind, or with null of all. */
  choose(kind) {
    this.#reset(kind);
    this.emit("changed");
    return this.refresh();
  }

  /** The next page; throws if there is no answer. */
  async more() {
    const { kind } = this;
    const before = this.items.at(-1)?.id;
    const gone = (this.#gone = []);
    const asked = this.#api.page({ kind, before, limit: PAGE });
    const { items } = await asked.finally(() => (this.#gone = null));
    if (kind !== this.kind || before !== this.items.at(-1)?.id) return;
    this.items = [...this.items, ...items.filter((item) => !gone.some((isGone) => isGone(item)))];
    this.hasMore = items.length === PAGE;
    this.emit("changed");
  }

  /** What is shown was seen: where all kinds are. */
  async seen() {
    const newest = this.items[0]?.id;
    if (this.kind || !newest || !this.unreadCount) return;
    try {
      this.#count((await this.#api.read(newest)).unreadCount);
    } catch {} // The next look tells it.
  }

  #reset(kind) {
    if (kind === null && !this.#watching) this.#firstNew = null;
    Object.assign(this, { kind, items: [], hasMore: false, isLoaded: false, error: null });
  }

  #heard(type, payload) {
    const isOwn = payload?.actor === this.#model.me.id && payload.kind !== "reminder";
    const isKnown = this.unreadCount > 0 || this.#watching > 0;
    if (CHANGING.test(type) ? !isOwn : isKnown && TOUCHING.test(type)) this.#soon();
    const [, change] = OF_MESSAGE.exec(type) ?? [];
    if (change === "UPDATE") this.#edited(payload.reply ?? payload);
    const isOf = ({ message }) => [message?.id, message?.threadId].includes(payload.id);
    if (change === "DELETE") this.#forget(isOf);
  }

  // What stands further down than what is asked for anew is not to say what is said no longer, either.

  #edited(told) {
    const isOf = ({ message }) => message?.id === told.id;
    if (!this.items.some(isOf)) return;
    const edited = (item) => ({ ...item, message: { ...item.message, ...told } });
    this.items = this.items.map((item) => (isOf(item) ? edited(item) : item));
    this.emit("changed");
  }

  #forget(isGone) {
    const { length } = this.items;
    this.#gone?.push(isGone);
    this.items = this.items.filter((item) => !isGone(item));
    if (this.items.length < length) this.emit("changed");
  }

  #soon() {
    this.#timer ??= setTimeout(() => this.refresh(), SOON_MS);
  }

  async #ask() {
    const { kind } = this;
    const isWatched = this.#watching > 0;
    try {
      const page = await this.#api.page({ kind, limit: isWatched ? PAGE : 1 });
      const firstNew = this.#firstNew ?? (isWatched ? await this.#first(page) : null);
      if (kind !== this.kind) return;
      if (isWatched && this.#watching) this.#take(page, firstNew);
      this.#count(page.unreadCount);
      this.#retry.worked();
    } catch (error) {
      this.error = error;
      this.emit("changed");
      if (this.#model.connection === "online" && error.status !== 404) this.#retry.failed(error);
    }
  }

  /** The id of the oldest that is unread; one after all that there are where none is. */
  async #first({ items, unreadCount }) {
    if (!unreadCount) return items.length ? `${items[0].id}~` : "";
    if (!this.kind && unreadCount <= items.length) return items[unreadCount - 1].id;
    const unread = await this.#api.page({ unread: true, limit: MOST });
    return unread.items.length < MOST ? unread.items.at(-1)?.id ?? "~" : "";
  }

  /** The newest page, before what is further down. Of reactions a message has one item, which moves. */
  #take({ items }, firstNew) {
    const known = new Set(this.items.map(({ id }) => id));
    const isWhole = items.length < PAGE;
    const named = new Set(items.map(nameOf));
    const isRest = (one) => one.id < items.at(-1).id && !named.has(nameOf(one));
    const rest = isWhole ? [] : this.items.filter(isRest);
    if (!rest.length) this.hasMore = !isWhole;
    const hadAny = this.isLoaded;
    Object.assign(this, { items: [...items, ...rest], isLoaded: true, error: null });
    this.#firstNew = firstNew;
    const newest = [...known].sort().at(-1) ?? "";
    const came = hadAny && items.find(({ id }) => id > newest);
    this.emit("changed");
    if (came) this.emit("came", { item: came });
  }

  #count(unreadCount) {
    if (unreadCount === this.unreadCount) return;
    this.unreadCount = unreadCount;
    this.emit("changed");
  }
}

function nameOf({ kind, placeId, message }) {
  return `${kind} ${message?.id ?? placeId}`;
}
