// The composer: a field that grows, images by paste, drop or choice, completion of mentions and emoji.
// Also the field in which a message is edited.
// What must stay true: Enter never sends while an input method composes, a draft is kept per place until
// it is sent, and pasting anything but images behaves as in any field.
import { element, icon } from "../lib/dom.js";
import { t } from "../lib/strings.js";
import { words } from "./notices.js";

const TYPES = "image/png,image/jpeg,image/webp,image/svg+xml";
const COMPLETED = /[@:]\S*$/;
const GROWS_BY_ITSELF = CSS.supports("field-sizing", "content");

/**
 * @param {object} ctx
 * @param {{place: object, parentId?: string, placeholder?: string, item?: object, done?: () => void,
 *   editLast?: () => void}} about with `item` it edits that message and calls `done` at the end
 * @returns {{element: HTMLElement, focus: () => void}}
 */
export function composer(ctx, about) {
  const made = new Composer(ctx, about);
  return { element: made.element, focus: () => made.focus(), add: (files) => made.add(files) };
}

class Composer {
  #ctx;
  #about;
  #field;
  #send;
  #picker = element("input", { type: "file", accept: TYPES, multiple: true, hidden: true });
  #previews = element("div", { class: "previews", hidden: true });
  #draft;
  #attached = null;
  #excess = 0;
  #completion = null;

  element;

