// Who is meant where in a text: by the entities that came with it, or without any by the names in it.

import { element } from "./dom.js";

const SIGNS = /[@#]/;
export const WORD = /[\p{L}\p{N}_]/u;
/** What a word goes on by: also vowels that are marks, as in Hindi. */
export const INNER = /[\p{L}\p{M}\p{N}_]/u;

/**
 * The mentions of one text, which is read in pieces from its beginning to its end. Markdown takes marks away
 * and so moves what stands behind them, but no @ and no #: an entity is known by which of these signs it
 * begins at.
 */
export class Mentions {
  #signs = 0;
  #entities;
  #names;
  #lengths;
  #me;
  #draw;

  constructor(text, { names = new Map(), me, entities, draw }) {
    this.#names = names;
    this.#me = me;
    this.#draw = draw;
    if (entities) this.#entities = bySign(text, entities);
    else this.#lengths = [...new Set([...names.keys()].map((name) => name.length))].sort((a, b) => b - a);
  }

  /** This was read, and what comes next stands behind it. */
  pass(text) {
    if (this.#entities) this.#signs += count(text);
  }

  /** The mention that begins here, and where it ends; null if there is none. */
  read(text, at) {
    return this.#entities ? this.#meant(text, at) : text[at] === "@" ? this.#named(text, at) : null;
  }

  #meant(text, at) {
    const entity = this.#entities.get(this.#signs);
    const node = entity && text.startsWith(entity.words, at) && this.#draw(entity);
    return node ? { node, end: at + entity.words.length } : null;
  }

  #named(text, at) {
    if (at && WORD.test(text[at - 1])) return null;
    const rest = text.slice(at + 1, at + 1 + (this.#lengths[0] ?? 0)).toLowerCase();
    for (const length of this.#lengths) {
      const user = length <= rest.length && this.#names.get(rest.slice(0, length));
      const end = at + 1 + length;
      if (!user || (end < text.length && INNER.test(text[end]))) continue;
      const kind = user === this.#me ? "mention mention-me" : "mention";
      return { node: element("bdi", { class: kind, dataset: { user } }, text.slice(at, end)), end };
    }
    return null;
  }
}

/** Entities with their words, by the number of their sign. Offsets count code points, not UTF-16 units. */
function bySign(text, entities) {
  const points = [...text];
  const part = (from, to) => points.slice(from, to).join("");
  return new Map(
    entities.map(({ type, offset, length, id }) => [
      count(part(0, offset)),
      { type, id, words: part(offset, offset + length) },
    ]),
  );
}

const count = (text) => text.split(SIGNS).length - 1;
