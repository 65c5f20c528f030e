// Completion in the field: a list below it that follows the word at the cursor. Arrows choose, Enter or Tab takes,
// Escape closes; the focus stays in the field.

import { suggestions, wordAt } from "./query.js";

export class Completion {
  #teamchat;
  #field;
  #known;
  #found = [];
  #at = -1;
  #asked = 0;

  /** The list as an element. */
  node;

  constructor(teamchat, field, known) {
    this.#teamchat = teamchat;
    this.#field = field;
    this.#known = known;
    const { element, t } = teamchat;
    const look = { class: "search-options", role: "listbox", id: "search-options", "aria-label": t("suggestions") };
    this.node = element("div", { ...look, hidden: true });
    field.addEventListener("input", ({ inputType }) => {
      if (inputType === "historyUndo") field.setSelectionRange(field.selectionEnd, field.selectionEnd);
      this.follow();
    });
    field.addEventListener("blur", () => this.close());
  }

  get isOpen() {
    return !this.node.hidden;
  }

  /** Show what the word at the cursor could become. */
  async follow() {
    const mine = ++this.#asked;
    const word = wordAt(this.#field.value, this.#field.selectionStart);
    const found = word ? await suggestions(this.#teamchat, this.#known(), word).catch(() => []) : [];
    if (mine === this.#asked) this.#show(word, found);
  }

  close() {
    this.#asked++;
    this.#show(null, []);
  }

  /** Deal with a key; returns whether it was for the list. */
  key({ key }) {
    if (!this.isOpen) return false;
    const step = { ArrowDown: 1, ArrowUp: -1 }[key];
    const { length } = this.#found;
    if (step) this.#choose((this.#at + step + length + (this.#at < 0 && step < 0 ? 1 : 0)) % length);
    else if (key === "Escape") this.close();
    else if (key === "Tab") this.#take(Math.max(0, this.#at));
    else if (key === "Enter" && this.#at >= 0) this.#take(this.#at);
    else return false;
    return true;
  }

  #show(word, found) {
    const { element, replace } = this.#teamchat;
    const chosen = this.#found[this.#at]?.value;
    this.#found = found.map((one) => ({ ...one, word }));
    this.#at = -1;
    replace(this.node, this.#found.map(({ value, note }, at) => {
      const press = (event) => (event.preventDefault(), this.#take(at));
      const look = { class: "search-option", role: "option", id: `search-option-${at}`, on: { pointerdown: press } };
      return element("div", { ...look, "aria-selected": "false" }, element("bdi", {}, value), element("span", {}, note));
    }));
    this.node.hidden = !found.length;
    this.#field.setAttribute("aria-expanded", String(found.length > 0));
    this.#field.removeAttribute("aria-activedescendant");
    const at = this.#found.findIndex(({ value }) => value === chosen); // A later answer takes no choice away.
    if (at >= 0) this.#choose(at);
  }

  #choose(at) {
    this.#at = at;
    [...this.node.children].forEach((one, index) => one.setAttribute("aria-selected", String(index === at)));
    this.#field.setAttribute("aria-activedescendant", `search-option-${at}`);
    this.node.children[at].scrollIntoView({ block: "nearest" });
  }

  /** Put a suggestion in place of the word; one that waits for an operand is completed further. */
  #take(at) {
    const { value, word } = this.#found[at];
    const field = this.#field;
    field.setSelectionRange(word.start, field.selectionStart);
    document.execCommand("insertText", false, word.sign + value); // It can be undone as what is typed.
    this.close();
    if (value.endsWith(":")) this.follow();
  }
}
