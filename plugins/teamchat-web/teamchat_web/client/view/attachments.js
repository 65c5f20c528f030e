// The images that go along with a message: which are taken, and what is seen of them before they are sent.
import { element, icon } from "../lib/dom.js";
import "../lib/files.js"; // The outbox keeps images with it, also when nothing can be loaded any more.
import "../lib/more_strings.js";
import { t } from "../lib/strings.js";
import { needsSheets } from "./sheet.js";

needsSheets("attachments");

const MOST_IMAGES = 10;
const TYPES = ["image/png", "image/jpeg", "image/webp", "image/svg+xml"];

export class Attachments {
  #ctx;
  #place;
  #changed;
  #drops = new Map();

  /**
   * @param {object} ctx
   * @param {HTMLElement} place for the previews; hidden while there is none
   * @param {() => void} changed called when there are others
   */
  constructor(ctx, place, changed) {
    this.#ctx = ctx;
    this.#place = place;
    this.#changed = changed;
  }

  /** The images, in their order. */
  get files() {
    return [...this.#drops.keys()];
  }

  /** Takes images; says so if some of the files can't be taken. */
  add(files) {
    const images = files.filter((file) => TYPES.includes(file.type));
    if (images.length < files.length) this.#ctx.toast(t("composer.only_images"), { kind: "danger" });
    const room = MOST_IMAGES - this.#drops.size;
    if (images.length > room) this.#ctx.toast(t("composer.most_images", { count: MOST_IMAGES }));
    for (const file of images.slice(0, room)) this.#preview(file);
    this.#place.hidden = !this.#drops.size;
    this.#changed();
  }

  /** Lets go of all images. */
  clear() {
    for (const drop of this.#drops.values()) drop();
    this.#drops.clear();
    this.#place.hidden = true;
  }

  #preview(file) {
    const address = URL.createObjectURL(file);
    const shown = element(
      "div",
      { class: "preview" },
      element("img", { src: address, alt: file.name }),
      element(
        "button",
        {
          type: "button",
          class: "icon-button",
          on: { click: () => this.#remove(file) },
          "aria-label": t("composer.remove_image", { name: file.name }),
        },
        icon("close"),
      ),
    );
    this.#place.append(shown);
    this.#drops.set(file, () => {
      URL.revokeObjectURL(address);
      shown.remove();
    });
  }

  #remove(file) {
    this.#drops.get(file)();
    this.#drops.delete(file);
    this.#place.hidden = !this.#drops.size;
    this.#changed();
  }
}
