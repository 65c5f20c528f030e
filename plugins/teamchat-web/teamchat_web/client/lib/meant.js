// Who and what is meant by a text that is being written. What was chosen is known by its place, and goes
// along when the text changes around it; what is changed itself means nobody any more. Entities count code
// points, the places here UTF-16 units, as fields of the browser do.

import { endsInCode } from "./code.js";
import { INNER, WORD } from "./mentions.js";

const MOST = 100;
const WIDE = { channel: "channel", all: "channel", everyone: "channel", here: "here" };

export class Meant {
  #text;
  #marks;

  /** @param {string} text @param {object[]} [entities] of it */
  constructor(text, entities = []) {
    const points = [...text];
    const part = (from, to) => points.slice(from, to).join("");
    this.#text = text;
    this.#marks = entities.map(({ type, id, offset, length }) => {
      return { type, id, start: part(0, offset).length, words: part(offset, offset + length) };
    });
  }

  /** The text is another one: between what is the same at its beginning and its end it has changed. */
  change(text) {
    const before = this.#text;
    const most = Math.min(before.length, text.length);
    let from = 0;
    while (from < most && before[from] === text[from]) from++;
    let same = 0;
    while (same < most - from && before.at(-1 - same) === text.at(-1 - same)) same++;
    const end = before.length - same;
    const longer = text.length - before.length;
    this.#text = text;
    this.#marks = this.#marks
      .map((mark) => (mark.start >= end ? { ...mark, start: mark.start + longer } : mark))
      .filter(({ start, words }) => start + words.length <= from || start >= text.length - same)
      .filter((mark) => this.#stands(mark));
  }

  /** The text is another one, in which the same is meant in the same order. */
  refill(text) {
    const entities = this.#marks.length ? moved(this.entities(), this.#text, text) : [];
    [this.#text, this.#marks] = [text, new Meant(text, entities).#marks];
  }

  /** Something was chosen, and stands here now. */
  add({ type, id, start, words }) {
    this.#marks.push({ type, id, start, words });
    this.#marks.sort((a, b) => a.start - b.start);
  }

  /** What was chosen, as entities of the text. */
  entities() {
    return toEntities(this.#text, this.#marks);
  }

  /**
   * The entities to send, of the text without the space around it: who was chosen and who was named by hand.
   * Where nobody was chosen there are none, and the server finds who is named. Everybody, named by hand,
   * `isTyped`: it stays text where that isn't allowed, as it does where the server finds it.
   * @param {Map<string, string>} names ids of users by their names in lower case
   */
  toSend(names) {
    if (!this.#marks.length) return undefined;
    const text = this.#text.trim();
    const lead = this.#text.length - this.#text.trimStart().length;
    const marks = this.#marks.map((mark) => ({ ...mark, start: mark.start - lead }));
    const all = [...marks, ...named(text, marks, names)].sort((a, b) => a.start - b.start);
    return toEntities(text, all).slice(0, MOST);
  }

  /** Whether it still stands there as it was chosen, and not as a part of longer words. */
  #stands({ start, words }) {
    const next = this.#text[start + words.length];
    const isWhole = !(next && INNER.test(next) && WORD.test(words.at(-1)));
    return isWhole && !WORD.test(this.#text[start - 1] ?? " ") && this.#text.startsWith(words, start);
  }
}

/** The entities of a text where their words stand in one that was changed elsewhere. */
export function moved(entities, before, after) {
  const points = [...before];
  const marks = entities.flatMap(({ offset, length, ...meant }) => {
    const words = points.slice(offset, offset + length).join("");
    const nth = points.slice(0, offset).join("").split(words).length;
    const start = after.split(words, nth).join(words).length;
    return after.startsWith(words, start) ? { ...meant, start, words } : [];
  });
  return toEntities(after, marks);
}

function toEntities(text, marks) {
  const count = (part) => [...part].length;
  return marks.map(({ start, words, ...meant }) => {
    return { ...meant, offset: count(text.slice(0, start)), length: count(words) };
  });
}

/** The entities that are left where everybody, named by hand, may not be; null where there was no such. */
export function withoutTyped(entities) {
  const left = entities?.filter(({ isTyped }) => !isTyped);
  return left && left.length < entities.length ? left : null;
}

/** Who is named in a text besides, by the rule of the server: the longest name counts, and none in code. */
function named(text, marks, names) {
  const isTaken = (at) => marks.some(({ start, words }) => at >= start && at < start + words.length);
  const meantBy = (name) =>
    Object.hasOwn(WIDE, name)
      ? { type: "wide", id: WIDE[name], isTyped: true }
      : { type: "user", id: names.get(name) };
  const lengths = [...new Set([...names.keys(), ...Object.keys(WIDE)].map(({ length }) => length))];
  lengths.sort((a, b) => b - a);
  return [...text.matchAll(/@/g)].flatMap(({ index: start }) => {
    if (WORD.test(text[start - 1] ?? " ") || isTaken(start) || endsInCode(text.slice(0, start))) return [];
    for (const length of lengths) {
      const words = text.slice(start, start + 1 + length);
      const meant = meantBy(words.slice(1).toLowerCase());
      const isWhole = !INNER.test(text[start + words.length] ?? " ");
      if (meant.id && isWhole && words.length === length + 1) return { ...meant, start, words };
    }
    return [];
  });
}
