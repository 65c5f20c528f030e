// The files of a message: pictures by their thumbnails, films and sound to be played, everything else by name and size,
// to be saved. Bytes need the access token: thumbnails are fetched with it once they come near the view; what is played
// or saved has an address of its own for five minutes.

import { forward } from "./forward.js";
import { sizeText } from "./uploads.js";

const PLAYED = /^(?:video\/(?:mp4|webm|ogg)|audio\/(?:mp4|mpeg|ogg|wav))$/;
const PLAYER = "files-media";
const NEAR = "400px";
const MOST_THUMBNAILS = 200;

export class Blocks {
  #teamchat;
  #uploads;
  #near = new WeakMap();
  #thumbnails = new Map(); // Addresses of those that were fetched, by path.
  #watcher;

  constructor(teamchat, uploads) {
    this.#teamchat = teamchat;
    this.#uploads = uploads;
    const seen = (entries) => {
      for (const { isIntersecting, target } of entries) {
        if (!isIntersecting) continue;
        this.#watcher.unobserve(target);
        this.#near.get(target)();
      }
    };
    this.#watcher = new IntersectionObserver(seen, { rootMargin: NEAR });
    teamchat.signal.addEventListener("abort", () => {
      this.#watcher.disconnect();
      for (const path of [...this.#thumbnails.keys()]) this.#forget(path);
    });
  }

  /** The files of a message, also of one that is on its way. */
  of({ files, fields, state }) {
    if (!state) return files ?? [];
    const sent = (id) => this.#uploads.known(id) ?? { id, name: this.#teamchat.t("nameless"), state: "checking" };
    return (fields?.files ?? []).map((id) => ({ ...sent(id), isPending: true }));
  }

  /** What stands in a message. */
  make(message) {
    const files = this.of(message);
    if (!files.length) return null;
    return this.#teamchat.element("div", { class: "files-block" }, files.map((file) => this.view(file)));
  }

  /** A file of a message is in another state now. */
  changed({ id, messageId, placeId, type, ...values }) {
    const { messages } = this.#teamchat;
    const message = messages.find(messageId);
    if (!message?.files) return;
    messages.update(messageId, { files: message.files.map((file) => (file.id === id ? { ...file, ...values } : file)) });
  }

  /** A message was edited, and has these files now; one without any is told of without them. */
  edited({ id, updatedAt, files }) {
    this.#teamchat.messages.update(id, { updatedAt, files });
  }

  /** One file as it is shown. */
  view(file) {
    const { mediaType = "", state, isPending, hasThumbnail } = file;
    if (state !== "ready" || isPending) return this.#row(file);
    if (hasThumbnail && file.width) return this.#picture(file);
    return PLAYED.test(mediaType) ? this.#player(file) : this.#row(file);
  }

  /** Have the browser save a file. */
  async save(file) {
    const address = await this.#link(file);
    const { element } = this.#teamchat;
    element("a", { href: `${address}&download=1`, download: file.name }).click();
  }

  #row(file, ...more) {
    const { element, icon, t } = this.#teamchat;
    const { name, size, duration, state, isPending } = file;
    const says = { checking: t("checking"), blocked: t("blocked"), expired: t("expired") }[state];
    const about = [
      says && !isPending ? says : null,
      duration ? clock(duration) : null,
      size === undefined ? null : sizeText(this.#teamchat, size),
    ];
    return element(
      "div",
      { class: `files-file${says ? " files-absent" : ""}`, role: "group", "aria-label": name },
      icon("file"),
      element(
        "span",
        { class: "files-about" },
        element("bdi", { class: "files-name", title: name }, name),
        " ",
        element("span", { class: "small soft" }, about.filter(Boolean).join(" · ")),
      ),
      ...more,
      state === "ready" && !isPending && this.#tools(file),
    );
  }

  /** What can be done with a file that is there; `leave` is called before it is passed on. */
  #tools(file, leave = () => {}) {
    const { t } = this.#teamchat;
    const { name } = file;
    const pass = () => {
      leave();
      forward(this.#teamchat, file);
    };
    return [
      this.#button("forward", t("forward", { name }), pass),
      this.#button("save", t("save", { name }), () => this.save(file)),
    ];
  }

  #button(icon, label, run) {
    const { element, icon: drawn } = this.#teamchat;
    const look = { type: "button", class: "icon-button", "aria-label": label, title: label };
    return element("button", { ...look, on: { click: this.#tells(run) } }, drawn(icon));
  }

  /** What the server refuses is told to the person. */
  #tells(run) {
    const { toast, words } = this.#teamchat;
    return async (event) => {
      try {
        await run(event);
      } catch (error) {
        toast(words(error), { kind: "danger" });
      }
    };
  }

  #picture(file) {
    const { element, api, t, dialog } = this.#teamchat;
    const { id, name, width, height } = file;
    const scale = Math.min(1, 360 / Math.max(width, height));
    const size = { width: String(Math.round(width * scale)), height: String(Math.round(height * scale)) };
    const image = element("img", { alt: name, decoding: "async", ...size });
    const button = element("button", { type: "button", class: "files-picture", title: name }, image);
    const path = api.path`/files/${id}/thumbnail?size=` + "small";
    this.#near.set(button, () => this.#fill(image, path, name));
    this.#watcher.observe(button);
    button.addEventListener("click", () => {
      const large = element("img", { class: "files-large", alt: name });
      this.#fill(large, api.path`/files/${id}/thumbnail?size=` + "large", name);
      const text = `${sizeText(this.#teamchat, file.size)} · ${width} × ${height}`;
      const about = element("span", { class: "soft" }, text);
      const foot = element("p", { class: "files-foot" }, about, element("span", {}, this.#tools(file, () => viewer.close())));
      const viewer = dialog({ title: name, kind: "files-viewer" }, element("div", { class: "dialog-body" }, large, foot));
    });
    button.ariaLabel = t("open", { name });
    return button;
  }

  async #fill(image, path, name) {
    const { element } = this.#teamchat;
    try {
      image.src = await this.#thumbnail(path);
    } catch {
      image.replaceWith(element("span", { class: "small soft" }, name));
    }
  }

  /** The address of a thumbnail; the last few hundred are held. */
  #thumbnail(path) {
    const made = this.#thumbnails.get(path) ?? this.#teamchat.api.blob(path).then(URL.createObjectURL);
    this.#thumbnails.delete(path);
    this.#thumbnails.set(path, made);
    made.catch(() => this.#thumbnails.delete(path));
    while (this.#thumbnails.size > MOST_THUMBNAILS) this.#forget(this.#thumbnails.keys().next().value);
    return made;
  }

  #forget(path) {
    this.#thumbnails.get(path).then(URL.revokeObjectURL, () => {});
    this.#thumbnails.delete(path);
  }

  #player(file) {
    const { t } = this.#teamchat;
    const node = this.#row(
      file,
      this.#button("play", t("play", { name: file.name }), () => this.#play(file, node)),
    );
    goOn(file, node);
    return node;
  }

  async #play(file, node) {
    const { element } = this.#teamchat;
    const tag = file.mediaType.startsWith("video/") ? "video" : "audio";
    const media = element(tag, { controls: true, preload: "metadata", "aria-label": file.name, src: await this.#link(file) });
    // An address holds for five minutes: who watches for longer, or winds back later, gets another one.
    let renewed = 0;
    media.addEventListener("error", async () => {
      if (Date.now() - renewed < 10_000) return;
      renewed = Date.now();
      const { currentTime } = media;
      media.src = await this.#link(file);
      media.currentTime = currentTime;
      media.play().catch(() => {});
    });
    const look = { class: PLAYER, dataset: { file: file.id } };
    const box = element("figure", look, media, element("figcaption", {}, this.#row(file)));
    node.replaceWith(box);
    media.focus();
    media.play().catch(() => {}); // The person presses play themselves where the browser wants that.
  }

  async #link({ id }) {
    const { api } = this.#teamchat;
    return api.url((await api.post(api.path`/files/${id}/link`)).url);
  }
}

/**
 * Have what plays go on where its message is drawn anew, as with each reaction: `node` is to be in its place. What
 * leaves the page and is back in the same task does not stop.
 */
function goOn({ id }, node) {
  const { activeElement } = document;
  const players = [...document.getElementsByClassName(PLAYER)].filter(({ dataset }) => dataset.file === id);
  if (!players.length) return;
  queueMicrotask(() => {
    const player = players.find((one) => !one.isConnected);
    if (!player || !node.isConnected) return;
    node.replaceWith(player);
    if (player.contains(activeElement)) activeElement.focus({ preventScroll: true });
  });
}

/** How long something plays, from milliseconds: 2:05, or 1:02:05. */
function clock(milliseconds) {
  const seconds = Math.round(milliseconds / 1000);
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60];
  const parts = hours ? [hours, String(minutes).padStart(2, "0")] : [minutes];
  return [...parts, String(seconds % 60).padStart(2, "0")].join(":");
}
