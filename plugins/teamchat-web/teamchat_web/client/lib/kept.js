// What the browser keeps between visits: small JSON values in localStorage, under a prefix. Where there is
// no localStorage (private windows, a full disk), values live as long as the page.

export class Kept {
  #prefix;
  #memory = new Map();

  /** @param {string} prefix keeps the names of one part from those of another */
  constructor(prefix) {
    this.#prefix = prefix;
  }

  /** The value kept under a name, or `fallback`. */
  get(key, fallback = null) {
    const name = this.name(key);
    try {
      const text = this.#memory.get(name) ?? localStorage.getItem(name);
      return text == null ? fallback : JSON.parse(text);
    } catch {
      return fallback;
    }
  }

  /** Keep a value that JSON can hold. */
  set(key, value) {
    const name = this.name(key);
    const text = JSON.stringify(value);
    try {
      localStorage.setItem(name, text);
      this.#memory.delete(name);
    } catch {
      this.#memory.set(name, text);
    }
  }

  /** Forget a value. */
  delete(key) {
    const name = this.name(key);
    this.#memory.delete(name);
    try {
      localStorage.removeItem(name);
    } catch {
      // There was nothing to forget.
    }
  }

  /** The names of all that is kept under the prefix, or of those of them that begin with `start`. */
  keys(start = "") {
    const names = new Set(this.#memory.keys());
    try {
      for (const name of Object.keys(localStorage)) names.add(name);
    } catch {
      // What is in memory is all there is.
    }
    const whole = this.name(start);
    const own = [...names].filter((name) => name.startsWith(whole));
    return own.map((name) => name.slice(this.name("").length));
  }

  /** Forget everything under the prefix. */
  clear() {
    for (const key of this.keys()) this.delete(key);
  }

  /**
   * Call `listener(key)` when another tab keeps, changes or forgets something; null means all of it.
   * @param {function(?string): void} listener
   * @param {AbortSignal} [signal]
   */
  onChange(listener, signal) {
    const heard = ({ key, storageArea }) => {
      if (storageArea !== globalThis.localStorage) return;
      if (key === null) listener(null);
      else if (key.startsWith(this.name(""))) listener(key.slice(this.name("").length));
    };
    addEventListener("storage", heard, { signal });
  }

  /** Wait until another tab changes what is kept under a name, or for so many milliseconds. */
  changed(key, ms) {
    const over = new AbortController();
    return new Promise((resolve) => {
      this.onChange((name) => (name === key || name === null) && resolve(), over.signal);
      setTimeout(resolve, ms);
    }).finally(() => over.abort());
  }

  /** The name in localStorage. */
  name(key) {
    return `${this.#prefix}/${key}`;
  }
}
