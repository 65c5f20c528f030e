// The files that go up from this browser, by where the message is written that they will stand in. What is on its way is
// written down with the file itself, so that it goes on after a reload; a line that is cut is waited for. A tab takes up
// what another left that is closed, and leaves alone what another sends.

import { begin, end, go, offset } from "./tus.js";

const AT_ONCE = 2;
const PAUSES_MS = [500, 1_000, 2_000, 5_000, 10_000, 30_000];
const INDEX = "uploads";
const TAB = "teamchat-files-tab";

export class Uploads {
  #teamchat;
  #tab;
  #all = [];
  #known = new Map(); // Files that were sent from here, by their ids.
  #listeners = new Set();
  #progress = new Set();

  constructor(teamchat) {
    this.#teamchat = teamchat;
    this.#tab = tabId(teamchat);
  }

  /** Call `heard` when there are others, or one is in another state. */
  onChange(heard) {
    this.#listeners.add(heard);
  }

  /** Call `heard(upload)` when more of one has arrived. */
  onProgress(heard) {
    this.#progress.add(heard);
  }

  /** Those of a place, or of a thread there, in their order. */
  at(about) {
    const where = whereOf(about);
    return this.#all.filter((one) => one.where === where);
  }

  /** What the next post has besides. */
  fields(about) {
    const files = this.at(about).filter(({ state }) => state === "done");
    return files.length ? { files: files.map(({ fileId }) => fileId) } : null;
  }

  /** A file that was sent from here, or null. */
  known(fileId) {
    return this.#known.get(fileId) ?? null;
  }

