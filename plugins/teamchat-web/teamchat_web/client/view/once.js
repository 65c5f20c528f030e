// What is shown only once, such as a new token: its dialog stays until somebody says that they have kept it.

import { element, replace } from "../lib/dom.js";
import "../lib/more_strings.js";
import { t } from "../lib/strings.js";

/**
 * Ask the server for something that it tells once, and show it. Nothing is asked while something is still held.
 * @param {{hold: function(?function(): void): void, mayLeave?: function(): boolean}} dialog
 * @param {{ask: function(): Promise, show: function(object, Node): void}} about `show` gets the answer, and a node
 *   that goes below it; all else as with `keepFirst`
 */
export async function showOnce(dialog, { ask, show, ...about }) {
  if (dialog.mayLeave?.() === false) return;
  dialog.hold(() => {});
  let answer;
  try {
    answer = await ask();
  } catch (error) {
    dialog.hold(null);
    throw error;
  }
  show(answer, keepFirst(dialog, about));
}

/**
 * Hold a dialog, and make the button that lets go of it.
 * @param {{hold: function(?function(): void): void}} dialog
 * @param {{done: function(): void, action?: string, reminder?: string}} about `done` is called when it was kept; the
 *   reminder is told to who wants to leave before
 * @returns {HTMLElement}
 */
export function keepFirst({ hold }, { done, action = t("once.kept"), reminder = t("once.keep_first") }) {
  const kept = element("button", { class: "button button-primary", type: "button" }, action);
  const unkept = element("p", { class: "note", role: "alert", hidden: true });
  const box = element("div", { class: "stack" }, unkept, element("div", {}, kept));
  const leaving = new AbortController();
  hold(() => {
    replace(unkept, reminder).hidden = false;
    kept.focus();
  });
  // A session may end elsewhere, and all that was shown with it.
  const stay = (event) => box.isConnected && event.preventDefault();
  addEventListener("beforeunload", stay, { signal: leaving.signal });
  kept.addEventListener("click", () => {
    leaving.abort();
    hold(null);
    done();
  });
  return box;
}
