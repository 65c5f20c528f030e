// The emoji picker: recently used ones, all in groups, and search. One group is drawn at a time, for all of them
// are two thousand buttons. Tab leads from the search to the groups, the emoji and the skin tones; within each of
// these the arrow keys do.
import { element, replace } from "../lib/dom.js";
import { emojiSet, TONE_COUNT, toned } from "../lib/emoji.js";
import "../lib/more_strings.js";
import { t } from "../lib/strings.js";
import { openPopup } from "./popup.js";
import { recentReactions } from "./reactions.js";
import { needsSheets } from "./sheet.js";

needsSheets("overlays", "forms");

const MOST_FOUND = 150;
const HAND = { emoji: "✋", hasTones: true };
const SIDEWAYS = { ArrowLeft: -1, ArrowRight: 1 };
const UP_AND_DOWN = { ArrowUp: -1, ArrowDown: 1 };

/**
 * Opens the picker beside `anchor`.
 * @param {object} ctx
 * @param {HTMLElement} anchor
 * @param {(emoji: string) => void} choose is called once, after the picker has closed
 */
export async function openPicker(ctx, anchor, choose) {
  const picker = new Picker(ctx, await emojiSet(), choose);
  picker.open(anchor);
  ctx.signal.addEventListener("abort", () => picker.close());
}

class Picker {
  #ctx;
  #set;
  #choose;
  #shown;
  #field = element("input", {
    class: "input",
    type: "search",
    placeholder: t("picker.search"),
    "aria-label": t("picker.search"),
    autocomplete: "off",
    on: { input: () => this.#draw() },
  });
  #groups = element("div", { class: "groups", role: "tablist", "aria-label": t("picker.groups") });
  #tones = element("div", { class: "tones", role: "radiogroup", "aria-label": t("picker.tone") });
  #grid = element("div", { class: "picker-grid", id: "picker-grid", role: "tabpanel" });

  constructor(ctx, set, choose) {
    this.#ctx = ctx;
    this.#set = set;
    this.#choose = choose;
    this.#shown = set.groups[0];
    replace(this.#groups, set.groups.map((group) => this.#groupTab(group)));
    replace(this.#tones, Array.from({ length: TONE_COUNT }, (_, tone) => this.#toneButton(tone)));
    this.#grid.addEventListener("focusin", ({ target }) => this.#enter(target));
  }

  open(anchor) {
    const about = { class: "menu picker", popover: "auto", role: "dialog", "aria-label": t("picker.title") };
    const on = { keydown: (event) => this.#key(event) };
    this.#draw();
    this.close = openPopup(
      element("div", { ...about, on }, this.#field, this.#groups, this.#grid, this.#tones),
      anchor,
    );
    this.#field.focus();
  }

  #groupTab(group) {
    const label = t(`picker.${group.name}`);
    const select = () => {
      this.#shown = group;
      this.#field.value = "";
      this.#draw();
    };
    const about = { type: "button", role: "tab", title: label, "aria-label": label, on: { click: select } };
    return element("button", { ...about, "aria-controls": "picker-grid" }, group.all[0].emoji);
  }

  /** The skin tone of all hands and people, chosen once. */
  #toneButton(tone) {
    const label = t(`picker.tone_${tone}`);
    const select = () => {
      this.#ctx.kept.set("skin-tone", tone);
      this.#draw();
    };
    const about = { type: "button", role: "radio", title: label, "aria-label": label, on: { click: select } };
    return element("button", about, toned(HAND, tone));
  }

  get #tone() {
    return this.#ctx.kept.get("skin-tone", 0);
  }

  #draw() {
    const query = this.#field.value.trim();
    const { groups } = this.#set;
    const { name, all } = this.#shown;
    const [title, first, ...more] = query
      ? ["picker.found", this.#group("picker.found", this.#set.search(query).slice(0, MOST_FOUND))]
      : [`picker.${name}`, this.#shown === groups[0] && this.#recent(), this.#group(`picker.${name}`, all)];
    replace(this.#grid, first, more);
    this.#grid.ariaLabel = t(title);
    this.#grid.scrollTop = 0;
    this.#enter(this.#grid.querySelector("button"));
    const shown = groups.indexOf(this.#shown);
    mark(this.#groups, shown, (tab, isShown) => (tab.ariaSelected = String(isShown && !query)));
    mark(this.#tones, this.#tone, (button, isChosen) => (button.ariaChecked = String(isChosen)));
  }

  #recent() {
    const all = recentReactions(this.#ctx).map((emoji) => ({ emoji, name: this.#set.nameOf(emoji) }));
    return this.#group("picker.recent", all);
  }

  #group(title, all) {
    if (!all.length) return element("p", { class: "palette-none" }, t("palette.none"));
    const buttons = all.map((one) => {
      const emoji = toned(one, this.#tone);
      const on = { click: () => (this.close(), this.#choose(emoji)) };
      return element("button", { type: "button", tabindex: "-1", title: one.name, "aria-label": one.name, on }, emoji);
    });
    return [element("h3", {}, t(title)), element("div", { class: "group" }, buttons)];
  }

  /** Of the grid, Tab reaches the button that had the focus last. */
  #enter(button) {
    for (const other of this.#grid.querySelectorAll("[tabindex='0']")) other.tabIndex = -1;
    if (button) button.tabIndex = 0;
  }

  #key(event) {
    if (event.isComposing || event.ctrlKey || event.metaKey || event.altKey) return;
    const at = document.activeElement;
    const next = at === this.#field ? this.#first(event.key) : this.#next(event.key, at);
    if (!next) return;
    event.preventDefault();
    next.focus();
    if (at === this.#field ? event.key === "Enter" : !this.#grid.contains(at)) next.click();
  }

  /** From the search, Down leads to the first of the emoji, and Enter takes it. */
  #first(key) {
    return ["ArrowDown", "Enter"].includes(key) ? this.#grid.querySelector("button") : null;
  }

  #next(key, at) {
    const step = SIDEWAYS[key];
    const row = this.#grid.contains(at) ? this.#grid : at.parentNode;
    const all = [...row.querySelectorAll("button")];
    if (step && row !== this.#grid) return all.at((all.indexOf(at) + step) % all.length);
    if (step) return all[all.indexOf(at) + step] ?? (step < 0 && this.#field);
    if (row !== this.#grid || !UP_AND_DOWN[key]) return null;
    return nearest(all, at, UP_AND_DOWN[key]) ?? (key === "ArrowUp" && this.#field);
  }
}

/** Have Tab reach one of the buttons, and tell each whether it is the one. */
function mark(row, chosen, tell) {
  [...row.children].forEach((button, at) => {
    button.tabIndex = at === chosen ? 0 : -1;
    tell(button, at === chosen);
  });
}

/** Of the buttons in the next row up (-1) or down (1), the one nearest to where `from` stands. */
function nearest(all, from, way) {
  const { left, top } = from.getBoundingClientRect();
  const places = all.map((button) => ({ button, box: button.getBoundingClientRect() }));
  const far = ({ box }) => Math.abs(box.top - top) * 1000 + Math.abs(box.left - left); // Rows count first.
  const beyond = places.filter(({ box }) => (box.top - top) * way > 1);
  return beyond.sort((a, b) => far(a) - far(b))[0]?.button;
}
