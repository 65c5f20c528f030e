// Telling others what has changed, without knowing them. A listener that throws is reported to the console
// and keeps nobody else from being told.

export class Emitter {
  #listeners = new Map();

  /**
   * Call `listener` with the detail of every event of this type, until the returned function is called or
   * `signal` is aborted.
   * @param {string} type
   * @param {function(*): void} listener
   * @param {AbortSignal} [signal]
   * @returns {function(): void}
   */
  on(type, listener, signal) {
    if (signal?.aborted) return () => {};
    if (!this.#listeners.has(type)) this.#listeners.set(type, new Set());
    const all = this.#listeners.get(type);
    const entry = { listener };
    const off = () => all.delete(entry);
    all.add(entry);
    signal?.addEventListener("abort", off, { once: true });
    return off;
  }

  /** Whether anybody listens for this type. */
  has(type) {
    return Boolean(this.#listeners.get(type)?.size);
  }

  /** Tell everyone who listens for this type. */
  emit(type, detail) {
    for (const { listener } of [...(this.#listeners.get(type) ?? [])]) {
      try {
        listener(detail);
      } catch (error) {
        reportError(error);
      }
    }
  }
}
