// Magic links: ask for one, wait for the mail, come back by it (interface, part 5 rule 2).
//
// What is said after asking is the same whether or not there is an account. A link is
// spent by a press of the button and not by being opened, for mail scanners open links too, and so that
// nobody is signed in as somebody else without seeing it.

import { t } from "../../lib/strings.js";
import { form } from "../form.js";
import { emailField } from "./fields.js";
import { line } from "./links.js";
import { withCode } from "./second_factor.js";

/** The screen that asks for a link. */
export function magicLink(frame, { email, ...said }) {
  const ask = form({
    fields: [emailField({ value: email })],
    action: t("sign_in.link_action"),
    send: async (values) => {
      await frame.ctx.api.login(values.email);
      frame.show(sent, { email: values.email });
    },
    explain: ({ status, message }) => status === 400 && { field: "email", text: message },
  });
  const content = [ask, frame.otherWays()];
  return { title: t("sign_in.title"), lead: t("sign_in.link_lead"), ...said, content };
}

/** The screen that a link leads to. */
export function magicLinkLanding(frame, { token, email }) {
  const enter = form({
    fields: [],
    action: t("sign_in.action"),
    send: () =>
      withCode(frame, { send: (code) => frame.ctx.api.verify(email, token, code), done: frame.begin }),
    explain: ({ status }) => {
      if (status === 400) frame.start({ email, problem: t("sign_in.link_bad") });
    },
  });
  const content = [enter, line(t("sign_in.other_email"), () => frame.start())];
  return { title: t("sign_in.landing_title"), lead: t("sign_in.landing_lead", { email }), content };
}

/** “Check your mail.” */
function sent(frame, { email, notice = t("sign_in.sent_hint") }) {
  const again = form({
    fields: [],
    action: t("sign_in.sent_again"),
    kind: "plain",
    send: async () => {
      await frame.ctx.api.login(email);
      frame.show(sent, { email, notice: t("sign_in.sent_resent") });
    },
  });
  const content = [again, line(t("sign_in.other_email"), () => frame.start())];
  return { title: t("sign_in.sent_title"), lead: t("sign_in.sent_lead", { email }), notice, content };
}
