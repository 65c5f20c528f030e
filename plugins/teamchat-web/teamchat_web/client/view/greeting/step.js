// A step of a greeting.

import { t } from "../../lib/strings.js";

/**
 * @param {string} name of its words
 * @param {string} sign of its icon
 * @param {() => boolean} isDone
 * @param {() => void} open what a press does
 */
export function step(name, sign, isDone, open) {
  return { sign, title: t(`greeting.${name}`), lead: t(`greeting.${name}_lead`), isDone, open };
}
