// Setting a password by a link from a mail: an invitation or a reset (interface, part 5 rules 4 and 7).
//
// The email stands in the form though it can't be changed, so that a password manager
// keeps the new password under it.

import { t } from "../../lib/strings.js";
import { form } from "../form.js";
import { emailField, newPasswordFields } from "./fields.js";
import { forgot } from "./forgot.js";
import { line } from "./links.js";
import { withCode } from "./second_factor.js";

/** The screen that both kinds of links lead to. */
export function setPassword(frame, { token, email, mode }) {
  const kind = mode === "reset" ? "reset" : "setup";
  const set = form({
    fields: [emailField({ value: email, readonly: true }), ...newPasswordFields()],
    action: t("sign_in.setup_action"),
    send: ({ password }) =>
      withCode(frame, {
        send: (code) => frame.ctx.api.setupPassword(email, token, password, code),
        done: frame.begin,
      }),
    explain: (error) => refused(frame, error, email, kind),
  });
  const content = [set, line(t("sign_in.back"), () => frame.start({ email }))];
  return { title: t(`sign_in.${kind}_title`), lead: t(`sign_in.${kind}_lead`), content };
}

/** A link that does not work leads to where a new one can be had. */
function refused(frame, { status, message }, email, kind) {
  if (status !== 400) return null;
  if (message.startsWith("password")) return { field: "password", text: message };
  const canAsk = kind === "reset" && frame.ctx.config.HAS_EMAIL;
  if (canAsk) frame.show(forgot, { email, problem: t("sign_in.link_bad") });
  else frame.start({ email, problem: t("sign_in.setup_bad") });
  return null;
}
