// Completion of @mentions, #channels and :emoji: in a field, by the pattern of a combobox: the focus stays in the
// field, the list is told of by aria-activedescendant, Up and Down choose, Enter or Tab take, Escape
// closes. On a server with mentions it keeps who was chosen (lib/meant.js), and there channels can be chosen too.
import { element, icon, replace } from "../lib/dom.js";
import "../lib/more_strings.js";
import { endsInCode } from "../lib/code.js";
import { Meant } from "../lib/meant.js";
import { emojiSet, toned } from "../lib/emoji.js";
import { t } from "../lib/strings.js";
import { writeOver } from "../lib/writing.js";
import { avatar } from "./people.js";
import "./menus.js";

const MOST = 7;
const OPEN = /(?:^|[\s(])([@:#])([^\s@:#]*)$/;
const WIDE = ["channel", "here"];
const LEAST_EMOJI = 2;
const BETWEEN_WORDS = /[^\p{L}\p{N}]+/u;
const WHOLE = /(?<![\p{L}\p{N}:/]):[a-z0-9_+-]+:(?![\p{L}\p{N}:/])/u;
let made = 0;

export class Completion {
  #ctx;
  #field;
  #list;
  #found = [];
  #at = 0;
  #start = 0;
  #turn = 0;
  #about;
  #meant;

  /**
   * @param {object} ctx
   * @param {HTMLTextAreaElement} field
   * @param {HTMLElement} box where the list is put
   * @param {{place: object, text: string, entities?: object[]}} about with what the field began
   */
  constructor(ctx, field, box, about) {
    this.#about = about;
    this.#meant = new Meant(about.text, about.entities);
    this.#meant.change(field.value);
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
    field.addEventListener("input", () => this.#meant.change(field.value), { capture: true });
    for (const type of ["input", "click"]) field.addEventListener(type, (event) => this.#look(event));
    field.addEventListener("blur", () => this.#close());
    this.#look();
  }

  /** The field has another text now, with who is meant in it. */
  begin({ text, entities }) {
    this.#meant = new Meant(text, entities);
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

  /** Who was chosen, as entities of the field's text; undefined if nobody was. */
  entities() {
    this.#meant.change(this.#field.value);
    const all = this.#meant.entities();
    return this.#knowsMentions && all.length ? all : undefined;
  }

  /** The entities of the text without the space around it; undefined leaves it to the server to find them. */
  toSend() {
    this.#meant.change(this.#field.value);
    return this.#knowsMentions ? this.#meant.toSend(this.#ctx.model.names()) : undefined;
  }

  async #look({ inputType = "" } = {}) {
    const { value, selectionStart } = this.#field;
    const isUndone = inputType.startsWith("history"); // Filled anew, it could never be undone further.
    const before = value.slice(0, selectionStart);
    const [, sign, query] = before.match(OPEN) ?? [];
    const turn = ++this.#turn;
    if (!isUndone && WHOLE.test(before) && (await this.#fill(before, turn))) return;
    const found = sign ? await this.#search(sign, query, before) : [];
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

  /**
   * Short names that were typed whole, as :tada:, become their emoji: the one just ended, and those typed while
   * this module or the set was still on its way. Answers whether the field changed.
   */
  async #fill(before, turn) {
    const set = await this.#set();
    if (this.#isOver(turn, before) || !set || endsInCode(before)) return false;
    const text = set.filled(before, this.#tone);
    if (text === before) return false;
    this.#close();
    this.#meant.refill(text + this.#field.value.slice(before.length));
    writeOver(this.#field, text, 0, before.length);
    return true;
  }

  /** Whether more was typed meanwhile, or the text was sent. */
  #isOver(turn, before) {
    return turn !== this.#turn || !this.#field.value.startsWith(before);
  }

  #search(sign, query, before) {
    if (sign === ":") return this.#emoji(query, before);
    if (sign === "@") return [...this.#people(query), ...this.#wide(query)].slice(0, MOST);
    return this.#knowsMentions ? this.#channels(query) : [];
  }

  #people(query) {
    const present = [...this.#ctx.model.users.values()].filter(({ isDeactivated }) => !isDeactivated);
    const named = ({ userName, fullName }) => `${userName} ${fullName ?? ""}`;
    return best(present, query, named, this.#speakers()).map((user) => {
      const words = `@${user.userName}`;
      const entity = { type: "user", id: user.id, words };
      return { sign: avatar(user), label: user.userName, more: user.fullName, text: `${words} `, entity };
    });
  }

  /** The ids of who wrote here, in the thread first, the last one first; oneself is seldom meant. */
  #speakers() {
    const { model } = this.#ctx;
    const { place, parentId } = this.#about;
    const said = [...model.timeline(place).items, ...(parentId ? model.thread(parentId, place).items : [])];
    const ids = new Set(said.map(({ author }) => author.id).reverse());
    ids.delete(model.me.id);
    return [...ids];
  }

  /** The words for all members, and for those who are there now. */
  #wide(query) {
    if (!this.#knowsMentions || this.#about.place.kind !== "channel") return [];
    return WIDE.filter((word) => query && word.startsWith(query.toLowerCase())).map((id) => {
      const words = `@${id}`;
      const more = t(id === "here" ? "mentions.here" : "mentions.channel");
      return { sign: icon("users"), label: words, more, text: `${words} `, entity: { type: "wide", id, words } };
    });
  }

  #channels(query) {
    return best(this.#ctx.model.sortedChannels(), query, ({ name }) => name).map(({ id, name }) => {
      const words = `#${name}`;
      return { sign: icon("hash"), label: name, text: `${words} `, entity: { type: "channel", id, words } };
    });
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

  /** Asked for once the first view is there, so it may be known later than the field. */
  get #knowsMentions() {
    return Boolean(this.#ctx.model.capabilities.mentions);
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
    const { text, entity } = this.#found[at];
    writeOver(field, text, this.#start, field.selectionStart);
    this.#meant.change(field.value);
    if (entity) this.#meant.add({ ...entity, start: this.#start });
    this.#close();
    field.dispatchEvent(new Event("input", { bubbles: true }));
  }

  #close() {
    this.#list.hidden = true;
    this.#field.removeAttribute("aria-activedescendant");
    this.#field.removeAttribute("aria-controls");
  }
}

/** Those in whose name it is: first where that begins so, then where a word does; of these first who is `near`. */
function best(all, query, nameOf, near = []) {
  const asked = query.toLowerCase();
  const places = new Map(near.map((id, at) => [id, at]));
  const fits = all.map((one) => ({ one, name: nameOf(one), at: places.get(one.id) ?? near.length }));
  for (const fit of fits) fit.rank = rank(fit.name.toLowerCase(), asked);
  return fits
    .filter((fit) => fit.rank >= 0)
    .sort((a, b) => a.rank - b.rank || a.at - b.at || a.name.localeCompare(b.name))
    .slice(0, MOST)
    .map(({ one }) => one);
}

function rank(name, asked) {
  if (name.startsWith(asked)) return 0;
  const at = name.indexOf(asked);
  const isWord = at > 0 && name.split(BETWEEN_WORDS).some((word) => word.startsWith(asked));
  return isWord ? 1 : at < 0 ? -1 : 2;
}
