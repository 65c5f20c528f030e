// What the stream is told that the tabs of this browser show: they share one stream, so each tells the others.

const TICK_MS = 10_000;
const IDLE_MS = 120_000; // without a key, a press or a movement nobody sits here any more
const REPEAT_MS = 60_000; // what is said holds for 90 seconds
const MOST_WATCHED = 20;
const MOST_PEOPLE = 200;

export class Showing {
  #api;
  #people;
  #place = null;
  #connection = "";
  #inputAt = Date.now();
  #isActive = false;
  #saidAt = 0;
  #said = "";
  #timer = 0;
  #others = new Map();
  #tabs;
  #tab;

  constructor({ api, me, signal }, people) {
    this.#api = api;
    this.#people = people;
    this.#tab = api.newKey();
    this.#tabs = new BroadcastChannel(`teamchat-presence-${me.id}`);
    this.#tabs.onmessage = ({ data: { tab, ...shown } }) => this.#heard(tab, shown);
    const leave = () => this.#leave();
    addEventListener("pagehide", leave, { signal });
    const moved = () => this.#moved();
    for (const type of ["keydown", "pointerdown", "pointermove", "wheel", "focus"]) {
      addEventListener(type, moved, { signal, passive: true, capture: true });
    }
    const tick = setInterval(() => this.#look(), TICK_MS);
    signal.addEventListener("abort", () => {
      clearInterval(tick);
      clearTimeout(this.#timer);
      leave();
      this.#tabs.close();
    });
  }

  connected(id) {
    this.#connection = id;
    this.#said = "";
    this.tell();
  }

  watch(room) {
    this.#place = room?.id ?? null;
    this.tell();
  }

  /** Tell soon what is shown, with what comes meanwhile. */
  tell() {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#tell(), 300);
  }

  get #isHere() {
    return !document.hidden && document.hasFocus() && Date.now() - this.#inputAt < IDLE_MS;
  }

  /** What another tab shows; one that is closed says that it shows nothing. */
  #heard(tab, shown) {
    if (!shown.hasLeft) return this.#others.set(tab, shown);
    this.#others.delete(tab);
    this.tell();
  }

  #leave() {
    this.#isActive = false; // A page that the browser brings back says anew what it shows.
    this.#tabs.postMessage({ tab: this.#tab, hasLeft: true });
  }

  #moved() {
    this.#inputAt = Date.now();
    if (!this.#isActive && this.#isHere) this.tell();
  }

  #look() {
    if (this.#isHere !== this.#isActive || Date.now() - this.#saidAt > REPEAT_MS) this.#tell();
  }

  async #tell() {
    this.#isActive = this.#isHere;
    const own = { places: this.#place ? [this.#place] : [], people: this.#people(), isActive: this.#isActive };
    this.#tabs.postMessage({ tab: this.#tab, at: Date.now(), ...own });
    const all = [own, ...[...this.#others.values()].filter(({ at }) => Date.now() - at < 2 * REPEAT_MS)];
    const body = {
      watch: [...new Set(all.flatMap(({ places }) => places))].slice(0, MOST_WATCHED),
      presenceOf: [...new Set(all.flatMap(({ people }) => people))].slice(0, MOST_PEOPLE),
      isActive: all.some(({ isActive }) => isActive),
    };
    const said = JSON.stringify(body);
    const isSame = said === this.#said;
    const isDue = Date.now() - this.#saidAt >= REPEAT_MS - TICK_MS;
    if (isDue || !isSame) this.#saidAt = Date.now();
    // That one is there holds for a while, and that one isn't until one is.
    if (!this.#connection || (isSame && !(isDue && body.isActive))) return;
    this.#said = said;
    try {
      await this.#api.put(this.#api.path`/events/${this.#connection}`, body);
    } catch {
      this.#said = ""; // The stream is another by now, or there is no network: it is said again in time.
    }
  }
}
