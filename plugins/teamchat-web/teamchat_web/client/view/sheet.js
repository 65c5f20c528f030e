// Style sheets that the first screen does without, loaded with the part that needs them.
import { element } from "../lib/dom.js";
import { needs } from "../lib/parts.js";

const loading = new Map();

/** Have `style/NAME.css` in effect, where it can be had, before the running module is used (lib/parts.js). */
export function needsSheets(...names) {
  needs(() => Promise.all(names.map(sheet)));
}

/** Loads a style sheet once; resolves when it is in effect, or can't be. */
function sheet(name) {
  if (!loading.has(name)) {
    const href = new URL(`../style/${name}.css`, import.meta.url).href;
    loading.set(
      name,
      new Promise((resolve) => {
        document.head.append(
          element("link", { rel: "stylesheet", href, on: { load: resolve, error: resolve } }),
        );
      }),
    );
  }
  return loading.get(name);
}
