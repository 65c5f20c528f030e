// How long to wait before trying again: longer each time, never at the same moment as everybody else, and no
// longer than the server asked for once the network is back or somebody looks at the page.

const FIRST_MS = 500;
const MOST_MS = 30_000;

export class Backoff {
  #tries = 0;
  #hurries = new Set();

  /** How often there has been a wait since the last success. */
  get tries() {
    return this.#tries;
  }

  /** It worked: the next wait is short again. */
  reset() {
    this.#tries = 0;
  }

  /** End the waits that are under way, save those the server asked for. */
  hurry() {
    for (const hurry of [...this.#hurries]) hurry();
  }

  /**
   * Wait for the next try.
   * @param {AbortSignal} signal ends the wait; whoever waits looks at it afterwards
   * @param {number} [least] milliseconds the server asked for
   */
  wait(signal, least = 0) {
    const most = Math.min(MOST_MS, FIRST_MS * 2 ** this.#tries++);
    const delay = Math.max(least, most * (0.5 + Math.random() / 2));
    const earliest = Date.now() + least;
    return new Promise((resolve) => {
      const watch = new AbortController();
      const end = () => {
        clearTimeout(timer);
        watch.abort();
        this.#hurries.delete(hurry);
        resolve();
      };
      const hurry = () => Date.now() >= earliest && end();
      const timer = setTimeout(end, delay);
      const seen = () => document.hidden || hurry();
      this.#hurries.add(hurry);
      addEventListener("online", hurry, { signal: watch.signal });
      document.addEventListener("visibilitychange", seen, { signal: watch.signal });
      signal.addEventListener("abort", end, { signal: watch.signal });
      if (signal.aborted) end();
    });
  }
}
