// The composer: a field that grows, images (choosing.js), completion of mentions and emoji.
// Also the field in which a message is edited.
// Enter never sends while an input method composes, and on phones it makes a new line; a draft is kept per
// place until it is sent.
import { element, icon } from "../lib/dom.js";
import { part } from "../lib/parts.js";
import { t } from "../lib/strings.js";

const COMPLETED = /[@:#]\S*$/;
const FINE = matchMedia("(pointer: fine)");
const GROWS_BY_ITSELF = CSS.supports("field-sizing", "content");

/**
 * @param {object} ctx
 * @param {{place: object, parentId?: string, placeholder?: string, item?: object, text?: string, entities?: object[],
 *   save?: function, done?: () => void, editLast?: () => void}} about with `item` it edits that (editing.js)
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
  #previews = element("div", { class: "previews", hidden: true });
  #attached = null;
  #excess = 0;
  #completion = null;
  #begun;
  #more;
  #grow = () => {};

  element;

  constructor(ctx, about) {
    this.#ctx = ctx;
    this.#about = about;
    const draft = about.item ? about : ctx.model.drafts.get(about.place, about.parentId);
    this.#begun = { text: draft?.text ?? draft ?? "", entities: draft?.entities };
    const label = about.item ? t("composer.edit") : about.placeholder;
    this.#field = element("textarea", {
      rows: "1",
      "aria-label": label,
      placeholder: label,
      enterkeyhint: FINE.matches ? "send" : "enter",
      dir: "auto",
      value: this.#begun.text,
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
    this.element = element("form", { class: "composer" }, box);
    if (!about.item) ctx.slots.offer("composer", box, { ctx, about, field: this.#field, composer: this });
    this.#listen();
    this.#changed();
    if (this.#begun.entities) this.#complete();
  }

  focus() {
    this.#field.focus({ preventScroll: true });
    this.#field.setSelectionRange(this.#field.value.length, this.#field.value.length);
  }

  /** Sends along what parts add: {fields(), isWhole(), isBusy(), take(), sent()} (extensions/posts.js). */
  extend(more) {
    this.#more = more;
    this.#changed();
  }

  /** Has another text there. */
  write(text, entities) {
    this.#begun = { text, entities };
    this.#field.value = text;
    this.#completion?.begin(this.#begun);
    this.#changed();
    if (entities) this.#complete();
  }

  /** Takes images along with the message; what that takes is loaded with the first of them. */
  async add(files) {
    const given = [...files]; // The list may be emptied meanwhile.
    const { Attachments } = await part(import("./attachments.js"));
    this.#attached ??= new Attachments(this.#ctx, this.#previews, () => (this.#changed(), this.focus()));
    this.#attached.add(this.#more?.take(given) ?? given);
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
      return [tool("image", t("composer.image"), () => this.#chooseFiles()), this.#field, emoji];
    return [this.#field, emoji, tool("close", t("common.cancel"), this.#about.done)];
  }

  #chooseFiles() {
    this.element.querySelector("[type=file]")?.click();
  }

  #listen() {
    const field = this.#field;
    field.addEventListener("keydown", (event) => this.#completion?.key(event) || this.#key(event));
    field.addEventListener("input", () => (this.#changed(), this.#complete()));
    if (!this.#about.item) field.addEventListener("paste", (event) => this.#paste(event));
    this.element.addEventListener("submit", (event) => (event.preventDefault(), this.#submit()));
    if (!GROWS_BY_ITSELF) this.#growByHand();
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
      this.#about.done();
    }
  }

  /** Files that are pasted go along; with a text beside them, as from a word processor, the text does. */
  #paste(event) {
    const { files, types } = event.clipboardData;
    if (!files.length || types.includes("text/plain")) return;
    event.preventDefault();
    this.add(files);
  }

  #changed() {
    const { value } = this.#field;
    const { item } = this.#about;
    this.#measure(value.trim());
    const isWhole = value.trim() || this.#files.length || item?.images?.length || this.#more?.isWhole();
    this.#send.disabled = this.#excess > 0 || !isWhole || this.#more?.isBusy();
    const { place, parentId } = this.#about;
    const { drafts } = this.#ctx.model;
    const begun = !this.#completion && value === this.#begun.text && this.#begun.entities;
    const entities = this.#completion?.entities() ?? (begun || undefined);
    if (item) drafts.set(place, parentId, value === item.content ? null : { id: item.id, text: value, entities }, true);
    else drafts.set(place, parentId, entities ? { text: value, entities } : value);
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
    const { entities } = this.#begun;
    if (this.#completion || !(entities || COMPLETED.test(value.slice(0, selectionStart)))) return;
    const { Completion } = await part(import("./completion.js"));
    this.#completion ??= new Completion(this.#ctx, this.#field, this.element, { ...this.#about, ...this.#begun });
  }

  async #growByHand() {
    const { growing } = await import("./growing.js");
    this.#grow = growing(this.#field, this.#ctx.signal);
  }

  async #pickEmoji(button) {
    const { openPicker } = await part(import("./picker.js"));
    openPicker(this.#ctx, button, (emoji) => this.insert(emoji));
  }

  /** Writes where the cursor is, in place of what is selected, as somebody who types. */
  async insert(text) {
    this.#field.focus();
    (await import("../lib/writing.js")).writeOver(this.#field, text);
  }

  #submit() {
    if (this.#send.disabled) return;
    const typed = { content: this.#field.value.trim(), entities: this.#completion?.toSend() };
    const { place, parentId, save } = this.#about;
    if (save) return save(typed, this.#send);
    const more = this.#more;
    this.#ctx.model.post(place, { ...typed, files: this.#files, parentId, fields: more?.fields() });
    this.#field.value = "";
    this.#attached?.clear();
    more?.sent();
    this.#changed();
  }
}
