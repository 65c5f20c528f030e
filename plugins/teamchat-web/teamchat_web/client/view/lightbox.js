// The lightbox: the images of a message as large as the window, or larger; one beside the other by arrow
// keys.
import { element, icon, replace } from "../lib/dom.js";
import "../lib/more_strings.js";
import { t } from "../lib/strings.js";
import { altOf } from "./images.js";
import { authorName } from "./message.js";
import { needsSheets } from "./sheet.js";

needsSheets("overlays", "notices");

/**
 * Opens the images of a message.
 * @param {object} ctx
 * @param {object} item the message
 * @param {number} first which of its images
 */
export function openLightbox(ctx, item, first) {
  const box = new Lightbox(ctx, item, first);
  const end = ctx.model.on("event", (event) => box.follow(event));
  box.dialog.addEventListener("close", end);
  ctx.signal.addEventListener("abort", () => box.dialog.close());
}

class Lightbox {
  #ctx;
  #item;
  #at;
  #names; // of the images it has
  #words = element("p", { role: "status" });
  #stage = element("div", { class: "stage", on: { click: ({ target }) => this.#pressed(target) } });
  #file = null;

  constructor(ctx, item, first) {
    this.#ctx = ctx;
    this.#item = item;
    const button = (name, label, run, more = "") =>
      element(
        "button",
        {
          type: "button",
          class: `icon-button ${more}`,
          "aria-label": label,
          title: label,
          on: { click: run },
        },
        icon(name),
      );
    const steps = item.images.length > 1 && [
      button("left", t("lightbox.previous"), () => this.#show(this.#at - 1), "step previous"),
      button("right", t("lightbox.next"), () => this.#show(this.#at + 1), "step next"),
    ];
    this.dialog = element(
      "dialog",
      {
        class: "lightbox",
        "aria-label": t("lightbox.title"),
        on: { close: () => this.dialog.remove(), keydown: (event) => this.#key(event) },
      },
      element(
        "header",
        { class: "bar" },
        this.#words,
        button("zoom", t("lightbox.zoom"), () => this.#zoom()),
        button("download", t("lightbox.download"), () => this.#download()),
        button("close", t("common.close"), () => this.dialog.close()),
      ),
      this.#stage,
      steps,
    );
    document.body.append(this.dialog);
    this.dialog.showModal();
    this.#show(first);
  }

  /** Its message is gone, or was edited and may have other images. */
  follow({ type, payload }) {
    const { id, threadId, images = [] } = this.#item;
    const isGone = type.startsWith("DELETE_") && [id, threadId].includes(payload.id);
    if (isGone || !images.length) this.dialog.close();
    else if (images.join() !== this.#names) this.#show(this.#at);
  }

  async #show(at) {
    const { images, place } = this.#item;
    this.#at = (at + images.length) % images.length;
    this.#names = images.join();
    const shown = this.#at;
    const name = authorName(this.#ctx, this.#item);
    const number = images.length > 1 && ` · ${shown + 1} / ${images.length}`;
    replace(this.#words, element("bdi", {}, name), number);
    replace(this.#stage, element("div", { class: "spinner" })).classList.remove("zoomed");
    try {
      const address = await this.#ctx.model.pictures.url(place, images[shown], { thumb: false });
      if (shown !== this.#at) return;
      this.#file = { address, name: images[shown] };
      replace(this.#stage, element("img", { src: address, alt: altOf(this.#ctx, this.#item, shown) }));
    } catch {
      if (shown === this.#at) replace(this.#stage, element("p", { class: "empty" }, t("image.missing")));
    }
  }

  #pressed(target) {
    if (target.localName === "img") this.#zoom();
    else this.dialog.close();
  }

  #zoom() {
    this.#stage.classList.toggle("zoomed");
  }

  #download() {
    if (this.#file) element("a", { href: this.#file.address, download: this.#file.name }).click();
  }

  #key(event) {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (step && !this.#stage.classList.contains("zoomed")) this.#show(this.#at + step);
    else if (["+", "-", " "].includes(event.key) && event.target.localName !== "button") this.#zoom();
    else if (event.key.toLowerCase() === "d") this.#download();
    else return;
    event.preventDefault();
  }
}
