// Posts that have not arrived yet.
//
// A post that was written down is sent until the server takes or refuses it, over
// reloads and restarts, in its place's order; and it never becomes two messages, for each carries an
// Idempotency-Key from the start. One tab sends at a time. A post whose event came before its answer is
// hidden, not forgotten: the answer alone says which message it became.

import { Backoff } from "../lib/backoff.js";
import { Emitter } from "../lib/emitter.js";
import { t } from "../lib/strings.js";
import { exclusively, newId } from "../lib/tabs.js";

const START = "post/";
const SHORT_NAME = /:[a-z0-9_+-]+:/;

/**
 * Emits "changed" {item} when a post is new, has changed or is gone, "sent" {item, message, threadMeta?,
 * unreached?}, and "edited" {item, unreached?}.
 */
export class Outbox extends Emitter {
  #api;
  #kept;
  #pictures;
  #items = new Map();
  #busy = new Map();
  #backoff = new Backoff();
  #signal = null;
  #isDraining = false;
  #wake = () => {};
  #name;

  constructor({ api, kept, pictures, name }) {
    super();
    this.#api = api;
    this.#kept = kept;
    this.#pictures = pictures;
    this.#name = `teamchat-outbox-${name}`;
  }

  /** Take up what was left, and send until `signal` is aborted. */
  async start(signal) {
    this.#signal = signal;
    this.#kept.onChange((key) => key?.startsWith(START) && this.#adopt(key), signal);
    for (const key of this.#kept.keys(START)) await this.#adopt(key);
    this.send();
  }

  /** The posts that wait at a place, or at a thread, in order; those whose message is there are left out. */
  pending(place, parentId = null) {
    return [...this.#items.values()]
      .filter((item) => item.place.id === place.id && item.parentId === parentId && !item.arrivedAs)
      .sort(inOrder);
  }

  /** Write a post down and send it. Returns the item at once. */
  add({ place, parentId = null, author, content, entities, files = [], fields }) {
    const localId = newId();
    const { kind, id } = place;
    const item = { localId, place: { kind, id }, parentId, author, content, createdAt: Date.now() };
    const more = { entities, fields, pictures: files, fileCount: files.length, uploaded: [] };
    Object.assign(item, more, { state: "sending", error: null });
    this.#items.set(localId, item);
    this.emit("changed", { item });
    this.#write(item);
    return item;
  }

  /** What is sent, {content, entities}: emoji in place of their short names. */
  async withEmoji({ content, entities }) {
    const draft = { content, entities };
    if (!SHORT_NAME.test(content)) return draft;
    const { withEmoji } = await import("./acting.js").catch(() => ({ withEmoji: () => draft }));
    return withEmoji(draft, this.#kept);
  }

  /** Send a failed post again. */
  retry(localId) {
    const item = this.#items.get(localId);
    if (!item) return;
    this.#change(item, { state: "sending", error: null });
    this.send();
  }

  /** Forget a post. If it is on its way just now, it may still arrive. */
  discard(localId) {
    const item = this.#items.get(localId);
    if (item) this.#drop(item);
  }

  /** A place is gone, and what waited to be posted there. */
  discardAt(placeId) {
    for (const item of [...this.#items.values()]) if (item.place.id === placeId) this.#drop(item);
  }

  /** A message of one's own came as an event: the post it may be is hidden until its answer tells. */
  arrived(message) {
    const { channelId, threadId = null, content, images = [] } = message;
    const mine = this.pending({ id: channelId }, threadId).find(
      (item) => item.wasTried && item.content === content && item.uploaded.join() === images.join(),
    );
    if (mine) this.#change(mine, { arrivedAs: message.id });
  }

  /** Send what waits, now: the server is there. */
  send() {
    this.#backoff.hurry();
    this.#wake();
    if (this.#isDraining || !this.#signal || !this.#next().length) return;
    this.#isDraining = true;
    exclusively(this.#name, () => this.#drain(), this.#signal)
      .catch(() => {})
      .finally(() => {
        this.#isDraining = false;
        if (!this.#signal.aborted && this.#next().some(([queue]) => !this.#busy.has(queue))) this.send();
      });
  }

  /** Keep a new post; its files first, so that no tab sends it without them. */
  async #write(item) {
    if (item.fileCount) await (await filesKept()).keepFiles(item.localId, item.pictures);
    item.isWritten = true;
    this.#change(item, {});
    this.send();
  }

  /** The first post to send at each place. */
  #next() {
    const first = new Map();
    const all = [...this.#items.values()].sort(inOrder);
    for (const item of all) {
      const queue = `${item.place.id}/${item.parentId ?? ""}`;
      if (item.isWritten && item.state !== "failed" && !first.has(queue)) first.set(queue, item);
    }
    return [...first];
  }

  async #drain() {
    while (!this.#signal.aborted) {
      for (const [queue, item] of this.#next()) {
        if (this.#busy.has(queue)) continue;
        this.#busy.set(queue, this.#sendOne(item).finally(() => this.#busy.delete(queue)));
      }
      if (!this.#busy.size) return;
      const woken = new Promise((resolve) => (this.#wake = resolve));
      await Promise.race([woken, ...this.#busy.values()]);
    }
  }

  /** Send one post until it is taken or refused. */
  async #sendOne(item) {
    try {
      const draft = await this.withEmoji(item);
      if (!this.#items.has(item.localId)) return; // It was discarded meanwhile.
      if (draft.content !== item.content) this.#change(item, draft);
      await this.#upload(item);
      this.#change(item, { wasTried: true });
      const { message, reply = message, ...more } = await this.#post(item);
      if (this.#signal.aborted) return;
      this.#backoff.reset();
      this.#drop(item);
      this.emit("sent", { item, message: reply, ...more });
    } catch (error) {
      await this.#failed(item, error);
    }
  }

  async #upload(item) {
    for (const file of item.pictures.slice(item.uploaded.length)) {
      const filename = await this.#api.upload(item.place, await this.#pictures.prepare(file));
      this.#change(item, { uploaded: [...item.uploaded, filename] });
    }
  }

  #post({ place, parentId, content, entities, fields, uploaded, fileCount, localId }) {
    const draft = { ...fields, content, entities, images: fileCount ? uploaded : undefined };
    return parentId ? this.#api.reply(parentId, draft, localId) : this.#api.post(place, draft, localId);
  }

  async #failed(item, error) {
    if (this.#signal.aborted || !this.#items.has(item.localId)) return;
    const { entities } = item;
    if (error.status === 403 && entities?.some(isTyped)) {
      return this.#change(item, { entities: entities.filter((one) => !isTyped(one)) });
    }
    const isFinal = error.status === undefined ? error.isFinal : !error.isPassing && error.status !== 401;
    if (isFinal && item.arrivedAs) this.#drop(item); // It was taken, and deleted since.
    else if (isFinal) this.#change(item, { state: "failed", error: error.message });
    else {
      this.#change(item, { state: "waiting", error: error.message });
      await this.#backoff.wait(this.#signal, (error.retryAfter ?? 0) * 1000);
      if (!this.#signal.aborted && item.state === "waiting") this.#change(item, { state: "sending" });
    }
  }

  #change(item, values) {
    Object.assign(item, values);
    if (this.#signal?.aborted || !this.#items.has(item.localId)) return;
    this.#keep(item);
    this.emit("changed", { item });
  }

  #keep({ pictures, ...rest }) {
    this.#kept.set(START + rest.localId, rest);
  }

  #drop(item) {
    this.#items.delete(item.localId);
    this.#kept.delete(START + item.localId);
    if (item.fileCount) filesKept().then(({ dropFiles }) => dropFiles(item.localId));
    this.emit("changed", { item });
  }

  /** Take up what was kept before, or what another tab has kept, changed or dropped. */
  async #adopt(key) {
    const localId = key.slice(START.length);
    const found = this.#kept.get(key);
    const item = this.#items.get(localId);
    if (!found) {
      this.#items.delete(localId);
      if (item) this.emit("changed", { item });
      return;
    }
    if (item) Object.assign(item, found);
    else this.#items.set(localId, { ...found, pictures: await filesOf(found) });
    const adopted = this.#items.get(localId);
    const isWhole = adopted.pictures.length === adopted.fileCount;
    if (!isWhole) Object.assign(adopted, { state: "failed", error: t("post.files_lost") });
    this.emit("changed", { item: adopted });
    if (!item) this.send();
  }
}

const inOrder = (a, b) => (a.localId < b.localId ? -1 : 1);

/** Whether everybody is named so by hand; who may not do that writes a text. */
const isTyped = (entity) => entity.isTyped;

const filesOf = async ({ localId, fileCount }) =>
  fileCount ? (await filesKept()).keptFiles(localId) : [];

/** Most posts have no files. */
const filesKept = () => import("../lib/files.js");
