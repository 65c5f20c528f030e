// What capabilities add to posts: fields beside the text, what shows them above the field of a composer, and drafts
// that come from elsewhere.

import { element, replace } from "../../lib/dom.js";

export class Posts {
  #registry;
  #composers = new Map();

  /** @param {object} registry of the session */
  constructor(registry) {
    this.#registry = registry;
  }

  /** Have a composer show what is added to its posts, and send it. */
  extend(box, { ctx, about, field, composer }) {
    const above = element("div", { class: "composer-above", hidden: true });
    box.before(above);
    const ask = (name, ...more) => this.#tools.map((tool) => tool.ask(name, about, ...more)).filter(Boolean);
    const more = {
      fields: () => Object.assign({}, ...ask("fields")),
      isWhole: () => ask("isWhole").length > 0,
      isBusy: () => ask("isBusy").length > 0,
      take: (files) => this.#tools.reduce((left, tool) => tool.ask("take", about, left) ?? left, files),
      sent: () => ask("sent"),
    };
    const where = { placeId: about.place.id, parentId: about.parentId ?? null };
    let kept = JSON.stringify(this.kept(about));
    const draw = () => {
      const before = kept;
      kept = JSON.stringify(this.kept(about));
      if (kept !== before) ctx.model.drafts.emit("written", { key: draftKey(where), from: "here" });
      const hadFocus = above.contains(document.activeElement);
      const nodes = ask("show");
      const isSame = nodes.length === above.children.length && nodes.every((one, at) => one === above.children[at]);
      if (!isSame) replace(above, nodes);
      above.hidden = !above.firstChild;
      composer.extend(more);
      if (hadFocus && !above.contains(document.activeElement)) field.focus();
    };
    const letGo = (event) => {
      const isEscape = event.key === "Escape" && !event.defaultPrevented && !event.isComposing;
      if (!isEscape || !ask("letGo").length) return;
      event.preventDefault();
      event.stopPropagation();
    };
    field.addEventListener("keydown", letGo);
    this.#registry.on("posts", draw, ctx.signal);
    draw();
    this.#follow(ctx, where, field, composer);
    const key = keyOf(where);
    this.#composers.set(key, composer);
    ctx.signal.addEventListener("abort", () => this.#composers.get(key) === composer && this.#composers.delete(key));
  }

  /** Have the focus where a message to a place, or to a thread there, is written, if that is open. */
  compose({ place, parentId = null }) {
    this.#composers.get(keyOf({ placeId: place.id, parentId }))?.focus();
  }

  /** What of the fields of a post belongs to its draft. */
  kept(about) {
    return Object.assign({}, ...this.#tools.map((tool) => tool.ask("kept", about)).filter(Boolean));
  }

  /** A draft came from elsewhere, with these fields. */
  restore(about, fields) {
    for (const tool of this.#tools) tool.ask("restore", about, fields);
  }

  /** What is written elsewhere stands in the field too; another tab's not under the hands of who writes here. */
  #follow({ model, signal }, own, field, composer) {
    // The field of a tab that nobody looks at has the focus there, too.
    const isInUse = () => document.activeElement === field && document.hasFocus();
    const follow = ({ key, from }) => {
      const where = whereOf(key);
      const isHere = where && keyOf(where) === keyOf(own);
      if (!isHere || from === "here" || (from === "tab" && isInUse())) return;
      const { text, entities } = draftAt(model, where);
      if (text !== field.value) composer.write(text, entities);
    };
    model.drafts.on("written", follow, signal);
  }

  get #tools() {
    return this.#registry.tools("posts");
  }
}

const keyOf = ({ placeId, parentId }) => `${placeId} ${parentId ?? ""}`;

// Drafts by their keys in model/drafts.js; those of edits are none of a message to come.
const draftKey = ({ placeId, parentId }) => `draft/${placeId}${parentId ? `/${parentId}` : ""}`;

function whereOf(key) {
  const [, placeId, parentId = null, more] = key.split("/");
  return parentId === "edit" || more ? null : { placeId, parentId };
}

/** The draft at a place or in a thread there: its text, and who is meant in it. */
export function draftAt(model, { placeId, parentId }) {
  const kept = model.drafts.get({ id: placeId }, parentId);
  return { text: kept?.text ?? kept ?? "", entities: kept?.entities };
}

/** The drafts of this browser, as parts read and write them. */
export function drafts({ model, signal }, posts, listens) {
  const about = ({ placeId, parentId = null }) => ({ place: model.place(placeId) ?? { id: placeId }, parentId });
  const read = (where) => ({ ...draftAt(model, where), fields: posts.kept(about(where)) });
  return {
    all: () => model.drafts.keys.map(whereOf).filter(Boolean).map((where) => ({ ...where, ...read(where) })),
    get: read,
    set: (where, draft) => {
      posts.restore(about(where), draft?.fields ?? {});
      const { text = "", entities } = draft ?? {};
      const { place, parentId } = about(where);
      model.drafts.set(place, parentId, entities?.length ? { text, entities } : text, false, "part");
    },
    onChange: (heard) => {
      const told = ({ key, from }) => from !== "part" && whereOf(key) && listens(heard)(whereOf(key));
      return model.drafts.on("written", told, signal);
    },
  };
}
