// Which draft of the server is which text here. Of each place where something is written this browser keeps the draft's id,
// its version and the text that both agreed on last: what differs from that is new here, what has another version is new
// there. Nothing is overwritten unseen: where both are new, the own text becomes a draft of its own.
//
// All tabs keep the same notes, and one at a time saves. A draft that was sent is remembered until the server says that it
// is gone, for the post may still wait for the network.

const SAVE_MS = 5_000; // A draft is saved at most so often.
const NOTE = "note/";
const SENT = "sent/";
const DISCARDED = "discarded/";
const NOTHING = signOf("");

export class Syncing {
  #teamchat;
  #changed;
  #listed = new Map(); // The drafts of the server, by id, as they were heard of last.
  #timers = new Map();
  #savedAt = new Map();

  /** `changed` is called when other drafts stand beside that in the field. */
  constructor(teamchat, changed) {
    this.#teamchat = teamchat;
    this.#changed = changed;
    const whole = () => document.visibilityState === "hidden" && this.#hurry();
    document.addEventListener("visibilitychange", whole, { signal: teamchat.signal });
  }

  /** What a post has besides: the draft that it was, so that it ends with it. */
  fields(where) {
    const note = this.#note(where);
    return note && { draftId: note.id };
  }

  /** It was sent from here. */
  sent(where) {
    const note = this.#note(where);
    clearTimeout(this.#timers.get(keyOf(where)));
    this.#timers.delete(keyOf(where));
    if (!note) return;
    this.#teamchat.kept.set(SENT + note.id, Date.now());
    this.#listed.delete(note.id);
    this.#forget(where);
  }

  /** A post was discarded, and with it the draft that it was. */
  discard(id) {
    this.#teamchat.kept.set(DISCARDED + id, true);
  }

  /** Tell the server what was discarded. */
  async endDiscarded() {
    const { api, kept } = this.#teamchat;
    for (const name of kept.keys(DISCARDED)) {
      try {
        await api.delete(api.path`/me/drafts/${name.slice(DISCARDED.length)}`);
      } catch (error) {
        if (error.status !== 404) throw error; // It was never saved, or is gone.
      }
      kept.delete(name);
    }
  }

  /** Somebody writes here. */
  written(where) {
    const key = keyOf(where);
    if (!this.#isNew(where)) return;
    this.#begin(where);
    if (this.#timers.has(key)) return;
    const since = Date.now() - (this.#savedAt.get(key) ?? -Infinity);
    const wait = Math.max(1_000, SAVE_MS - since);
    this.#timers.set(key, setTimeout(() => this.#save(where), wait));
  }

  /** A place is gone, or not seen any more: nothing of it stays in this browser. */
  lost(placeId) {
    for (const where of this.#noted.filter((one) => one.placeId === placeId)) {
      clearTimeout(this.#timers.get(keyOf(where)));
      this.#timers.delete(keyOf(where));
      this.#forget(where);
    }
    for (const draft of [...this.#listed.values()]) if (draft.placeId === placeId) this.#listed.delete(draft.id);
  }

  /** The drafts of a place that are not the one in the field. */
  others(where) {
    const own = this.#note(where)?.id;
    return [...this.#listed.values()].filter((one) => keyOf(placeOf(one)) === keyOf(where) && one.id !== own);
  }

  /** Have another draft of the place in the field; what stands there is a draft beside it then. */
  async take(where, draft) {
    await this.#save(where);
    this.#adopt(where, draft);
  }

  /** Do without a draft. */
  async drop({ id }) {
    const { api } = this.#teamchat;
    await api.delete(api.path`/me/drafts/${id}`);
    this.#listed.delete(id);
    this.#changed();
  }

  /** Read all drafts of the server, and have here what is new there and there what is new here. */
  read() {
    return this.#teamchat.exclusively(() => this.#read());
  }

  async #read() {
    const { drafts } = await this.#teamchat.api.get("/me/drafts");
    if (this.#teamchat.signal.aborted) return; // Who has signed out leaves nothing behind.
    const listed = new Map(drafts.filter(({ id }) => !this.#wasSent(id)).map((one) => [one.id, one]));
    this.#forgetSent(new Set(drafts.map(({ id }) => id)));
    this.#listed = listed;
    for (const where of this.#noted) {
      const note = this.#note(where);
      const there = listed.get(note.id);
      if (there) this.#see(where, there);
      else if (note.version) this.#gone(where);
    }
    for (const one of listed.values()) this.#offer(one);
    for (const where of this.#teamchat.drafts.all()) this.written(where);
    this.#changed();
  }

  /** An event: a draft has another version, or is gone. What is being saved here is noted first. */
  changed(event) {
    return this.#teamchat.exclusively(() => this.#heard(event));
  }

  async #heard({ id, version, deleted }) {
    const where = this.#noted.find((one) => this.#note(one).id === id);
    if (deleted) {
      this.#teamchat.kept.delete(SENT + id);
      this.#listed.delete(id);
      if (where) this.#gone(where);
      return this.#changed();
    }
    if (this.#wasSent(id) || (where && this.#note(where).version >= version)) return undefined;
    const { api } = this.#teamchat;
    let draft;
    try {
      ({ draft } = await api.get(api.path`/me/drafts/${id}`));
    } catch (error) {
      if (error.status === 404) return undefined; // Its deletion is told next.
      throw error;
    }
    if (this.#teamchat.signal.aborted) return undefined;
    this.#listed.set(id, draft);
    const now = this.#noted.find((one) => this.#note(one).id === id);
    if (now) this.#see(now, draft);
    else if (!this.#wasSent(id)) this.#offer(draft);
    return this.#changed();
  }

  /** Whether the text here is another than both agreed on. */
  #isNew(where) {
    const { text, fields } = this.#teamchat.drafts.get(where);
    const note = this.#note(where);
    return note ? signOf(text, fields) !== note.agreed : Boolean(text.trim());
  }

  /** Note which draft a new text is to be, before it is saved: it may be sent first. */
  #begin(where) {
    if (!this.#note(where)) this.#keep(where, { id: crypto.randomUUID?.() ?? uuid(), version: 0, agreed: NOTHING });
  }

  /** A version of the server's that is not the one agreed on. */
  #see(where, draft) {
    const note = this.#note(where);
    if (draft.version <= note.version) return;
    if (this.#isSame(where, draft)) this.#agree(where, draft);
    else if (!this.#isNew(where)) this.#adopt(where, draft);
    else this.#split(where);
  }

  /** A draft that is gone on the server: so is its text here, unless something was added to it. */
  #gone(where) {
    const isNew = this.#isNew(where);
    this.#forget(where);
    if (isNew) this.written(where);
    else this.#teamchat.drafts.set(where, null);
  }

  /** A draft that this browser does not know: it stands in the field where nothing else does. */
  #offer(draft) {
    const where = placeOf(draft);
    const isKnown = this.#noted.some((one) => this.#note(one).id === draft.id);
    if (isKnown || this.#note(where)?.version || this.#teamchat.drafts.get(where).text.trim()) return;
    this.#adopt(where, draft);
  }

  /** Have a draft of the server in the field. */
  #adopt(where, draft) {
    const { content, entities, quotedMessageId } = draft;
    this.#agree(where, draft);
    this.#teamchat.drafts.set(where, { text: content, entities, fields: quotedMessageId ? { quotedMessageId } : {} });
    this.#changed();
  }

  /** The server has what stands here. */
  #agree(where, { id, version, content, quotedMessageId }) {
    this.#keep(where, { id, version, agreed: signOf(content, { quotedMessageId }) });
  }

  #isSame(where, { content, quotedMessageId }) {
    const { text, fields } = this.#teamchat.drafts.get(where);
    return signOf(text, fields) === signOf(content, { quotedMessageId });
  }

  /** Both have changed: what stands here becomes a draft of its own. */
  #split(where) {
    this.#forget(where);
    this.written(where);
    this.#changed();
  }

  #hurry() {
    for (const [key, timer] of [...this.#timers]) {
      clearTimeout(timer);
      this.#save(whereOf(key));
    }
  }

  async #save(where) {
    const key = keyOf(where);
    clearTimeout(this.#timers.get(key));
    this.#timers.delete(key);
    this.#savedAt.set(key, Date.now());
    try {
      await this.#teamchat.exclusively(() => this.#saveNow(where));
    } catch (error) {
      if (this.#teamchat.signal.aborted) return;
      if (error.status === undefined || error.isPassing) {
        this.#timers.set(key, setTimeout(() => this.#save(where), SAVE_MS));
      } // Else the server does not take it: it stays in this browser.
    }
  }

  async #saveNow(where) {
    const { api, drafts } = this.#teamchat;
    const note = this.#note(where);
    if (!note || !this.#isNew(where)) return;
    const { text, entities, fields } = drafts.get(where);
    const address = api.path`/me/drafts/${note.id}`;
    const isFirst = note.version === 0;
    try {
      if (!text.trim()) {
        if (!isFirst) await api.delete(address, undefined, { match: note.version });
        this.#listed.delete(note.id);
        if (this.#note(where)?.id === note.id) this.#forget(where);
        return;
      }
      const body = { ...fields, placeId: where.placeId, threadId: where.parentId, content: text, entities };
      const { draft } = await api.put(address, body, { match: isFirst ? null : note.version });
      if (this.#note(where)?.id !== note.id) return; // It was sent meanwhile.
      this.#listed.set(draft.id, draft);
      this.#keep(where, { id: note.id, version: draft.version, agreed: signOf(text, fields) });
    } catch (error) {
      if (error.status !== 412 && error.status !== 410) throw error;
      if (this.#note(where)?.id !== note.id) return;
      await this.#refused(where, error.status, note);
    }
  }

  /** The server has another version, or none any more. */
  async #refused(where, status, note) {
    if (status === 410) {
      this.#listed.delete(note.id);
      return this.#gone(where);
    }
    const { api, drafts } = this.#teamchat;
    const { draft } = await api.get(api.path`/me/drafts/${note.id}`);
    this.#listed.set(draft.id, draft);
    if (this.#isSame(where, draft)) return this.#agree(where, draft); // The answer to the last save was lost.
    if (!drafts.get(where).text.trim()) return this.#adopt(where, draft);
    return this.#split(where);
  }

  #wasSent(id) {
    return Boolean(this.#teamchat.kept.get(SENT + id));
  }

  /** What the server does not list any more has been taken. */
  #forgetSent(listed) {
    const { kept } = this.#teamchat;
    for (const name of kept.keys(SENT)) if (!listed.has(name.slice(SENT.length))) kept.delete(name);
  }

  get #noted() {
    return this.#teamchat.kept.keys(NOTE).map((name) => whereOf(name.slice(NOTE.length)));
  }
  #note(where) {
    return this.#teamchat.kept.get(NOTE + keyOf(where));
  }
  #keep(where, note) {
    this.#teamchat.kept.set(NOTE + keyOf(where), note);
  }
  #forget(where) {
    this.#teamchat.kept.delete(NOTE + keyOf(where));
  }
}

const keyOf = ({ placeId, parentId }) => (parentId ? `${placeId}/${parentId}` : placeId);
const placeOf = ({ placeId, threadId = null }) => ({ placeId, parentId: threadId });

function whereOf(key) {
  const [placeId, parentId = null] = key.split("/");
  return { placeId, parentId };
}

/** What two texts are compared by. */
function signOf(text, { quotedMessageId = "" } = {}) {
  return JSON.stringify([text.trim(), quotedMessageId]);
}

/** A UUID, also on pages without TLS. */
function uuid() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6] & 0x0f) | 0x40;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  const hex = [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}
