// The dev mode: an email is all it takes (interface, part 5 rule 1).

import { t } from "../../lib/strings.js";
import { form } from "../form.js";
import { emailField } from "./fields.js";
import { withCode } from "./second_factor.js";

/** The screen of the dev mode. */
export function dev(frame, { email, ...said }) {
  const sign = form({
    fields: [emailField({ value: email })],
    action: t("sign_in.action"),
    send: (values) =>
      withCode(frame, {
        send: (code) => frame.ctx.api.devLogin(values.email, code),
        done: ({ token }) => frame.begin({ accessToken: token }),
      }),
    explain: ({ status }) => status === 401 && { field: "email", text: t("sign_in.not_invited") },
  });
  const content = [sign, frame.otherWays()];
  return { title: t("sign_in.title"), lead: t("sign_in.dev_lead"), ...said, content };
}
