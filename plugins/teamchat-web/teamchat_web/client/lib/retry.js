// To do again what failed: later each time (lib/backoff.js), and one wait at a time however often it fails.

import { Backoff } from "./backoff.js";

export class Retry {
  #backoff = new Backoff();
  #isWaiting = false;
  #act;
  #signal;

  /**
   * @param {() => void} act
   * @param {AbortSignal} signal ends it
   */
  constructor(act, signal) {
    this.#act = act;
    this.#signal = signal;
  }

  /** It worked. */
  worked() {
    this.#backoff.reset();
  }

  /** It failed, with an error that may say from when on to try again. */
  async failed({ retryAfter }) {
    if (this.#isWaiting) return;
    this.#isWaiting = true;
    await this.#backoff.wait(this.#signal, (retryAfter ?? 0) * 1000);
    this.#isWaiting = false;
    if (!this.#signal.aborted) this.#act();
  }
}
