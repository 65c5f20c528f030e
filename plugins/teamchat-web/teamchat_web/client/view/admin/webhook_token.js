// The token of a new webhook.
//
// It is shown in this dialog alone and kept nowhere, so the dialog stays until somebody says that they have
// kept it. The name of the webhook stands nowhere in the command, which people paste into a shell.

import { element } from "../../lib/dom.js";
import { t } from "../../lib/strings.js";
import { copyable } from "../copyable.js";
import { openDialog } from "../dialog.js";
import { keepFirst } from "../once.js";

/** Show the token and a command that posts with it. */
export function showToken(ctx, { id, name, token }) {
  const body = element(
    "div",
    { class: "dialog-body stack" },
    element("p", {}, t("admin.webhook_once")),
    copyable(t("admin.webhook_token"), token),
    copyable(t("admin.webhook_example"), command(ctx.config, id, token)),
  );
  const dialog = openDialog(ctx, { title: t("admin.webhook_made", { name }), isLasting: true }, body);
  const keep = keepFirst(dialog, { done: dialog.close, action: t("admin.webhook_done") });
  body.append(keep);
  keep.querySelector("button").focus();
}

function command({ API_BASE_URL }, id, token) {
  const base = new URL(API_BASE_URL || ".", document.baseURI).href.replace(/\/$/, "");
  const body = JSON.stringify({ content: t("admin.webhook_hello") });
  return [
    `curl ${base}/webhooks/${id}/messages \\`,
    `  -H "Authorization: Bearer ${token}" \\`,
    `  -H "Content-Type: application/json" \\`,
    `  -d '${body}'`,
  ].join("\n");
}
