// The keys of the client, and how texts are formatted, as people can read them. What stands here is what the views
// listen to: a key that is added there is added here.
import { element } from "../lib/dom.js";
import "../lib/more_strings.js";
import { t } from "../lib/strings.js";
import { openDialog } from "./dialog.js";
import { added } from "./extensions/registry.js";
import { needsSheets } from "./sheet.js";

needsSheets("overlays");

const COMMAND = /Mac|iPhone|iPad/.test(navigator.platform) ? "⌘" : t("sidebar.ctrl");
const GROUPS = {
  everywhere: {
    palette: [`${COMMAND} K`],
    next: ["Alt ↓", "Alt ↑"],
    next_unread: ["Alt ⇧ ↓", "Alt ⇧ ↑"],
    all_read: ["⇧ Esc"],
    close: ["Esc"],
    help: ["?"],
  },
  writing: {
    send: ["Enter"],
    line: ["⇧ Enter"],
    edit_last: ["↑"],
    complete: ["@", ":"],
    messages: ["⇧ Tab"],
    read: ["Esc"],
  },
  formatting: {
    bold: [`${COMMAND} B`, "**…**"],
    italic: [`${COMMAND} I`, "_…_"],
    struck: [`${COMMAND} ⇧ X`, "~~…~~"],
    code: [`${COMMAND} ⇧ C`, "`…`"],
    block: ["```"],
    quote: [">"],
    list: ["-", "1."],
    link: ["[…](https://…)"],
  },
  messages: {
    move: ["↑", "↓"],
    ends: ["Home", "End"],
    react: ["R"],
    thread: ["T"],
    unread: ["U"],
    link: ["L"],
    copy: ["C"],
    edit: ["E"],
    delete: ["Delete"],
    back: ["Esc"],
  },
};

/** Opens the list of keys. */
export function openShortcuts(ctx) {
  if (document.querySelector("dialog[open]")) return;
  const groups = Object.entries(GROUPS).map(([group, all]) => [
    element("h3", {}, t(`shortcuts.${group}`)),
    element(
      "dl",
      {},
      Object.entries(all).map(([name, keys]) => row(t(`shortcuts.${group}_${name}`), keys)),
      group === "messages" && extensions(ctx),
    ),
  ]);
  openDialog(
    ctx,
    { title: t("shortcuts.title"), kind: "shortcuts" },
    element(
      "div",
      { class: "dialog-body", tabindex: "0", role: "region", "aria-label": t("shortcuts.title") },
      groups,
    ),
  );
}

/** The keys of what capabilities have added. */
function extensions(ctx) {
  const tools = added(ctx, "messageTools").filter(({ keys, keyHelp }) => keys.length && keyHelp);
  return tools.map(({ keys, keyHelp }) => row(keyHelp, [keys[0].toUpperCase()]));
}

function row(words, keys) {
  return element(
    "div",
    {},
    element("dt", {}, words),
    element(
      "dd",
      {},
      keys.flatMap((key) => [" ", key.split(" ").map((part) => element("kbd", {}, part))]),
    ),
  );
}
