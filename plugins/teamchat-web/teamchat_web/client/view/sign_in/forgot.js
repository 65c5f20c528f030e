// A forgotten password: have a link sent (interface, part 5 rule 7). What is said afterwards is the same
// whether or not there is an account.

import { t } from "../../lib/strings.js";
import { form } from "../form.js";
import { emailField } from "./fields.js";
import { line } from "./links.js";

/** The screen that has a link sent. */
export function forgot(frame, { email, ...said }) {
  const ask = form({
    fields: [emailField({ value: email })],
    action: t("sign_in.forgot_action"),
    send: async (values) => {
      await frame.ctx.api.requestReset(values.email);
      frame.show(sent, { email: values.email });
    },
    explain: ({ status, message }) => status === 400 && { field: "email", text: message },
  });
  const content = [ask, line(t("sign_in.back"), () => frame.start({ email }))];
  return { title: t("sign_in.forgot_title"), lead: t("sign_in.forgot_lead"), ...said, content };
}

function sent(frame, { email }) {
  const content = line(t("sign_in.back"), () => frame.start({ email }));
  return { title: t("sign_in.sent_title"), lead: t("sign_in.forgot_sent", { email }), content };
}
