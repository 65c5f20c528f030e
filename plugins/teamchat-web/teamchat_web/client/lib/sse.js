// Reading server-sent events out of text that arrives in pieces (HTML standard, section 9.2.6).

export class EventReader {
  #rest = "";
  #data = [];
  #id = "";
  #retry = 0;

  /** Milliseconds to wait before coming back, as the server last said; 0 if it did not. */
  get retry() {
    return this.#retry;
  }

  /**
   * Take a piece of the stream and return the events it completes.
   * @param {string} text
   * @returns {{id: string, data: string}[]}
   */
  push(text) {
    const lines = (this.#rest + text).split(/\r\n|\n|\r(?!$)/);
    this.#rest = lines.pop();
    return lines.flatMap((line) => this.#line(line));
  }

  #line(line) {
    if (line === "") return this.#finish();
    const [, field, value] = /^([^:]*):? ?(.*)$/.exec(line);
    if (field === "data") this.#data.push(value);
    if (field === "id") this.#id = value;
    if (field === "retry" && /^\d+$/.test(value)) this.#retry = Number(value);
    return [];
  }

  #finish() {
    if (!this.#data.length) return [];
    const event = { id: this.#id, data: this.#data.join("\n") };
    this.#data = [];
    return [event];
  }
}
