// The dialog of search: a field, the order, and what was found. What one loses sight of while it is open goes from it
// at once, and does not come with an answer that was on its way then; of two answers that cross, the one asked for last
// is shown.

import { Completion } from "./completion.js";
import { aroundOf, hitOf } from "./hits.js";
import { mistaken, operators } from "./query.js";

const PAGE = 20;
const AROUND = 5;
const MESSAGES = ["MESSAGE", "DM_MESSAGE", "THREAD_REPLY"];
let current = null; // One is open at a time; events go to it.
const hearing = new WeakSet();

/**
 * Open it.
 * @param {object} teamchat
 * @param {{query: string, sort: string}} last what was searched for last
 * @param {string} [query] what to begin with instead
 */
export function openSearch(teamchat, last, query) {
  if (document.querySelector("dialog[open]")) return;
  hear(teamchat);
  current = new Search(teamchat, last, query);
}

/** Events are heard once a session. */
function hear(teamchat) {
  if (hearing.has(teamchat)) return;
  hearing.add(teamchat);
  teamchat.on("RESYNC", () => current?.again());
  teamchat.on("DELETE_CHANNEL", ({ id }) => current?.lose(({ place }) => place.id === id));
  for (const kind of MESSAGES) {
    const idOf = (payload) => (payload.reply ?? payload).id;
    teamchat.on(`UPDATE_${kind}`, (payload) => current?.changed(idOf(payload)));
    teamchat.on(`DELETE_${kind}`, (payload) =>
      current?.lose(({ message }) => [message.id, message.threadId].includes(idOf(payload))),
    );
  }
}

class Search {
  #teamchat;
  #last;
  #field;
  #sort;
  #completion;
  #known = operators({});
  #status;
  #note;
  #list;
  #more;
  #dialog;
  #hits = [];
  #next = null;
  #asked = 0;
  #lost = null; // what was lost while an answer is on its way
  #said = "";

