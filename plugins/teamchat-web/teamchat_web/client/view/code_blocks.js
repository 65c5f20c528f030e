// Blocks of code in messages: a button on each copies what stands in it. It is there for who points at the block or
// has the focus in it, and no part of what the message is read out as.

import { element, icon } from "../lib/dom.js";
import "../lib/more_strings.js";
import { t } from "../lib/strings.js";
import { copied } from "./copyable.js";
import { needsSheets } from "./sheet.js";

needsSheets("tools");

/** Have the messages that are offered in a slot get them. */
export function offerCopying({ slots, toast }) {
  slots.watch((slot, article) => {
    if (slot !== "message") return;
    for (const block of article.querySelectorAll(".message-body pre")) dress(block, toast);
  });
}

function dress(block, toast) {
  const label = t("message.copy_code");
  const look = { type: "button", class: "icon-button", tabindex: block.tabIndex, "aria-label": label, title: label };
  const button = element("button", { ...look, on: { click: () => copy(block, toast) } }, icon("copy"));
  const holder = element("div", { class: "code-block" });
  block.replaceWith(holder);
  holder.append(block, button);
}

async function copy(block, toast) {
  const isCopied = await copied(block.textContent);
  if (!isCopied) getSelection().selectAllChildren(block);
  toast(t(isCopied ? "common.copied" : "common.selected"));
}