  constructor(ctx, about) {
    this.#ctx = ctx;
    this.#about = about;
    this.#draft = `draft/${about.parentId ?? about.place.id}`;
    const label = about.item ? t("composer.edit") : about.placeholder;
    this.#field = element("textarea", {
      rows: "1",
      "aria-label": label,
      placeholder: label,
      enterkeyhint: "send",
      dir: "auto",
      value: about.item?.content ?? ctx.kept.get(this.#draft, ""),
    });
    this.#send = element(
      "button",
      {
        type: "submit",
        class: "icon-button send",
        disabled: true,
        "aria-label": about.item ? t("common.save") : t("composer.send"),
      },
      icon(about.item ? "check" : "send"),
    );
    const box = element("div", { class: "composer-box" }, this.#previews, this.#tools(), this.#send);
    this.element = element("form", { class: "composer" }, box, this.#picker);
    this.#listen();
    this.#changed();
  }

  focus() {
    this.#field.focus({ preventScroll: true });
    this.#field.setSelectionRange(this.#field.value.length, this.#field.value.length);
  }

  /** Takes images along with the message; what that takes is loaded with the first of them. */
  async add(files) {
    const given = [...files]; // The list may be emptied meanwhile.
    const { Attachments } = await import("./attachments.js");
    this.#attached ??= new Attachments(this.#ctx, this.#previews, () => (this.#changed(), this.focus()));
    this.#attached.add(given);
  }

  get #files() {
    return this.#attached?.files ?? [];
  }

  #tools() {
    const tool = (name, label, run) =>
      element(
        "button",
        { type: "button", class: "icon-button", "aria-label": label, title: label, on: { click: run } },
        icon(name),
      );
    const emoji = tool("smile", t("composer.emoji"), () => this.#pickEmoji(emoji));
    if (!this.#about.item)
      return [tool("image", t("composer.image"), () => this.#picker.click()), this.#field, emoji];
    return [this.#field, emoji, tool("close", t("common.cancel"), () => this.#about.done())];
  }

  #listen() {
    const field = this.#field;
    field.addEventListener("keydown", (event) => this.#completion?.key(event) || this.#key(event));
    field.addEventListener("input", () => (this.#changed(), this.#complete()));
    this.element.addEventListener("submit", (event) => (event.preventDefault(), this.#submit()));
    if (!GROWS_BY_ITSELF) this.#growWithWidth();
    if (this.#about.item) return;
    this.#picker.addEventListener("change", () => {
      this.add(this.#picker.files);
      this.#picker.value = "";
    });
    field.addEventListener("paste", (event) => {
      const files = [...event.clipboardData.files].filter((file) => file.type.startsWith("image/"));
      if (!files.length || event.clipboardData.types.includes("text/plain")) return;
      event.preventDefault();
      this.add(files);
    });
  }

  #key(event) {
    if (event.isComposing || event.keyCode === 229) return;
    const isEmpty = !this.#field.value && !this.#files.length;
    if (event.key === "Enter" && !event.shiftKey && !event.altKey) {
      event.preventDefault();
      this.#submit();
    } else if (event.key === "ArrowUp" && isEmpty && !this.#about.item) {
      event.preventDefault();
      this.#about.editLast?.();
    } else if (event.key === "Escape" && this.#about.item) {
      event.stopPropagation();
      this.#about.done();
    }
  }

  #changed() {
    const { value } = this.#field;
    const { item } = this.#about;
    this.#measure(value.trim());
    this.#send.disabled = this.#excess > 0 || (!value.trim() && !this.#files.length && !item?.images?.length);
    if (!item) value ? this.#ctx.kept.set(this.#draft, value) : this.#ctx.kept.delete(this.#draft);
    if (!GROWS_BY_ITSELF) this.#grow();
  }

  /** The server counts code points; a text of so many UTF-16 units has no more of them. */
  #measure(text) {
    const most = this.#ctx.config.MAX_MESSAGE_LENGTH ?? Infinity;
    const before = this.#excess;
    this.#excess = text.length <= most ? 0 : Math.max(0, [...text].length - most);
    if (this.#excess !== before) this.#tellTooLong(most);
  }

  async #tellTooLong(most) {
    const { tellTooLong } = await import("./too_long.js");
    if (this.#field.isConnected) tellTooLong(this.#field, this.#excess, most);
  }

  /** Completion is loaded for the first text that can be completed. */
  async #complete() {
    const { value, selectionStart } = this.#field;
    if (this.#completion || !COMPLETED.test(value.slice(0, selectionStart))) return;
    const { Completion } = await import("./completion.js");
    this.#completion ??= new Completion(this.#ctx, this.#field, this.element);
  }

  /** Browsers without field-sizing: as high as the text. A field that is not in the page has no height. */
  #grow() {
    if (!this.#field.isConnected) return;
    this.#field.style.height = "auto";
    this.#field.style.height = `${this.#field.scrollHeight}px`;
  }

  /** Measures when the field comes into the page, and when its text wraps anew. */
  #growWithWidth() {
    let width = 0;
    const sizes = new ResizeObserver(([{ contentRect }]) => {
      if (contentRect.width === width) return; // What grew is the height, by what was done here.
      width = contentRect.width;
      this.#grow();
    });
    sizes.observe(this.#field);
    this.#ctx.signal.addEventListener("abort", () => sizes.disconnect());
  }

  async #pickEmoji(button) {
    const { openPicker } = await import("./picker.js");
    openPicker(this.#ctx, button, (emoji) => {
      this.#field.focus();
      this.#field.setRangeText(emoji, this.#field.selectionStart, this.#field.selectionEnd, "end");
      this.#changed();
    });
  }

  #submit() {
    if (this.#send.disabled) return;
    const content = this.#field.value.trim();
    if (this.#about.item) return this.#save(content);
    const { place, parentId } = this.#about;
    this.#ctx.model.post(place, { content, files: this.#files, parentId });
    this.#field.value = "";
    this.#attached?.clear();
    this.#changed();
  }

  async #save(content) {
    const { item, done } = this.#about;
    if (content === item.content) return done();
    this.#send.disabled = true;
    try {
      await this.#ctx.model.edit(item, content);
      done();
    } catch (error) {
      this.#send.disabled = false;
      this.#ctx.toast(words(error), { kind: "danger" });
    }
  }
}

/** Lets images be dropped anywhere on `area`; they go to the composer that is given. */
export function acceptDrops(area, target) {
  const hasFiles = (event) => event.dataTransfer?.types.includes("Files");
  const show = (isOver) => area.classList.toggle("dropping", isOver);
  area.addEventListener("dragover", (event) => {
    if (!hasFiles(event)) return;
    event.preventDefault();
    show(true);
  });
  area.addEventListener("dragleave", (event) => !area.contains(event.relatedTarget) && show(false));
  area.addEventListener("drop", (event) => {
    show(false);
    if (!hasFiles(event)) return;
    event.preventDefault();
    target()?.add(event.dataTransfer.files);
  });
}
