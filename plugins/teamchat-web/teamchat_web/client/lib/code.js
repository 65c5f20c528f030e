// What of a text stands in code, as the renderer sees it: the text is rendered with marks in it, and what
// code they come to stand in is looked up.

import { render } from "./markdown.js";

const MARK = "\uE000"; // for private use: nobody writes it
const MARKS = /\uE000(\d+)\uE000/g;

/**
 * A text with what matches a pattern changed, but for what stands in code.
 * @param {string} text
 * @param {RegExp} pattern a global one
 * @param {(whole: string, ...groups: string[]) => string} change
 */
export function changeOutsideCode(text, pattern, change) {
  if (text.includes(MARK)) return text;
  let count = 0;
  const inCode = marksInCode(text.replace(pattern, () => mark(count++)));
  let at = 0;
  return text.replace(pattern, (...match) => (inCode.has(at++) ? match[0] : change(...match)));
}

/** Whether what is typed at the end of a text stands in code, be it code that isn't closed yet. */
export function endsInCode(text) {
  const opened = text.match(/`+/g)?.at(-1);
  return opened !== undefined && marksInCode(text + mark(0) + opened).has(0);
}

const mark = (number) => `${MARK}${number}${MARK}`;

function marksInCode(text) {
  const code = [...render(text).querySelectorAll("code")].map(({ textContent }) => textContent).join("");
  return new Set([...code.matchAll(MARKS)].map(([, number]) => Number(number)));
}
