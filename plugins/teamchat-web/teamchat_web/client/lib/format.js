// Times and sizes as people write them who speak the page's language, in the browser's country if it tells
// one.
// Times are epoch milliseconds.

import { language, t } from "./strings.js";

const DAY_MS = 86_400_000;
const UNITS = ["byte", "kilobyte", "megabyte", "gigabyte"];
const made = new Map();
const locale = navigator.languages?.find((tag) => tag.split("-")[0] === language()) ?? language();

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

/** A number of bytes, in the unit that fits. */
export function size(bytes) {
  const step = Math.min(UNITS.length - 1, Math.floor(Math.log2(Math.max(1, bytes)) / 10));
  const style = { style: "unit", unit: UNITS[step], unitDisplay: "short", maximumFractionDigits: 1 };
  return new Intl.NumberFormat(locale, style).format(bytes / 1024 ** step);
}

function dates(style) {
  const key = JSON.stringify(style);
  if (!made.has(key)) made.set(key, new Intl.DateTimeFormat(locale, style));
  return made.get(key);
}

function midnight(ms) {
  return new Date(ms).setHours(0, 0, 0, 0);
}
