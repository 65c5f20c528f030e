// The words of the page, in the language that was chosen or, if none was, the browser's. The table is
// loaded before any module that imports this one runs, so `t` answers at once. Another language is another
// table: the page is then loaded anew, for views have their words already.

import { Kept } from "./kept.js";

/** The languages there are, by code, each in its own words. */
export const languages = { en: "English", de: "Deutsch" };

const kept = new Kept("teamchat");
const code = chosen();
const { default: table } = await import(`../strings/${code}.js`);
const plural = new Intl.PluralRules(code);
document.documentElement.lang = code;

/** The code of the language in use, such as "en". */
export function language() {
  return code;
}

/** Make more words known; see `more_strings.js`. */
export function addWords(more) {
  Object.assign(table, more);
}

/** Keep the choice of a language and load the page anew in it. */
export function setLanguage(chosenCode) {
  kept.set("language", chosenCode);
  location.reload();
}

/**
 * The words for a key, with "{name}" filled in from `values`. Words that depend on a number are
 * `{one, other}` in the table, and picked by `values.count`.
 * @param {string} key
 * @param {object} [values]
 * @returns {string} the key itself where there are no words for it
 */
export function t(key, values = {}) {
  const found = table[key] ?? key;
  const words = typeof found === "string" ? found : found[plural.select(values.count)] ?? found.other;
  return words.replace(/\{(\w+)\}/g, (whole, name) => values[name] ?? whole);
}

function chosen() {
  const wanted = [kept.get("language"), ...(navigator.languages ?? []).map((tag) => tag.slice(0, 2))];
  return wanted.find((one) => Object.hasOwn(languages, one)) ?? "en";
}
