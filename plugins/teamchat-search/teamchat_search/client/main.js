// Search in the web client: a line above the channels, a button in the head of a room, a line of the palette, and a key
// lead to one dialog, which knows what was searched for last.

import { openSearch } from "./dialog.js";

const GLASS = "M11 4a7 7 0 1 0 0 14 7 7 0 0 0 0-14zM16 16l4.5 4.5";

export default function (teamchat) {
  const { t, signal } = teamchat;
  const last = { query: "", sort: "recent" };
  const open = (query) => openSearch(teamchat, last, query);
  teamchat.addIcon("glass", GLASS);

  teamchat.sidebar.add({ icon: "glass", label: t("title"), run: () => open() });
  teamchat.palette.add({ icon: "glass", label: t("title"), run: () => open() });
  teamchat.roomHeader.add({ icon: "glass", label: t("here"), run: (room) => open(`${within(room)} `) });
  document.addEventListener("keydown", (event) => isKey(event) && (event.preventDefault(), open()), { signal });
}

/** What narrows a search to one room. */
function within({ kind, id, title }) {
  return kind === "channel" && title && !title.includes('"') ? quoted("in", `#${title}`) : `in:${id}`;
}

function quoted(name, operand) {
  return /\s/.test(operand) ? `${name}:"${operand}"` : `${name}:${operand}`;
}

/** Slash where nobody writes, or Ctrl Shift F anywhere. */
function isKey({ key, ctrlKey, metaKey, altKey, shiftKey, target }) {
  if (altKey || document.querySelector("dialog[open]")) return false;
  if (ctrlKey || metaKey) return shiftKey && key.toLowerCase() === "f";
  return key === "/" && !target.closest?.("input, textarea, select");
}
