// What stands above the field of a composer while files go up: each with how far it is, and what can be done with it. The
// nodes stay the same, so the focus stays where it is.

import { sizeText } from "./uploads.js";

export class Strip {
  #teamchat;
  #uploads;
  #strips = new Map(); // By where: the list and its rows.

  constructor(teamchat, uploads) {
    this.#teamchat = teamchat;
    this.#uploads = uploads;
    uploads.onProgress((upload) => {
      for (const { rows } of this.#strips.values()) rows.get(upload)?.draw();
    });
  }

  /** The node of a composer, or null while nothing goes along. */
  show(about) {
    const { element, replace, t } = this.#teamchat;
    const uploads = this.#uploads.at(about);
    const key = `${about.place.id} ${about.parentId ?? ""}`;
    if (!uploads.length) {
      this.#strips.delete(key);
      return null;
    }
    if (!this.#strips.has(key)) {
      const node = element("ul", { class: "files-strip", "aria-label": t("going") });
      this.#strips.set(key, { node, rows: new Map() });
    }
    const { node, rows } = this.#strips.get(key);
    const shown = uploads.map((upload) => {
      if (!rows.has(upload)) rows.set(upload, this.#row(upload));
      rows.get(upload).draw();
      return rows.get(upload).node;
    });
    for (const upload of [...rows.keys()]) if (!uploads.includes(upload)) rows.delete(upload);
    const isSame = shown.length === node.children.length && shown.every((one, at) => one === node.children[at]);
    if (!isSame) replace(node, shown);
    return node;
  }

  #row(upload) {
    const { element, icon, replace, t } = this.#teamchat;
    const bar = element("progress", { max: "1", "aria-label": t("progress", { name: upload.name }) });
    const says = element("span", { class: "small soft files-says" });
    const button = (run) => element("button", { type: "button", class: "icon-button", on: { click: run } });
    const toggle = button(() => (upload.state === "sending" ? this.#uploads.pause(upload) : this.#uploads.resume(upload)));
    const remove = button(() => this.#uploads.remove(upload));
    name(remove, t("remove", { name: upload.name }));
    replace(remove, icon("close"));
    const node = element(
      "li",
      { class: "files-going" },
      icon("file"),
      element("bdi", { class: "files-name", title: upload.name }, upload.name),
      says,
      bar,
      toggle,
      remove,
    );
    let shown = null;
    const draw = () => {
      const { state, size } = upload;
      const part = size ? (upload.shown ?? upload.offset) / size : 1;
      bar.value = part;
      bar.hidden = state === "done" || state === "failed";
      says.textContent = this.#says(upload, part);
      toggle.hidden = state === "done";
      const look = { sending: ["pause", "pause"], paused: ["play", "resume"], failed: ["again", "again"] }[state];
      if (!look || shown === state) return;
      shown = state;
      replace(toggle, icon(look[0]));
      name(toggle, t(look[1], { name: upload.name }));
      node.classList.toggle("files-failed", state === "failed");
    };
    return { node, draw };
  }

  #says({ state, size, error, isWaiting }, part) {
    const { t, language } = this.#teamchat;
    if (state === "done") return sizeText(this.#teamchat, size);
    if (state === "failed") return error;
    if (state === "paused") return t("paused");
    if (isWaiting) return t("waiting");
    return new Intl.NumberFormat(language, { style: "percent" }).format(Math.floor(part * 100) / 100);
  }
}

function name(button, label) {
  button.ariaLabel = button.title = label;
}
