// Signing out of this browser, and leaving the server for good.

import { Account } from "../../api/account.js";
import { element } from "../../lib/dom.js";
import { t } from "../../lib/strings.js";
import { confirm } from "../dialog.js";
import { words } from "../notices.js";

/** The section. */
export function account(ctx) {
  const out = element("button", { class: "button", type: "button" }, t("settings.sign_out"));
  const leave = element("button", { class: "button button-danger", type: "button" }, t("settings.leave"));
  out.addEventListener("click", () => ctx.session.end());
  leave.addEventListener("click", () => ask(ctx));
  const said = element("p", { class: "soft" }, t("settings.leave_lead"));
  return [
    element("p", { class: "soft" }, t("settings.signed_in_as", { email: ctx.model.me.email })),
    element("div", {}, out),
    element("hr", {}),
    said,
    element("div", {}, leave),
  ];
}

async function ask(ctx) {
  const isGone = await confirm(ctx, {
    title: t("settings.leave_title"),
    lead: t("settings.leave_lead"),
    action: t("settings.leave"),
    act: () => new Account(ctx.api, ctx.session).exit(),
    explain: (error) => (error.status === 400 ? t("settings.leave_last") : words(error)),
  });
  if (isGone) ctx.session.forget("left");
}
