// Words to copy, such as a token or an address.

import { element } from "../lib/dom.js";
import "../lib/more_strings.js";
import { t } from "../lib/strings.js";
import { openDialog } from "./dialog.js";

/** The words below their label, with a button that copies them. */
export function copyable(label, text) {
  const said = element("span", { class: "visually-hidden", role: "status" });
  const button = element("button", { class: "button button-small", type: "button" }, t("common.copy"));
  const shown = element("pre", { class: "token", role: "region", "aria-label": label }, text);
  button.ariaLabel = `${t("common.copy")}: ${label}`;
  button.addEventListener("click", async () => {
    const isCopied = await copied(text);
    if (!isCopied) getSelection().selectAllChildren(shown);
    said.textContent = button.textContent = t(isCopied ? "common.copied" : "common.selected");
  });
  return element(
    "div",
    { class: "field" },
    element("div", { class: "spread" }, element("strong", {}, label), button),
    shown,
    said,
  );
}

/** Copy, where the browser lets the page: without TLS it does not, and it may ask. */
export async function copied(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}

/** Copy a text and say so, or where the browser doesn't let the page, show it to be copied. */
export async function copyOrShow(ctx, text, { title, done }) {
  if (await copied(text)) return ctx.toast(done);
  return openDialog(ctx, { title }, element("div", { class: "dialog-body" }, copyable(title, text)));
}
