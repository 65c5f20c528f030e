// The second step of signing in: a code of an app, or a recovery code, where the server wants one (extension M-1).

import { t } from "../../lib/strings.js";
import { checks, field, form } from "../form.js";
import { line } from "./links.js";

/**
 * Send a sign-in; where a second factor is wanted, ask for its code and send it once more.
 * @param {object} frame
 * @param {{send: function(string=): Promise, done: function(object): void}} step `send` gets the code
 */
export async function withCode(frame, { send, done }) {
  let answer;
  try {
    answer = await send();
  } catch (error) {
    if (!wantsCode(error)) throw error;
    frame.show(secondFactor, { send, done });
    return;
  }
  done(answer);
}

/** The screen that asks for the code. */
export function secondFactor(frame, { send, done }) {
  const enter = form({
    fields: [codeField()],
    action: t("sign_in.action"),
    send: async ({ code }) => done(await send(code)),
    explain: (error) => {
      if (wantsCode(error)) return { field: "code", text: t("factor.wrong") };
      if (error.status === 400 || error.status === 401) frame.start({ problem: t("factor.anew") });
      return null;
    },
  });
  const content = [enter, line(t("sign_in.back"), () => frame.start())];
  return { title: t("factor.title"), lead: t("factor.lead"), content };
}

/** The field for a code; phones offer one that has come, and recovery codes have letters. */
export function codeField(hint = null) {
  return field({
    name: "code",
    label: t("factor.code"),
    hint,
    autocomplete: "one-time-code",
    autocapitalize: "off",
    spellcheck: "false",
    maxlength: "40",
    check: checks.given,
  });
}

/** Whether the server refuses for want of a code, or of a right one. */
export function wantsCode({ challenge }) {
  return Boolean(challenge?.startsWith("SecondFactor"));
}
