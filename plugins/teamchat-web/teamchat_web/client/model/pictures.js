// Images of the server, as addresses for <img>: they need the access token, so they are fetched and shown as
// blobs. The last few hundred are held.

import { part } from "../lib/parts.js";

const MOST_ADDRESSES = 200;

export class Pictures {
  #api;
  #addresses = new Map();

  constructor(api) {
    this.#api = api;
  }

  /** Make a file ready for `api.upload`; see `prepare.js`. */
  async prepare(file) {
    return (await part(import("./prepare.js"))).prepare(file);
  }

  /**
   * An address that shows an image, for as long as it is among the last few hundred asked for.
   * @returns {Promise<string>}
   */
  url(place, filename, { thumb = false } = {}) {
    const key = `${place.id}/${filename}${thumb ? "?thumb" : ""}`;
    const address = this.#addresses.get(key) ?? this.#fetch(key, place, filename, thumb);
    this.#addresses.delete(key);
    this.#addresses.set(key, address);
    while (this.#addresses.size > MOST_ADDRESSES) this.#revoke(this.#addresses.keys().next().value);
    return address;
  }

  /** Let go of all images. */
  clear() {
    this.forgetAt("");
  }

  /** Let go of the images of a place. */
  forgetAt(placeId) {
    const start = placeId && `${placeId}/`;
    for (const key of [...this.#addresses.keys()]) if (key.startsWith(start)) this.#revoke(key);
  }

  async #fetch(key, place, filename, thumb) {
    try {
      return URL.createObjectURL(await this.#api.image(place, filename, { thumb }));
    } catch (error) {
      this.#addresses.delete(key);
      throw error;
    }
  }

  #revoke(key) {
    const address = this.#addresses.get(key);
    this.#addresses.delete(key);
    address.then(URL.revokeObjectURL, () => {});
  }
}