  constructor(teamchat, last, query) {
    this.#teamchat = teamchat;
    this.#last = last;
    const { element, t, icon } = teamchat;
    this.#field = element("input", {
      type: "search",
      class: "input search-field",
      role: "combobox",
      "aria-label": t("title"),
      "aria-autocomplete": "list",
      "aria-expanded": "false",
      "aria-controls": "search-options",
      placeholder: t("placeholder"),
      autocomplete: "off",
      spellcheck: "false",
      enterkeyhint: "search",
      maxlength: "500",
      dir: "auto",
      value: query ?? last.query,
    });
    const orders = ["recent", "relevance"].map((one) => element("option", { value: one }, t(`sort_${one}`)));
    this.#sort = element("select", { class: "input search-sort", "aria-label": t("sort"), on: { change: () => this.#ask() } }, orders);
    this.#sort.value = last.sort;
    this.#completion = new Completion(teamchat, this.#field, () => this.#known);
    const go = element("button", { type: "submit", class: "button button-primary", "aria-label": t("go") }, icon("glass"));
    const box = element("div", { class: "search-box" }, this.#field, this.#completion.node);
    const form = element("form", { class: "search-form", role: "search" }, box, this.#sort, go);
    form.addEventListener("submit", (event) => (event.preventDefault(), this.#completion.close(), this.#ask()));
    this.#status = element("p", { class: "search-status small soft", role: "status" });
    this.#note = element("p", { class: "search-status small soft", hidden: true });
    this.#list = element("ul", { class: "message-list search-list", "aria-label": t("found") });
    this.#list.addEventListener("keydown", (event) => this.#walk(event));
    this.#more = element("button", { type: "button", class: "button", hidden: true, on: { click: () => this.#ask(true) } });
    const body = element("div", { class: "dialog-body search-body" }, this.#help(), this.#list, this.#more);
    this.#dialog = teamchat.dialog({ title: t("title"), kind: "dialog-wide search-dialog" }, form, this.#status, this.#note, body);
    this.#dialog.node.addEventListener("close", () => current === this && (current = null));
    this.#field.addEventListener("keydown", (event) => this.#key(event));
    this.#field.focus();
    if (query === undefined) this.#field.select();
    this.#learn();
    if (query === undefined && last.query) this.#ask();
  }

  /** What matches one no longer sees, or it is gone. */
  lose(isLost) {
    this.#lost?.push(isLost);
    const left = this.#hits.filter((hit) => !isLost(hit));
    if (left.length === this.#hits.length) return;
    this.#hits = left;
    this.#draw();
  }

  /** A message was edited: whether it still matches is the server's to say. */
  changed(id) {
    if (this.#hits.some(({ message }) => message.id === id)) this.#ask();
  }

  /** What was missed may be anything. */
  again() {
    if (this.#said) this.#ask();
  }

  async #learn() {
    const { capabilities } = await this.#teamchat.api.get("/capabilities").catch(() => ({ capabilities: {} }));
    this.#known = operators(capabilities ?? {});
  }

  /** Search, or with `isMore` go on. */
  async #ask(isMore = false) {
    const { api, t, words } = this.#teamchat;
    const query = isMore ? this.#said : this.#field.value.trim();
    const mine = ++this.#asked;
    this.#lost = [];
    this.#help(!query);
    if (!query) return this.#tell("", []);
    const sort = this.#sort.value;
    Object.assign(this.#last, { query, sort });
    this.#said = query;
    this.#status.textContent = t("busy");
    const { timeZone } = Intl.DateTimeFormat().resolvedOptions();
    const asked = { q: query, sort, limit: PAGE, tz: timeZone, ...(isMore && { cursor: this.#next }) };
    try {
      const { results, next, isComplete } = await api.get(`/search/messages?${new URLSearchParams(asked)}`);
      if (mine !== this.#asked) return;
      const first = isMore ? this.#hits.length : -1;
      this.#next = next;
      const seen = results.filter((hit) => !this.#lost.some((isLost) => isLost(hit)));
      this.#tell(isComplete ? "" : t("incomplete"), isMore ? [...this.#hits, ...seen] : seen);
      this.#more.textContent = t(isComplete ? "more" : "go_on");
      if (first >= 0) this.#links()[first]?.focus();
    } catch (error) {
      if (mine !== this.#asked) return;
      this.#next = isMore ? this.#next : null;
      this.#tell("", isMore ? this.#hits : []);
      this.#status.textContent = words(error);
    }
  }

  #tell(more, hits) {
    const { t } = this.#teamchat;
    this.#lost = null;
    this.#hits = hits;
    this.#draw();
    const odd = this.#said ? mistaken(this.#said, this.#known) : [];
    this.#note.hidden = !odd.length;
    this.#note.textContent = odd.length ? t("as_written", { words: odd.join(", ") }) : "";
    if (more) this.#status.textContent += ` ${more}`;
  }

  #draw() {
    const { replace, t } = this.#teamchat;
    const hits = this.#hits;
    const held = this.#list.contains(document.activeElement) && document.activeElement.dataset.id;
    replace(this.#list, hits.map((hit) => this.#item(hit)));
    this.#more.hidden = !this.#next || !this.#said;
    const count = { count: hits.length };
    this.#status.textContent = hits.length ? t(this.#next ? "first" : "all", count) : this.#said && t("none");
    if (held) (this.#links().find((one) => one.dataset.id === held) ?? this.#links()[0] ?? this.#field).focus();
  }

  #item(hit) {
    const { message, place } = hit;
    const open = () => {
      this.#dialog.close();
      this.#teamchat.messages.open({ id: message.id, channelId: place.id, threadId: message.threadId });
    };
    const item = hitOf(this.#teamchat, hit, { open, around: () => this.#around(item, hit) });
    return item;
  }

  /** Show what was said before and after a hit, or hide it again. */
  async #around(item, { message: { id, threadId }, place: { id: placeId } }) {
    const { api, words } = this.#teamchat;
    const [shown] = item.getElementsByClassName("search-around");
    if (shown) return shown.remove();
    const cut = `?around=${encodeURIComponent(id)}&limit=${AROUND}`;
    const channel = placeId.startsWith("dm:") ? api.path`/conversations/${placeId}/messages` : api.path`/channels/${placeId}/messages`;
    try {
      const page = await api.get((threadId ? api.path`/messages/${threadId}/thread` : channel) + cut);
      if (item.isConnected) item.append(aroundOf(this.#teamchat, page.messages ?? page.replies, id));
    } catch (error) {
      this.#dialog.say(words(error));
    }
    return undefined;
  }

  #links() {
    return [...this.#list.querySelectorAll(".search-hit")];
  }

  #key(event) {
    if (event.isComposing) return;
    if (this.#completion.key(event)) {
      event.preventDefault();
      event.stopPropagation();
    } else if (event.key === "ArrowDown" && this.#hits.length) {
      event.preventDefault();
      this.#links()[0].focus();
    }
  }

  #walk(event) {
    const step = { ArrowUp: -1, ArrowDown: 1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const links = this.#links();
    const at = links.findIndex((one) => one.closest("li").contains(document.activeElement));
    (links[at + step] ?? (step < 0 ? this.#field : links[at])).focus();
  }

  /** What one can ask, while nothing is asked. */
  #help(isShown) {
    const { element, t } = this.#teamchat;
    if (this.#helping) this.#helping.hidden = !isShown;
    this.#helping ??= element("p", { class: "search-help soft" }, t("help"));
    return this.#helping;
  }
  #helping = null;
}
