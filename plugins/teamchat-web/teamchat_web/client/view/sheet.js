// Style sheets that the first screen does without, loaded with the part that needs them.
import { element } from "../lib/dom.js";
import { needs } from "../lib/parts.js";

const loading = new Map();

/** Have `style/NAME.css` in effect, where it can be had, before the running module is used (lib/parts.js). */
export function needsSheets(...names) {
  needs(() => Promise.all(names.map((name) => loadSheet(sheet(name)))));
}

/** The address of a style sheet of the client's own. */
export function sheet(name) {
  return new URL(`../style/${name}.css`, import.meta.url).href;
}

/** Loads a style sheet once; resolves when it is in effect, or can't be. */
export function loadSheet(href) {
  if (!loading.has(href)) {
    loading.set(
      href,
      new Promise((resolve) => {
        document.head.append(
          element("link", { rel: "stylesheet", href, on: { load: resolve, error: resolve } }),
        );
      }),
    );
  }
  return loading.get(href);
}
