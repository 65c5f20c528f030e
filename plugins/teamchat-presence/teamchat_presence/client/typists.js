// Who types where, and telling that one types oneself: at most every four seconds, and that it has ended.

const REPEAT_MS = 4000;
const SHOWN_MS = 6000;
const QUIET_MS = 60_000; // between two words to a screen reader
const NAMED = 2;

export class Typists {
  #teamchat;
  #typing = new Map();
  #timers = new Map();
  #told = new Map();
  #announcedAt = 0;
  #changed = () => {};

  constructor(teamchat) {
    this.#teamchat = teamchat;
    teamchat.signal.addEventListener("abort", () => this.#timers.forEach(clearTimeout));
  }

  onChange(changed) {
    this.#changed = changed;
  }

  told({ placeId, threadId, userId, until }) {
    const { me } = this.#teamchat;
    if (userId === me.id) return;
    const key = keyOf(placeId, threadId, userId);
    // The clocks of server and browser differ; but who has stopped tells a time before the one told last.
    const hasStopped = until < (this.#typing.get(key)?.until ?? 0);
    this.#set(key, { placeId, threadId, userId, until }, hasStopped ? 0 : SHOWN_MS);
  }

  /** Who has posted types no more. */
  posted({ channelId, parentId, threadId, author }) {
    if (author) this.#set(keyOf(channelId, threadId ?? parentId ?? null, author.id), null, 0);
  }

  /** What is said below a field; nothing where nobody types. */
  words({ place, parentId }) {
    const { t, userName } = this.#teamchat;
    const there = [...this.#typing.values()].filter(
      (one) => one.placeId === place.id && (one.threadId ?? null) === (parentId ?? null),
    );
    const names = there.map(({ userId }) => userName(userId)).filter(Boolean);
    if (!names.length) return "";
    if (names.length > NAMED) return t("several", { count: names.length });
    return names.length === 1 ? t("one", { name: names[0] }) : t("two", { name: names[0], other: names[1] });
  }

  /** The text of a field has changed. */
  typed({ place, parentId, text }) {
    const key = keyOf(place.id, parentId ?? null, "");
    const isTyping = Boolean(text().trim());
    const last = this.#told.get(key) ?? 0;
    if (isTyping ? Date.now() - last < REPEAT_MS : !last) return;
    this.#told.set(key, isTyping ? Date.now() : 0);
    const { api } = this.#teamchat;
    const body = { isTyping, ...(parentId && { threadId: parentId }) };
    api.post(api.path`/places/${place.id}/typing`, body).catch(() => {}); // It is for a moment alone.
  }

  #set(key, typist, ms) {
    clearTimeout(this.#timers.get(key));
    this.#timers.delete(key);
    if (ms) {
      const isNew = !this.#typing.has(key);
      this.#typing.set(key, typist);
      this.#timers.set(key, setTimeout(() => this.#set(key, null, 0), ms));
      if (isNew) this.#announce(typist);
      this.#changed();
    } else if (this.#typing.delete(key)) {
      this.#changed();
    }
  }

  /** Who listens is told once a minute at most, and of the room that is open alone. */
  #announce({ placeId, threadId }) {
    const { room, announce } = this.#teamchat;
    if (room?.id !== placeId || threadId || Date.now() - this.#announcedAt < QUIET_MS) return;
    this.#announcedAt = Date.now();
    announce(this.words({ place: room, parentId: null }));
  }
}

function keyOf(placeId, threadId, userId) {
  return `${placeId} ${threadId ?? ""} ${userId}`;
}
