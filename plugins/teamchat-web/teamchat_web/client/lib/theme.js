// Light or dark: as the system says, unless this browser was told otherwise. `style/tokens.css` knows the
// attribute; the browser's own bars follow, for the page tells their colour once for each.

import { Kept } from "./kept.js";

const kept = new Kept("teamchat");

/** The choices. */
export const themes = ["system", "light", "dark"];

/** The choice that counts. */
export function theme() {
  const chosen = kept.get("theme");
  return themes.includes(chosen) ? chosen : "system";
}

/** Keep a choice and show it. */
export function setTheme(chosen) {
  kept.set("theme", chosen);
  applyTheme();
}

/** Show the choice; called at the start where one was made. */
export function applyTheme() {
  const chosen = theme();
  document.documentElement.dataset.theme = chosen;
  for (const colour of document.querySelectorAll("meta[name=theme-color]")) {
    const { theme: own } = colour.dataset;
    if (chosen === "system") colour.media = `(prefers-color-scheme: ${own})`;
    else colour.media = own === chosen ? "all" : "not all";
  }
}
