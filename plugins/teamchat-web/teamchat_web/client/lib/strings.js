// The words of the page, in the language that was chosen or, if none was, the browser's; and times as
// people write them who speak it, in the browser's country if it tells one. The table of words is asked
// for as soon as this module runs (the index runs it first, so the table comes along with the modules and not
// after them); `main.js` waits for `hasWords` and shows nothing before. It is not awaited here: WebKit never
// runs a module that imports one which is still waiting for something. Another language is another table: the
// page is then loaded anew, for views have their words already.

import { Kept } from "./kept.js";

/** The languages there are, by code, each in its own words. */
export const languages = { en: "English", de: "Deutsch" };

const DAY_MS = 86_400_000;

const kept = new Kept("teamchat");
const code = chosen();
/** The language as people write it in the country of the browser, such as "en-GB". */
export const locale = navigator.languages?.find((tag) => tag.split("-")[0] === code) ?? code;
const formats = new Map();
let table = {};
const plural = new Intl.PluralRules(code);
document.documentElement.lang = code;

/** Resolves once `t` has its words. */
export const hasWords = import(`../strings/${code}.js`).then((module) => {
  table = module.default;
});

/** The code of the language in use, such as "en". */
export function language() {
  return code;
}

/** Make more words known; see `more_strings.js`. */
export function addWords(more) {
  Object.assign(table, more);
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

// Times are epoch milliseconds.

/** The time of day, such as 14:05. */
export function time(ms) {
  return dates({ timeStyle: "short" }).format(ms);
}

/** The day: today, yesterday, or its date. */
export function day(ms) {
  const days = Math.round((midnight(Date.now()) - midnight(ms)) / DAY_MS);
  if (days === 0) return t("time.today");
  if (days === 1) return t("time.yesterday");
  const year = new Date(ms).getFullYear() === new Date().getFullYear() ? undefined : "numeric";
  return dates({ weekday: "long", day: "numeric", month: "long", year }).format(ms);
}

/** Day and time, in full. */
export function dateTime(ms) {
  return dates({ dateStyle: "medium", timeStyle: "short" }).format(ms);
}

function chosen() {
  const wanted = [kept.get("language"), ...(navigator.languages ?? []).map((tag) => tag.slice(0, 2))];
  return wanted.find((one) => Object.hasOwn(languages, one)) ?? "en";
}

function dates(style) {
  const key = JSON.stringify(style);
  if (!formats.has(key)) formats.set(key, new Intl.DateTimeFormat(locale, style));
  return formats.get(key);
}

function midnight(ms) {
  return new Date(ms).setHours(0, 0, 0, 0);
}
