// The keys that work wherever the focus is, besides the palette's: the list of shortcuts, the place above or
// below in the sidebar, and Escape for the drawer.

import { part } from "../lib/parts.js";

const STEPS = { ArrowUp: -1, ArrowDown: 1 };

/**
 * Listen to them for as long as the chat is there.
 * @param {object} ctx
 * @param {HTMLElement} side the sidebar
 * @param {{isOpen: () => boolean, close: () => void}} drawer what the sidebar is on phones
 */
export function catchKeys(ctx, side, drawer) {
  document.addEventListener("keydown", (event) => act(event) && event.preventDefault(), { signal: ctx.signal });

  /** Do what a key is for, and return whether it is for anything. */
  function act(event) {
    const isCommand = event.ctrlKey || event.metaKey;
    const isTyping = event.target.closest?.("input, textarea, select, dialog");
    const step = STEPS[event.key];
    if (event.key === "?" && !isCommand && !isTyping) explain(ctx);
    else if (event.altKey && step && !isCommand) goToNeighbour(side, step, event.shiftKey);
    else if (event.key === "Escape" && !isTyping && drawer.isOpen()) drawer.close();
    else return false;
    return true;
  }
}

async function explain(ctx) {
  (await part(import("./shortcuts.js"))).openShortcuts(ctx);
}

/** Go to the place above or below in the sidebar, or to the next one that way that has something unread. */
function goToNeighbour(side, by, isUnread) {
  const links = [...side.querySelectorAll("a")];
  const from = links.findIndex((link) => link.ariaCurrent);
  const row = [...links.slice(from + 1), ...links.slice(0, Math.max(from, 0))];
  if (by < 0) row.reverse();
  row.find((link) => !isUnread || link.classList.contains("unread"))?.click();
}
