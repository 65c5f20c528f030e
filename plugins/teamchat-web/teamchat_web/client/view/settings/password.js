// One's own password, where passwords sign in.

import { element } from "../../lib/dom.js";
import { t } from "../../lib/strings.js";
import { passwordForm } from "../own_password.js";

/** The section. */
export function password(ctx, dialog) {
  const done = (form) => {
    form.reset();
    dialog.say(t("password.changed"));
  };
  const lead = element("p", { class: "soft" }, t("password.others_end"));
  return [lead, passwordForm(ctx, ctx.model.me.email, null, done)];
}
