// The composer: a field that grows, images by paste, drop or choice, completion of mentions and emoji.
// Also the field in which a message is edited.
// Enter never sends while an input method composes, and on phones it makes a new line; a draft is kept per
// place until it is sent, and pasting anything but images behaves as in any field.
import { element, icon } from "../lib/dom.js";
import { part } from "../lib/parts.js";
import { t } from "../lib/strings.js";
import { words } from "./notices.js";

const TYPES = "image/png,image/jpeg,image/webp,image/svg+xml";
const COMPLETED = /[@:]\S*$/;
const FINE = matchMedia("(pointer: fine)");
const GROWS_BY_ITSELF = CSS.supports("field-sizing", "content");

/**
 * @param {object} ctx
 * @param {{place: object, parentId?: string, placeholder?: string, item?: object, text?: string,
 *   done?: () => void, editLast?: () => void}} about with `item` it edits that message, beginning with `text`,
 *   and calls `done` at the end
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
  #attached = null;
  #excess = 0;
  #completion = null;
  #grow = () => {};

  element;

  constructor(ctx, about) {
    this.#ctx = ctx;
    this.#about = about;
    const label = about.item ? t("composer.edit") : about.placeholder;
    this.#field = element("textarea", {
      rows: "1",
      "aria-label": label,
      placeholder: label,
      enterkeyhint: FINE.matches ? "send" : "enter",
      dir: "auto",
      value: about.item ? about.text : (ctx.model.drafts.get(about.place, about.parentId) ?? ""),
    });
    this.#send = element(
      "button",
      {
        type: "submit",
        class: "icon-button send",
        disabled: true,
        on: { mousedown: (event) => event.preventDefault() }, // The focus, and a phone's keyboard, stay.
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
    const { Attachments } = await part(import("./attachments.js"));
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
    return [this.#field, emoji, tool("close", t("common.cancel"), () => this.#done())];
  }

  #listen() {
    const field = this.#field;
    field.addEventListener("keydown", (event) => this.#completion?.key(event) || this.#key(event));
    field.addEventListener("input", () => (this.#changed(), this.#complete()));
    this.element.addEventListener("submit", (event) => (event.preventDefault(), this.#submit()));
    if (!GROWS_BY_ITSELF) this.#growByHand();
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
    const sends = FINE.matches || event.ctrlKey || event.metaKey; // A phone has no Shift for a new line.
    if (event.key === "Enter" && sends && !event.shiftKey && !event.altKey) {
      event.preventDefault();
      this.#submit();
    } else if (event.key === "ArrowUp" && isEmpty && !this.#about.item) {
      event.preventDefault();
      this.#about.editLast?.();
    } else if (event.key === "Escape" && this.#about.item) {
      event.stopPropagation();
      this.#done();
    }
  }

  #changed() {
    const { value } = this.#field;
    const { item } = this.#about;
    this.#measure(value.trim());
    this.#send.disabled = this.#excess > 0 || (!value.trim() && !this.#files.length && !item?.images?.length);
    const { place, parentId } = this.#about;
    const { drafts } = this.#ctx.model;
    if (!item) drafts.set(place, parentId, value);
    else drafts.set(place, parentId, value === item.content ? null : { id: item.id, text: value }, true);
    this.#grow();
  }

  /** The server counts code points; a text of so many UTF-16 units has no more of them. */
  #measure(text) {
    const most = this.#ctx.config.MAX_MESSAGE_LENGTH ?? Infinity;
    const before = this.#excess;
    this.#excess = text.length <= most ? 0 : Math.max(0, [...text].length - most);
    if (this.#excess !== before) this.#tellTooLong(most);
  }

  async #tellTooLong(most) {
    const { tellTooLong } = await part(import("./too_long.js"));
    if (this.#field.isConnected) tellTooLong(this.#field, this.#excess, most);
  }

  /** Completion is loaded for the first text that can be completed. */
  async #complete() {
    const { value, selectionStart } = this.#field;
    if (this.#completion || !COMPLETED.test(value.slice(0, selectionStart))) return;
    const { Completion } = await part(import("./completion.js"));
    this.#completion ??= new Completion(this.#ctx, this.#field, this.element);
  }

  async #growByHand() {
    const { growing } = await import("./growing.js");
    this.#grow = growing(this.#field, this.#ctx.signal);
  }

  async #pickEmoji(button) {
    const { openPicker } = await part(import("./picker.js"));
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

  #done() {
    const { place, parentId, done } = this.#about;
    this.#ctx.model.drafts.set(place, parentId, null, true);
    done();
  }

  async #save(content) {
    const { item } = this.#about;
    if (content === item.content) return this.#done();
    this.#send.disabled = true;
    try {
      await this.#ctx.model.edit(item, content);
      this.#done();
    } catch (error) {
      this.#send.disabled = false;
      this.#ctx.toast(words(error), { kind: "danger" });
    }
  }
}
