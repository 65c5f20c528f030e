// Style sheets that the first screen does without, loaded with the view that needs them.
import { element } from "../lib/dom.js";

const loading = new Map();

/**
 * Loads `style/NAME.css` once.
 * @param {string} name
 * @returns {Promise<void>} when it is in effect, or can't be
 */
export function sheet(name) {
  if (!loading.has(name)) {
    loading.set(
      name,
      new Promise((resolve) => {
        const href = new URL(`../style/${name}.css`, import.meta.url).href;
        document.head.append(
          element("link", { rel: "stylesheet", href, on: { load: resolve, error: resolve } }),
        );
      }),
    );
  }
  return loading.get(name);
}
