// What went wrong, in words. The server's own sentence is shown only where the page knows nothing better:
// it is in English, and written for whoever writes clients.

import { Unreachable } from "../api/http.js";
import { t } from "../lib/strings.js";

const SECOND_MS = 1000;

/**
 * An error in the words of the page.
 * @param {Error} error
 * @returns {string}
 */
export function words(error) {
  if (error instanceof Unreachable) return t("problem.unreachable");
  if (error.status === 429) return wait(error.retryAfter);
  if (error.status < 500) return error.message;
  if (!error.status) reportError(error);
  return t("problem.server");
}

/**
 * Show an error; after a 429 count the seconds down and then take the words away. A countdown is read out
 * once and not every second.
 * @param {HTMLElement} place
 * @param {Error} error
 * @param {string} [said] other words than `words` has
 */
export function show(place, error, said = words(error)) {
  place.role = "alert";
  place.textContent = said;
  place.hidden = false;
  if (error.status === 429) countDown(place, Date.now() + (error.retryAfter ?? 1) * SECOND_MS);
}

function countDown(place, end) {
  const timer = setInterval(() => {
    const left = Math.ceil((end - Date.now()) / SECOND_MS);
    if (place.dataset.end !== String(end) || !place.isConnected) return clearInterval(timer);
    place.role = null;
    place.textContent = left > 0 ? wait(left) : "";
    place.hidden = left <= 0;
  }, SECOND_MS);
  place.dataset.end = end;
}

function wait(seconds) {
  return t("problem.wait", { count: seconds ?? 1 });
}
