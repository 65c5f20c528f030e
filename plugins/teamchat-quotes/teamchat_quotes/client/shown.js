// What is known of messages that are quoted. What stands in the same place comes with the message that quotes it; anything
// else is asked for, as the person who reads, and what they don't see is gone for them as what was deleted.

const MOST = 500; // messages that are remembered

export class Shown {
  #teamchat;
  #known = new Map(); // By id: the message, or null where there is none to be seen.
  #asking = new Map();
  #quoting = new Map(); // By the id of what is quoted: the ids of the messages here that quote it.
  #turn = 0;

  constructor(teamchat) {
    this.#teamchat = teamchat;
  }

  /** The id of what a message quotes, also of one that is on its way. */
  idIn({ quotedMessageId, fields }) {
    return quotedMessageId ?? fields?.quotedMessageId ?? null;
  }

  /** What stands there as quoted: the message, null for none that is to be seen, undefined until that is known. */
  in(message, id) {
    if (!this.#quoting.has(id)) this.#quoting.set(id, new Set());
    this.#quoting.get(id).add(message.id);
    return message.quoted ?? this.of(id, () => this.#redraw(id));
  }

  /** The same of any message; `changed` is called when it is known. */
  of(id, changed) {
    const here = this.#teamchat.messages.find(id) ?? this.#known.get(id);
    if (here === undefined) this.#ask(id).then(changed);
    return here;
  }

  edited(said) {
    const message = said.reply ?? said;
    const { id, updatedAt, quotedMessageId, quoted } = message; // One that quotes nothing now is told of without these.
    this.#teamchat.messages.update(id, { updatedAt, quotedMessageId, quoted });
    if (this.#known.get(message.id)) this.#known.set(message.id, message);
    this.#redraw(message.id, message);
  }

  /** A message is gone, and the replies in its thread. */
  deleted({ id }) {
    const isIn = ([known, message]) => known === id || message?.threadId === id;
    const gone = [id, ...[...this.#known].filter(isIn).map(([known]) => known)];
    for (const one of gone) this.#known.set(one, null);
    for (const one of new Set([...gone, ...this.#repliesTo(id)])) this.#redraw(one, null);
  }

  /** Who reads may see other things now. */
  forget() {
    this.#turn++;
    this.#known.clear();
    this.#asking.clear();
    for (const id of this.#quoting.keys()) this.#redraw(id);
  }

  /** Those quoted here that are replies to a message. */
  #repliesTo(id) {
    const { messages } = this.#teamchat;
    const isReply = ([, quoting]) => [...quoting].some((one) => messages.find(one)?.quoted?.threadId === id);
    return [...this.#quoting].filter(isReply).map(([quoted]) => quoted);
  }

  #ask(id) {
    if (!this.#asking.has(id)) this.#asking.set(id, this.#read(id, this.#turn));
    return this.#asking.get(id);
  }

  async #read(id, turn) {
    const { api } = this.#teamchat;
    try {
      const { message } = await api.get(api.path`/messages/${id}`);
      this.#know(id, message, turn);
    } catch (error) {
      if (error.status === undefined) setTimeout(() => this.#asking.delete(id), 5_000); // No answer: later.
      else this.#know(id, null, turn);
    }
  }

  #know(id, message, turn) {
    if (turn !== this.#turn) return;
    this.#known.set(id, message);
    this.#asking.delete(id);
    if (this.#known.size > MOST) this.#known.delete(this.#known.keys().next().value);
  }

  /** Draw anew what quotes a message; with `now` that is what it is, null if it is gone. */
  #redraw(id, now) {
    const { messages } = this.#teamchat;
    for (const quoting of this.#quoting.get(id) ?? []) {
      const shown = messages.find(quoting)?.quoted;
      if (shown && now === null) messages.update(quoting, { quoted: undefined });
      else messages.update(quoting, shown && now ? { quoted: withoutQuote(now) } : {});
    }
  }
}

function withoutQuote({ quoted, quotedMessageId, ...message }) {
  return message;
}
