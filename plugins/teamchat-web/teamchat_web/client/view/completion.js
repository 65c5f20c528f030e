// Completion of @mentions and :emoji: in a field, by the pattern of a combobox: the focus stays in the
// field, the list is told of by aria-activedescendant, Up and Down choose, Enter or Tab take, Escape
// closes.
import { element, replace } from "../lib/dom.js";
import "../lib/more_strings.js";
import { endsInCode } from "../lib/code.js";
import { emojiSet, toned } from "../lib/emoji.js";
import { t } from "../lib/strings.js";
import { avatar } from "./people.js";
import "./menus.js";

const MOST = 7;
const OPEN = /(?:^|[\s(])([@:])([^\s@:]*)$/;
const LEAST_EMOJI = 2;
const WHOLE = /(?<![\p{L}\p{N}:/]):[a-z0-9_+-]+:$/u;
let made = 0;

export class Completion {
  #ctx;
  #field;
  #list;
  #found = [];
  #at = 0;
  #start = 0;
  #turn = 0;

  /**
   * @param {object} ctx
   * @param {HTMLTextAreaElement} field
   * @param {HTMLElement} box where the list is put
   */
  constructor(ctx, field, box) {
    this.#ctx = ctx;
    this.#field = field;
    this.#list = element("div", {
      class: "menu completion",
      role: "listbox",
      hidden: true,
      id: `completion-${++made}`,
      "aria-label": t("composer.suggestions"),
    });
    field.setAttribute("aria-autocomplete", "list");
    field.setAttribute("aria-haspopup", "listbox");
    box.prepend(this.#list);
    for (const type of ["input", "click"]) field.addEventListener(type, () => this.#look());
    field.addEventListener("blur", () => this.#close());
    this.#look();
  }

  /** Handles a key while the list is open. Returns whether it did. */
  key(event) {
    if (this.#list.hidden || event.isComposing) return false;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) this.#choose((this.#at + step + this.#found.length) % this.#found.length);
    else if (event.key === "Enter" || event.key === "Tab") this.#take();
    else if (event.key === "Escape") this.#close();
    else return false;
    event.preventDefault();
    event.stopPropagation();
    return true;
  }

  async #look() {
    const { value, selectionStart } = this.#field;
    const before = value.slice(0, selectionStart);
    const [, sign, query] = before.match(OPEN) ?? [];
    const turn = ++this.#turn;
    if (WHOLE.test(before)) return this.#fill(before, turn);
    const found = sign === "@" ? this.#people(query) : sign ? await this.#emoji(query, before) : [];
    if (this.#isOver(turn, before)) return;
    this.#found = found;
    if (!found.length) return this.#close();
    this.#start = selectionStart - query.length - 1;
    replace(
      this.#list,
      this.#found.map(({ sign: mark, label, more }, at) =>
        element(
          "div",
          {
            class: "menu-item",
            role: "option",
            id: `${this.#list.id}-${at}`,
            on: { pointerdown: (event) => (event.preventDefault(), this.#take(at)) },
          },
          mark,
          element("bdi", {}, label),
          more && element("span", { class: "soft" }, more),
        ),
      ),
    );
    this.#list.hidden = false;
    this.#field.setAttribute("aria-controls", this.#list.id);
    this.#choose(0);
  }

  /** A short name that was typed whole, as :tada:, becomes its emoji. */
  async #fill(before, turn) {
    this.#close();
    const set = await this.#set();
    if (this.#isOver(turn, before) || !set || endsInCode(before)) return;
    const text = set.filled(before, this.#tone);
    if (text === before) return;
    this.#field.setRangeText(text, 0, before.length, "end");
    this.#field.dispatchEvent(new Event("input", { bubbles: true }));
  }

  /** Whether more was typed meanwhile, or the text was sent. */
  #isOver(turn, before) {
    return turn !== this.#turn || !this.#field.value.startsWith(before);
  }

  #people(query) {
    const asked = query.toLowerCase();
    const rank = ({ userName }) => {
      const name = userName.toLowerCase();
      return name.startsWith(asked) ? 0 : name.includes(asked) ? 1 : -1;
    };
    return [...this.#ctx.model.users.values()]
      .filter((user) => rank(user) >= 0)
      .sort((a, b) => rank(a) - rank(b) || a.userName.localeCompare(b.userName))
      .slice(0, MOST)
      .map((user) => ({ sign: avatar(user), label: user.userName, text: `@${user.userName} ` }));
  }

  async #emoji(query, before) {
    const set = await this.#set(); // From the first colon on, to be there in time.
    if (!set || query.length < LEAST_EMOJI || endsInCode(before)) return [];
    return set
      .search(query)
      .slice(0, MOST)
      .map((one) => ({
        sign: element("span", { class: "glyph", "aria-hidden": "true" }, toned(one, this.#tone)),
        label: one.name,
        more: `:${one.shortNames[0]}:`,
        text: `${toned(one, this.#tone)} `,
      }));
  }

  /** The emoji; null without a network, when they were never needed with one. */
  #set() {
    return emojiSet().catch(() => null);
  }

  get #tone() {
    return this.#ctx.kept.get("skin-tone", 0);
  }

  #choose(at) {
    this.#at = at;
    [...this.#list.children].forEach((option, place) =>
      option.setAttribute("aria-selected", String(place === at)),
    );
    this.#list.children[at].scrollIntoView({ block: "nearest" });
    this.#field.setAttribute("aria-activedescendant", `${this.#list.id}-${at}`);
  }

  #take(at = this.#at) {
    const field = this.#field;
    field.setRangeText(this.#found[at].text, this.#start, field.selectionStart, "end");
    this.#close();
    field.dispatchEvent(new Event("input", { bubbles: true }));
  }

  #close() {
    this.#list.hidden = true;
    this.#field.removeAttribute("aria-activedescendant");
    this.#field.removeAttribute("aria-controls");
  }
}