  /** Take up what was left, now and when the line is back. */
  async start() {
    const { signal } = this.#teamchat;
    addEventListener("online", () => this.#hurry(), { signal });
    signal.addEventListener("abort", () => this.#all.forEach(({ stop }) => stop?.abort()));
    await this.#adopt();
  }

  /** Send these files to where a message is written. */
  async add({ place, parentId = null }, files) {
    const { limits, t, toast, api } = this.#teamchat;
    const tooLarge = files.filter(({ size }) => size > limits.maxBytes);
    for (const { name } of tooLarge) {
      toast(t("too_large", { name, size: sizeText(this.#teamchat, limits.maxBytes) }), { kind: "danger" });
    }
    const fitting = files.filter(({ size }) => size <= limits.maxBytes);
    const room = limits.perMessage - this.at({ place, parentId }).length;
    if (fitting.length > room) toast(t("most", { count: limits.perMessage }), { kind: "danger" });
    const { kind, id } = place;
    for (const file of fitting.slice(0, Math.max(0, room))) {
      const made = { id: api.newKey(), where: whereOf({ place, parentId }), place: { kind, id }, file, offset: 0 };
      Object.assign(made, { name: file.name || t("nameless"), type: file.type, size: file.size, state: "sending" });
      this.#all.push(made);
      this.#write(made);
    }
    this.#changed();
  }

  /** Stop sending one, until it is resumed. */
  pause(upload) {
    this.#set(upload, { state: "paused" });
    upload.stop?.abort();
  }

  /** Go on with one that was paused or has failed. */
  resume(upload) {
    this.#set(upload, { state: "sending", error: null });
    this.#run();
  }

  /** Let go of one. */
  remove(upload) {
    this.#drop([upload]);
    if (upload.fileId) end(this.#teamchat, upload.fileId).catch(() => {}); // It ends by itself in a day.
  }

  /** Let go of those for places that are gone, or not seen any more: nothing of them stays in this browser. */
  prune() {
    const isLost = ({ place }) => !this.#teamchat.roomOf(place.id);
    for (const upload of this.#all.filter(isLost)) this.remove(upload);
  }

  /** The message was taken that these stand in. */
  sent(about) {
    const done = this.at(about).filter(({ state }) => state === "done");
    for (const { fileId, name, size, type, info } of done) {
      this.#known.set(fileId, info ?? { id: fileId, name, size, mediaType: type, state: "checking" });
    }
    if (done.length) this.#drop(done);
  }

  async #write(upload) {
    await this.#teamchat.keptFiles.set(upload.id, upload.file);
    if (!this.#all.includes(upload)) return this.#teamchat.keptFiles.delete(upload.id); // Removed meanwhile.
    upload.isWritten = true;
    this.#keep();
    return this.#run();
  }

  /** Take up what this tab had before it was loaded anew, and what closed tabs have left. */
  async #adopt() {
    const { kept, keptFiles } = this.#teamchat;
    const open = await openTabs();
    const mine = kept.get(INDEX, []).filter(({ tab }) => tab === this.#tab || (open && !open.has(tab)));
    for (const one of mine) {
      const file = await keptFiles.get(one.id);
      if (this.#all.some(({ id }) => id === one.id)) continue;
      if (file) this.#all.push({ ...one, file, isWritten: true, isUncertain: true });
      else kept.set(INDEX, kept.get(INDEX, []).filter(({ id }) => id !== one.id));
    }
    this.prune();
    this.#keep();
    this.#changed();
    this.#run();
  }

  /** Send those that are to be sent, a few at a time. */
  #run() {
    const waiting = this.#all.filter((one) => one.state === "sending" && one.isWritten && !one.stop);
    const free = AT_ONCE - this.#all.filter(({ stop }) => stop).length;
    for (const upload of waiting.slice(0, Math.max(0, free))) {
      upload.stop = new AbortController();
      this.#send(upload, upload.stop.signal).finally(() => {
        upload.stop = null;
        if (!this.#teamchat.signal.aborted) this.#run();
      });
    }
  }

  /** Send one until it is there, is stopped, or can't be sent. */
  async #send(upload, signal) {
    for (let tries = 0; !signal.aborted; ) {
      try {
        const before = upload.offset;
        await this.#step(upload, signal);
        if (upload.state === "done") return;
        if (upload.offset > before) tries = 0;
      } catch (error) {
        if (signal.aborted) return;
        if (!this.#mayPass(upload, error)) return;
        upload.isUncertain = true;
        this.#set(upload, { isWaiting: true });
        await this.#wait(PAUSES_MS[Math.min(tries++, PAUSES_MS.length - 1)], signal, error.retryAfter);
        if (signal.aborted) return;
        this.#set(upload, { isWaiting: false });
      }
    }
  }

  /** The next thing to do: begin, ask where it is, send a piece, or see what became of it. */
  async #step(upload, signal) {
    const from = upload.offset;
    const onProgress = (bytes) => this.#arrived(upload, Math.min(upload.size, from + bytes));
    if (!upload.fileId) {
      Object.assign(upload, await begin(this.#teamchat, upload, { signal, onProgress }));
    } else if (upload.isUncertain) {
      upload.offset = await offset(this.#teamchat, upload.fileId, { signal });
      upload.isUncertain = false;
    } else if (upload.offset < upload.size) {
      upload.offset = await go(this.#teamchat, upload, { signal, onProgress });
    } else {
      const { api, announce, t } = this.#teamchat;
      const { file: info } = await api.get(api.path`/files/${upload.fileId}/info`);
      this.#set(upload, { state: "done", info });
      announce(t("arrived", { name: upload.name }));
      return;
    }
    this.#arrived(upload, upload.offset);
    this.#keep();
  }

  /** Whether trying again may help; if not, the person is told. */
  #mayPass(upload, error) {
    const isGone = error.status === 404 || error.status === 410;
    if (isGone && upload.fileId && !upload.beganAgain) {
      // What had arrived is there no longer: it took longer than a day. It begins again.
      Object.assign(upload, { fileId: null, offset: 0, beganAgain: true, id: this.#renamed(upload) });
      return true;
    }
    if (error.status === undefined || error.status === 409 || error.isPassing) return true;
    this.#set(upload, { state: "failed", error: error.message });
    this.#teamchat.announce(this.#teamchat.t("failed", { name: upload.name, reason: error.message }));
    return false;
  }

  /** Another id for one that begins again: by the one it had, the server knows what is gone. */
  #renamed(upload) {
    const { api, keptFiles } = this.#teamchat;
    const id = api.newKey();
    keptFiles.set(id, upload.file);
    keptFiles.delete(upload.id);
    return id;
  }

  #wait(ms, signal, seconds = 0) {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, Math.max(ms, (seconds ?? 0) * 1000));
      this.#wakes.add(resolve);
      signal.addEventListener("abort", resolve, { once: true });
      signal.addEventListener("abort", () => clearTimeout(timer), { once: true });
    });
  }

  #wakes = new Set();

  #hurry() {
    for (const wake of this.#wakes) wake();
    this.#wakes.clear();
  }

  #arrived(upload, shown) {
    upload.shown = shown;
    for (const heard of this.#progress) heard(upload);
  }

  #set(upload, values) {
    Object.assign(upload, values);
    this.#keep();
    this.#changed();
  }

  #drop(uploads) {
    this.#all = this.#all.filter((one) => !uploads.includes(one));
    for (const upload of uploads) {
      upload.stop?.abort();
      this.#teamchat.keptFiles.delete(upload.id);
    }
    const { kept } = this.#teamchat;
    kept.set(INDEX, kept.get(INDEX, []).filter(({ id }) => !uploads.some((one) => one.id === id)));
    this.#keep();
    this.#changed();
  }

  /** Write down what is on its way, beside what other tabs have. */
  #keep() {
    const { kept } = this.#teamchat;
    const ids = new Set(this.#all.map(({ id }) => id));
    const others = kept.get(INDEX, []).filter(({ id, tab }) => tab !== this.#tab && !ids.has(id));
    const own = this.#all.filter(({ isWritten }) => isWritten).map((one) => {
      const { id, where, place, name, type, size, offset: at, fileId, state, error, info } = one;
      return { id, where, place, name, type, size, offset: at, fileId, state, error, info, tab: this.#tab };
    });
    if (others.length + own.length) kept.set(INDEX, [...others, ...own]);
    else kept.delete(INDEX);
  }

  #changed() {
    for (const heard of this.#listeners) heard();
  }
}

/** A number of bytes, in the unit that fits. */
export function sizeText({ language }, bytes) {
  const units = ["byte", "kilobyte", "megabyte", "gigabyte", "terabyte"];
  const step = Math.min(units.length - 1, Math.floor(Math.log2(Math.max(1, bytes)) / 10));
  const style = { style: "unit", unit: units[step], unitDisplay: "short", maximumFractionDigits: step > 1 ? 1 : 0 };
  return new Intl.NumberFormat(language, style).format(bytes / 1024 ** step);
}

function whereOf({ place, parentId }) {
  return `${place.id} ${parentId ?? ""}`;
}

/** The name of this tab, the same after a reload; it holds a lock of that name for as long as it is open. */
function tabId({ api, signal }) {
  let id = api.newKey();
  try {
    id = sessionStorage.getItem(TAB) ?? id;
    sessionStorage.setItem(TAB, id);
  } catch {
    // Then what was on its way is taken up once its tab is known to be closed.
  }
  const held = new Promise((resolve) => signal.addEventListener("abort", resolve));
  navigator.locks?.request(`${TAB} ${id}`, { ifAvailable: true }, (lock) => lock && held);
  return id;
}

/** The names of the tabs that are open; null where the browser doesn't say. */
async function openTabs() {
  if (!navigator.locks) return null;
  const { held } = await navigator.locks.query();
  return new Set(held.filter(({ name }) => name.startsWith(`${TAB} `)).map(({ name }) => name.slice(TAB.length + 1)));
}
