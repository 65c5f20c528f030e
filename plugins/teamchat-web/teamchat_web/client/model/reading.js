// Telling the server what was shown here: at once, and then of each place no more often than every five
// seconds; what is due is sent when nobody looks any longer (docs/reference/extensions.md, D-7). What calls
// for the user stands in the badges of their other devices, and goes from there within a second.

const EVERY_MS = 5000;
const CALLING_MS = 500;

export class Reading {
  #api;
  #unread;
  #all = new Map(); // by list: when it was told last, what is due and when, what is on its way

  /**
   * @param {import("../api/read_states.js").ReadStatesApi} api
   * @param {import("./unread.js").Unread} unread
   */
  constructor(api, unread) {
    this.#api = api;
    this.#unread = unread;
  }

  /** A list was shown up to there; with `calls`, something of it is in a badge. */
  note(id, { calls, ...shown }) {
    const one = this.#one(id);
    one.due = shown;
    const at = one.toldAt + (calls ? CALLING_MS : EVERY_MS);
    if (one.timer && one.at <= at) return;
    clearTimeout(one.timer);
    Object.assign(one, { at, timer: setTimeout(() => this.send(id), at - Date.now()) });
  }

  /** Tell what is due of a list now; `options` are those of `Http.send`. */
  async send(id, options) {
    const one = this.#one(id);
    clearTimeout(one.timer);
    one.timer = null;
    if (!one.due) return;
    const shown = one.due;
    Object.assign(one, { due: null, toldAt: Date.now() });
    try {
      await (one.sending = this.#tell(id, shown, options));
    } catch (error) {
      if (error.status === undefined || error.isPassing) one.due ??= shown; // Until there is a connection.
    }
  }

  /** Tell all that is due. */
  sendAll(options) {
    return Promise.all([...this.#all.keys()].map((id) => this.send(id, options)));
  }

  /** Once what is known of a list has been told. */
  async sent(id) {
    await this.send(id);
    await this.#one(id).sending?.catch(() => {});
  }

  end() {
    for (const { timer } of this.#all.values()) clearTimeout(timer);
  }

  async #tell(id, shown, options) {
    const { changed } = await this.#api.read(id, shown, options);
    // Another device has moved it meanwhile, and this one hasn't heard of it.
    if (!changed) this.#unread.emit("doubt", { id });
  }

  #one(id) {
    if (!this.#all.has(id)) this.#all.set(id, { toldAt: 0, due: null, at: 0, timer: null, sending: null });
    return this.#all.get(id);
  }
}
