// Light or dark: as the system says, unless this browser was told otherwise.

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

/** Show the choice; called once at the start. `style/tokens.css` knows the attribute. */
export function applyTheme() {
  document.documentElement.dataset.theme = theme();
}
