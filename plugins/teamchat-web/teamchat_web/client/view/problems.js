// What went wrong, said where it did: beside a field, above a list. The words are those of `notices.js`.

import { wait, words } from "./notices.js";

const SECOND_MS = 1000;

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
  if (error.status === 429) countDown(place, Date.now() + (error.retryAfter ?? 1)

* SECOND_MS);
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
