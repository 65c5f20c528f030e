// What other apps of a device have shared with this one: the service worker keeps it in a cache, and above the field of
// every room stands that it is there, until the person says where it goes, or lets go of it.

const SHARED = "shared";

export class Shared {
  #teamchat;
  #uploads;
  #redraw;
  #files = [];
  #text = "";
  #bars = new Map(); // By room.

  constructor(teamchat, uploads, redraw) {
    this.#teamchat = teamchat;
    this.#uploads = uploads;
    this.#redraw = redraw;
    // Whoever signs in next on this device is perhaps somebody else.
    teamchat.signal.addEventListener("abort", () => forget());
  }

  /** Find what was shared, by this load of the page or before. */
  async start() {
    if (!globalThis.caches || !(await caches.has(SHARED))) return;
    const cache = await caches.open(SHARED);
    const texts = [];
    for (const request of await cache.keys()) {
      const kept = await cache.match(request);
      const [name, type] = ["X-Name", "Content-Type"].map((header) => kept.headers.get(header));
      if (name === null) texts.push(await kept.text());
      else this.#files.push(new File([await kept.blob()], decodeURIComponent(name), { type: type ?? "" }));
    }
    this.#text = texts.filter(Boolean).join("\n");
    if (!this.#isThere) return;
    const { room, t, toast } = this.#teamchat;
    if (!room) toast(t("shared_where"));
    this.#redraw();
  }

  /** What stands above the field of a room, or null. */
  bar({ place, parentId }) {
    if (!this.#isThere || parentId) return null;
    if (!this.#bars.has(place.id)) this.#bars.set(place.id, this.#made(place));
    return this.#bars.get(place.id);
  }

  get #isThere() {
    return this.#files.length > 0 || this.#text !== "";
  }

  #made(place) {
    const { element, icon, t } = this.#teamchat;
    const says = this.#files.length ? t("shared", { count: this.#files.length }) : t("shared_text");
    const button = (label, run) => element("button", { type: "button", class: "button", on: { click: run } }, label);
    return element(
      "div",
      { class: "files-shared", role: "group", "aria-label": says },
      icon("file"),
      element("span", {}, says),
      button(t("shared_here"), () => this.#take(place)),
      button(t("shared_discard"), () => this.#drop()),
    );
  }

  async #take(place) {
    const [files, text] = [this.#files, this.#text];
    await this.#drop();
    if (files.length) await this.#uploads.add({ place }, files);
    if (text) this.#write(place, text);
    this.#teamchat.compose({ place });
  }

  #write(place, text) {
    const { drafts } = this.#teamchat;
    const where = { placeId: place.id, parentId: null };
    const draft = drafts.get(where) ?? {};
    drafts.set(where, { ...draft, text: [draft.text, text].filter(Boolean).join("\n") });
  }

  async #drop() {
    this.#files = [];
    this.#text = "";
    this.#bars.clear();
    await forget();
    this.#redraw();
  }
}

function forget() {
  return globalThis.caches?.delete(SHARED);
}
