// Fills the slots of the page with what capabilities have added, and hands events on to them.

import { element, icon, replace } from "../../lib/dom.js";
import "../../lib/more_strings.js";
import { loadSheet, needsSheets } from "../sheet.js";
import { badge } from "../sidebar.js";
import { facade } from "./facade.js";
import { Posts } from "./posts.js";
import { registryOf } from "./registry.js";

needsSheets("extensions");

const MOST_EVENTS = 1000; // kept for parts that are still on their way
const BELOW_MARKS = ".reactions, .thread-link, .message-foot";
let made = 0;

export class Host {
  #ctx;
  #registry;
  #past = [];
  #marked = new Set();
  #posts;

  constructor(ctx) {
    this.#ctx = ctx;
    this.#registry = registryOf(ctx);
    this.#posts = new Posts(this.#registry);
    for (const slot of ["messageMarks", "messageBlocks"]) this.#registry.on(slot, () => this.#markAnew());
    ctx.slots.take((slot, ...offered) => this[`_${slot}`]?.(...offered));
  }

  /** Have the part of a capability begin. */
  async start(begin, about) {
    if (!this.#ctx.signal.aborted) await begin(facade(this.#ctx, this.#registry, this, about, this.#posts));
  }

  /** No part is on its way any longer. */
  allStarted() {
    this.#past = null;
  }

  /** The events that were told while parts were on their way. */
  get past() {
    return [...(this.#past ?? [])];
  }

  addSheet(href) {
    return loadSheet(href);
  }

  _event({ type, payload }) {
    if (this.#past && this.#past.push({ type, payload }) > MOST_EVENTS) this.#past.shift();
    this.#registry.emit(`event ${type}`, payload);
  }

  _message(article, item) {
    for (const tool of this.#registry.tools("messageBlocks")) this.#block(article, item, tool, tool.ask("make", item));
    if (item.state) return;
    const marks = this.#registry.tools("messageMarks").map((tool) => [tool.icon, tool.look(item)]);
    const lines = marks.filter(([, look]) => look).map(([name, { label }]) => element("span", {}, icon(name), label));
    if (!lines.length) return;
    const id = `marks-${++made}`;
    const below = [...article.children].find((child) => child.matches(BELOW_MARKS)) ?? null;
    article.insertBefore(element("div", { class: "message-marks", id }, lines), below);
    article.setAttribute("aria-labelledby", `${article.getAttribute("aria-labelledby")} ${id}`);
    this.#marked.add(item.id);
  }

  /** A block stands above a message's text and is read out before it, or below it and after it. */
  #block(article, item, { isBelow }, node) {
    if (!node) return;
    node.id = `block-${++made}`;
    if (isBelow) article.insertBefore(node, [...article.children].find((child) => child.matches(BELOW_MARKS)) ?? null);
    else article.querySelector(".message-body").before(node);
    const read = article.getAttribute("aria-labelledby").split(" ");
    read.splice(isBelow ? 2 : 1, 0, node.id);
    article.setAttribute("aria-labelledby", read.join(" "));
    this.#marked.add(item.id);
  }

  /** Messages that have a mark or a block now or had one are drawn anew. */
  #markAnew() {
    const had = this.#marked;
    this.#marked = new Set();
    const has = (item) =>
      this.#registry.tools("messageMarks").some((tool) => tool.look(item)) ||
      this.#registry.tools("messageBlocks").some((tool) => tool.ask("isFor", item));
    for (const timeline of this.#ctx.model.timelines) {
      const all = [...timeline.items, timeline.parent].filter(Boolean);
      for (const item of all) if (had.has(item.id) || has(item)) timeline.emit("changed", { item });
    }
  }

  _room(main, { ctx, place }) {
    const about = () => this.#ctx.model.place(place.id) ?? place;
    this.#keep("roomHeader", main.querySelector(".bar-action"), { ctx, about, make: headerButton });
  }

  _composer(box, { ctx, about: { place, parentId = null }, field, composer }) {
    const holder = element("span", { class: "composer-extensions" });
    const about = { place, parentId, insert: (text) => composer.insert(text), text: () => field.value };
    box.insertBefore(holder, box.lastChild);
    this.#posts.extend(box, { ctx, about: { place, parentId }, field, composer });
    this.#keep("composer", holder, { ctx, about: () => about, make: composerButton });
    const notes = element("div", { class: "composer-notes" });
    box.after(notes);
    this.#keep("composerNotes", notes, { ctx, about: () => about, make: composerNote });
    const typed = () => this.#registry.tools("composerNotes").forEach((tool) => tool.typed(about));
    field.addEventListener("input", typed, { signal: ctx.signal });
  }

  _sidebar(list, { ctx }) {
    const own = element("ul", { class: "side-list side-top side-extensions" });
    list.after(own);
    this.#keep("sidebar", own, { ctx, about: () => null, make: sideButton });
  }

  /** Keep what `make` makes of each tool of a slot in `holder`: the same node as long as it is there. */
  #keep(slot, holder, { ctx, about, make }) {
    const nodes = new Map();
    const shown = (tool) => {
      const look = tool.look(about());
      if (!look) return null;
      if (!nodes.has(tool)) {
        const run = ({ currentTarget }) => tool.run(this.#ctx, ...[about(), currentTarget].filter(Boolean));
        nodes.set(tool, make(tool, run));
      }
      const { node, draw } = nodes.get(tool);
      draw(look);
      return node;
    };
    const draw = () => {
      const all = this.#registry.tools(slot).map(shown).filter(Boolean);
      const isSame = all.length === holder.children.length && all.every((node, at) => node === holder.children[at]);
      if (isSame) return;
      const held = holder.contains(document.activeElement) && document.activeElement;
      replace(holder, all);
      if (held) (held.isConnected ? held : document.getElementById("main")).focus();
    };
    this.#registry.on(slot, draw, ctx.signal);
    draw();
  }
}

function headerButton(tool, run) {
  const count = element("span", {});
  const look = { type: "button", class: "button button-quiet button-small header-extension", on: { click: run } };
  const node = element("button", look, icon(tool.icon), count);
  return { node, draw: (says) => (name(node, says.label), replace(count, says.count && String(says.count))) };
}

function composerButton(tool, run) {
  const node = element("button", { type: "button", class: "icon-button", on: { click: run } }, icon(tool.icon));
  return { node, draw: ({ label }) => name(node, label) };
}

function composerNote() {
  const node = element("p", { class: "composer-note" });
  return { node, draw: ({ label }) => replace(node, label) };
}

function sideButton(tool, run) {
  const button = element("button", { type: "button", class: "side-link", on: { click: run } });
  const draw = ({ label, count }) => {
    button.classList.toggle("unread", count > 0);
    replace(button, icon(tool.icon), element("span", { class: "name" }, label), count > 0 && badge(count, 0));
  };
  return { node: element("li", {}, button), draw };
}

function name(button, label) {
  button.ariaLabel = button.title = label;
}
