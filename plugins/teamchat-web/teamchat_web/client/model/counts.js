// How many messages of others are unread: of each place, and of each thread, under its parent's id.
//
// Where the server keeps read states, a count is the server's as of a position of the log, and what the
// stream told after that (docs/reference/extensions.md, D-11). What was shown here counts as read at once,
// before the server has heard of it. Of lists without such a state there is what came since the page was
// opened.

const MOST = 1000; // of a list, and what a server counts to at least
const WHOLE = new Set(["direct", "group"]); // where everything is for the user

export class Counts {
  #unread;
  #lists = new Map();

  /** @param {import("./unread.js").Unread} unread emits what it says that it emits */
  constructor(unread) {
    this.#unread = unread;
  }

  /** The ids of the places and threads of which something is known. */
  lists() {
    return [...this.#lists.keys()];
  }

  /** What the server said last of a place or a thread; undefined if nothing. */
  state(id) {
    return this.#lists.get(id)?.state;
  }

  /** How many messages of a place, or replies of a thread, are unread. */
  count(id) {
    return this.#sum(id, false);
  }

  /** How many of them call for the user. */
  mentionCount(id) {
    return this.#sum(id, !WHOLE.has(this.state(id)?.kind));
  }

  /** Whether a place is quiet, by the user's choice. */
  isMuted(id) {
    const { isMuted, mutedUntil } = this.state(id) ?? {};
    return Boolean(isMuted && (mutedUntil ?? Infinity) > Date.now());
  }

  /** Up to where a list was read: what is unread has a greater id. Empty if that isn't known. */
  position(id) {
    const list = this.#lists.get(id);
    return (list && after(list)) ?? "";
  }

  /** The id of the newest message of a place, or reply of a thread, that is known of. */
  newestOf(id) {
    const { state, came } = this.#lists.get(id) ?? { came: new Map() };
    return [state?.lastMessageId ?? "", ...came.keys()].sort().at(-1);
  }

  /** Whether a message of a place, or a reply of a thread, is unread; of one's own that is never asked. */
  has(id, messageId) {
    const list = this.#lists.get(id);
    if (!list || messageId <= after(list)) return false;
    const { at, gone } = list.came.get(messageId) ?? {};
    return !gone && Boolean(at || list.state);
  }

  /** All of it but what is muted: `unread`, and how many `mentions` there are, the count of a badge (D-9). */
  total() {
    const isQuiet = (id) => this.isMuted(this.#placeOf(id) ?? id);
    const all = this.lists().filter((id) => !isQuiet(id));
    const sum = (count) => all.reduce((total, id) => total + count(id), 0);
    return { unread: sum((id) => this.count(id)), mentions: sum((id) => this.#badge(id)) };
  }

  /**
   * A place, or a thread, was shown up to a message; without one, up to the newest that is known.
   * @param {string} [placeId] where it is, of a thread
   */
  markRead(id, position = this.newestOf(id), placeId = undefined) {
    const list = this.#lists.get(id);
    if (placeId && placeId !== id && !list?.state?.following) this.#looked(id, position, placeId);
    const { isMarkedUnread, generation = 0 } = list?.state ?? {};
    if (!list || !(isMarkedUnread || (position > after(list) && this.count(id)))) return;
    const calls = this.mentionCount(id) > 0 && !this.isMuted(this.#placeOf(id) ?? id);
    list.shown = { position, generation };
    if (isMarkedUnread) list.state = { ...list.state, isMarkedUnread: false };
    prune(list);
    this.#changed(id);
    const isThread = Boolean(this.#placeOf(id));
    if (list.state) this.#unread.emit("read", { id, position, generation, calls, isThread });
  }

  /** What mentions one where one doesn't follow is counted in the place, and read in the thread. */
  #looked(id, position, placeId) {
    if (!this.#countsMentions(placeId) || !this.#besideThreads(placeId)) return;
    const list = this.#list(id);
    if (position <= (list.looked ?? "")) return;
    Object.assign(list, { placeId, looked: position });
    this.#unread.emit("read", { id, position, calls: true, isThread: true });
  }

  /** Take up what the server says of a place or a thread, unless something newer is known (D-3). */
  take(told, id = told.messageId ?? told.placeId) {
    const list = this.#list(id);
    const state = { ...told, asOf: Number(told.asOf) };
    if (list.state && !list.isOpen && isOlder(state, list.state)) return;
    list.isOpen = false;
    if (list.state && list.state.mentionCount !== state.mentionCount) this.#doubtPlaceOf(id);
    if (!list.state) list.shown = null; // The server has not been told of it.
    list.state = state;
    prune(list); // Of what was read nothing is kept.
    if (!isAhead(list) && list.pruned > state.asOf) this.#unread.emit("doubt", { id });
    this.#changed(id);
  }

  /**
   * A message of somebody else that counts; it may be told more than once. A mention calls for the user.
   * @param {number} [at] the position of its event
   */
  add(id, { id: messageId, channelId }, calls, at = 1) {
    const list = this.#list(id);
    const { came } = list;
    list.placeId ??= channelId;
    if (messageId <= after(list)) return (list.pruned = Math.max(list.pruned, at));
    if (calls) this.#doubtPlaceOf(id);
    came.set(messageId, { gone: 0, ...came.get(messageId), at, calls });
    if (came.size > MOST) this.#drop(id);
    return this.#changed(id);
  }

  /** A message was edited, and calls for the user now, or no longer. Returns whether that is news. */
  edited(id, messageId, isMention) {
    const list = this.#lists.get(id);
    if (!list || messageId <= after(list)) return false;
    const entry = list.came.get(messageId);
    if (entry ? entry.gone || entry.calls === isMention : !list.state) return false;
    // It may have come before its place was counted.
    list.came.set(messageId, { at: 0, gone: 0, ...entry, calls: isMention });
    if (list.state && this.#unread.capabilities.mentions) this.#unread.emit("doubt", { id });
    this.#changed(id);
    return isMention;
  }

  /** A message of somebody else, or of who isn't told, was deleted. */
  gone(id, messageId, authorId, at) {
    const list = this.#lists.get(id);
    if (!list || messageId <= after(list)) return;
    const { state, came } = list;
    const entry = came.get(messageId);
    if (entry) entry.gone = at;
    else if (state && authorId) came.set(messageId, { at: 0, gone: at });
    const isOpen = state && !(entry && authorId) && (!authorId || state.mentionCount > 0);
    if (isOpen) this.#unread.emit("doubt", { id });
    if (state?.unreadCount >= MOST) this.#unread.emit("doubt", { id });
    this.#changed(id);
  }

  /** One's own message. Where the server knows nothing of it, what stands before it was read. */
  answered(id, message) {
    if (!this.state(id)) this.markRead(id, message.id);
  }

  /** The server may be as it was earlier: what it says next of each list holds, whatever was known. */
  reopen() {
    const fresh = () => ({ came: new Map(), pruned: 0, isOpen: true });
    for (const list of this.#lists.values()) Object.assign(list, fresh());
  }

  /** A place or a thread is gone. */
  forgetPlace(id) {
    if (this.#lists.delete(id)) this.#changed(id);
  }

  /** The place of a thread; undefined for a place. */
  #placeOf(id) {
    const { state, placeId } = this.#lists.get(id);
    const of = state?.placeId ?? placeId;
    return of === id ? undefined : of;
  }

  /** What mentions one in a thread is counted by the server in its place, too. */
  #doubtPlaceOf(id) {
    const placeId = this.#placeOf(id);
    const isCounted = this.state(placeId) && this.#unread.capabilities.mentions;
    if (isCounted) this.#unread.emit("doubt", { id: placeId });
  }

  /** What a list adds to the badge. A followed thread that calls is one, whatever its place counts of it. */
  #badge(id) {
    const count = this.mentionCount(id);
    if (this.#placeOf(id)) return this.state(id)?.following === false ? 0 : Math.min(count, 1);
    return this.#countsMentions(id) ? this.#besideThreads(id) : count;
  }

  /** How many of what mentions one at a place are in no thread that one follows. */
  #besideThreads(id) {
    const isFollowed = (one) => this.#placeOf(one) === id && this.state(one)?.following !== false;
    const threads = this.lists().filter(isFollowed);
    const told = (thread) => Math.max(this.state(thread)?.mentionCount ?? 0, this.mentionCount(thread));
    return threads.reduce((left, thread) => Math.max(0, left - told(thread)), this.mentionCount(id));
  }

  /** Whether the mentions at a place are those that the server has counted. */
  #countsMentions(id) {
    const list = this.#lists.get(id);
    if (!list || !this.#unread.capabilities.mentions) return false;
    return !WHOLE.has(list.state?.kind) && !isAhead(list);
  }

  #sum(id, isMention) {
    const list = this.#lists.get(id);
    if (!list) return 0;
    const { state, came } = list;
    const from = after(list);
    const isOwn = isAhead(list) || (isMention && !this.#unread.capabilities.mentions);
    let sum = isOwn ? 0 : state[isMention ? "mentionCount" : "unreadCount"];
    if (!isOwn && sum >= MOST) return sum;
    for (const [messageId, { at, gone, calls }] of came) {
      if (messageId <= from || (isMention && !calls)) continue;
      if (isOwn) sum += at && !gone ? 1 : 0;
      else sum += (at > state.asOf) - (gone > state.asOf);
    }
    return Math.max(0, sum);
  }

  #list(id) {
    if (!this.#lists.has(id)) this.#lists.set(id, { came: new Map(), pruned: 0 });
    return this.#lists.get(id);
  }

  /** No more than so many: what calls for the user stays. */
  #drop(id) {
    const list = this.#lists.get(id);
    const [messageId, { at }] = [...list.came].find(([, { calls }]) => !calls) ?? [...list.came][0];
    list.came.delete(messageId);
    list.pruned = Math.max(list.pruned, at);
    if (list.state?.asOf < at) this.#unread.emit("doubt", { id });
  }

  #changed(placeId) {
    this.#unread.emit("changed", { placeId });
  }
}

/** Whether more was shown here than the server has said it knows of. */
function isAhead({ state, shown }) {
  return !state || (shown?.generation === state.generation && shown.position > state.position);
}

function after(list) {
  return (isAhead(list) ? list.shown?.position : list.state.position) ?? "";
}

function isOlder(told, known) {
  for (const what of ["generation", "position", "asOf"]) {
    if (told[what] !== known[what]) return told[what] < known[what];
  }
  return false;
}

/** Forget what was read. */
function prune(list) {
  const from = after(list);
  for (const [messageId, { at, gone }] of list.came) {
    if (messageId > from) continue;
    list.came.delete(messageId);
    list.pruned = Math.max(list.pruned, at, gone);
  }
}
