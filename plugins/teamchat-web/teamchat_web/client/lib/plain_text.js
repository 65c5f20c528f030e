// A message's text as it is read out or shown where there is no markup: the words without the marks.

import { render } from "./markdown.js";

const BLOCKS = "p, li, pre, blockquote, ul, ol";

/**
 * @param {string} text as it was written
 * @returns {string} a line for each line and each item
 */
export function plainText(text) {
  const nodes = render(text);
  for (const line of nodes.querySelectorAll("br")) line.replaceWith("\n");
  for (const block of nodes.querySelectorAll(BLOCKS)) block.before("\n");
  return nodes.textContent.replace(/\n{2,}/g, "\n").trim();
}
