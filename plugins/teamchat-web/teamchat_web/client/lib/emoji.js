// The emoji: their names, the words they are found by, and the short names they are typed by. The set is made
// from emojibase (emoji/, by emoji_set.py). It is loaded when it is first asked for and never waited for at
// the top of a module: WebKit doesn't run modules that import one which still waits.

import { changeOutsideCode } from "./code.js";
import { language } from "./strings.js";

const KNOWN = /^\p{RGI_Emoji}$/v;
const SHORT_NAME = /(?<![\p{L}\p{N}:/]):([a-z0-9_+-]+):(?![\p{L}\p{N}:/])/gu; // not in 10:30:45
const TONES = ["", "🏻", "🏼", "🏽", "🏾", "🏿"];
const PERSONS = /^(\p{Emoji_Modifier_Base})\uFE0F?|(?<=\u200D)([👨👩🧑])$/gu; // One, or both of two.
const VARIANT = /[\uFE0F\u{1F3FB}-\u{1F3FF}]/gu;

/** How many skin tones there are; 0 is none, the yellow of the set. */
export const TONE_COUNT = TONES.length;

let loading = null;

/**
 * The set, loaded once; a failure is tried again at the next call.
 * @returns {Promise<EmojiSet>}
 */
export function emojiSet() {
  loading ??= load().catch((error) => {
    loading = null;
    throw error;
  });
  return loading;
}

/** An emoji in a skin tone (1 to 5), if it has them. */
export function toned({ emoji, hasTones }, tone) {
  return hasTones && tone ? emoji.replace(PERSONS, (_, one, other) => (one ?? other) + TONES[tone]) : emoji;
}

class EmojiSet {
  #all;
  #byShortName;
  #byEmoji;

  /** @param {{name: string, all: object[]}[]} groups each with {emoji, hasTones, name, shortNames, terms} */
  constructor(groups) {
    this.groups = groups;
    this.#all = groups.flatMap(({ all }) => all);
    this.#byShortName = new Map(this.#all.flatMap((one) => one.shortNames.map((name) => [name, one])));
    this.#byEmoji = new Map(this.#all.map((one) => [one.emoji.replace(VARIANT, ""), one]));
  }

  /** What an emoji is called, in whatever skin tone; the emoji itself if the set doesn't have it. */
  nameOf(emoji) {
    return this.#byEmoji.get(emoji.replace(VARIANT, ""))?.name ?? emoji;
  }

  /**
   * What is asked for: the one of that short name or name, then those whose short name or name begins so (the
   * shortest first), then those with words that begin as all that was asked; failing these, that hold it.
   */
  search(query) {
    const asked = query.toLowerCase().replace(/^:|:$/g, "").trim();
    const words = asked.split(/[\s_]+/);
    const found = this.#all.map((one) => [one, rank(one, asked, words)]).filter(([, place]) => place);
    const within = found.every(([, place]) => place >= WITHIN);
    return found
      .filter(([, place]) => within || place < WITHIN)
      .sort(([, a], [, b]) => a - b)
      .map(([one]) => one);
  }

  /** A text with emoji in place of their short names, such as :tada:, but for what stands in code. */
  filled(text, tone) {
    return changeOutsideCode(text, SHORT_NAME, (whole, name) => {
      const one = this.#byShortName.get(name);
      return one ? toned(one, tone) : whole;
    });
  }
}

const WORDS = 1000;
const WITHIN = 2000;

/** The place of an emoji among what is found: the lower the better, 0 if it isn't what is asked for. */
function rank({ shortNames, name, terms }, asked, words) {
  const label = name.toLowerCase();
  if (shortNames.includes(asked) || label === asked) return 1;
  const beginning = [...shortNames, label].filter((one) => one.startsWith(asked));
  if (beginning.length) return 1 + Math.min(...beginning.map(({ length }) => length));
  if (words.every((word) => terms.some((term) => term.startsWith(word)))) return WORDS;
  return words.every((word) => terms.some((term) => term.includes(word))) ? WITHIN : 0;
}

async function load() {
  const codes = [...new Set([language(), "en"])];
  const [set, ...tables] = await Promise.all(
    ["set", ...codes].map(async (name) => (await import(`../emoji/${name}.js`)).default.split("\n")),
  );
  const groups = [];
  let at = 0;
  for (const line of set) {
    if (line.startsWith("= ")) groups.push({ name: line.slice(2), all: [] });
    else groups.at(-1).all.push(entry(line, tables.map((table) => table[at])), at++);
  }
  // What the browser doesn't know yet is left out, for nobody could see it.
  for (const group of groups) group.all = group.all.filter(({ emoji }) => KNOWN.test(emoji));
  return new EmojiSet(groups);
}

/** An emoji from its line of the set and of each language; the first is the one in use. */
function entry(line, tables) {
  const [mark, ...shortNames] = line.split(" ");
  const hasTones = mark.endsWith("+");
  const words = tables.map((table) => table.split("|"));
  const terms = [...shortNames, ...words.flat()].flatMap((one) => one.toLowerCase().split(/[\s_:,]+/));
  return { emoji: hasTones ? mark.slice(0, -1) : mark, hasTones, name: words[0][0], shortNames, terms };
}
