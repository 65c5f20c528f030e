// Signing in with a password, and registering where the server lets people (interface, part 5 rules 3 to 6).

import { element } from "../../lib/dom.js";
import { t } from "../../lib/strings.js";
import { form } from "../form.js";
import { currentPasswordField, emailField, newPasswordFields } from "./fields.js";
import { forgot } from "./forgot.js";
import { line } from "./links.js";
import { withCode } from "./second_factor.js";

/** The screen of the password mode. */
export function password(frame, { email, ...said }) {
  const { api, config } = frame.ctx;
  const fields = [emailField({ value: email }), currentPasswordField()];
  const sign = form({
    fields,
    action: t("sign_in.action"),
    send: ({ email: who, password: typed }) =>
      withCode(frame, {
        send: (code) => api.passwordLogin(who, typed, code),
        done: (answer) => frame.begin(answer, typed),
      }),
    explain: ({ status }) => status === 401 && { field: "password", text: t("sign_in.wrong") },
  });
  const typed = () => ({ email: fields[0].value });
  const lost = config.HAS_EMAIL
    ? line(t("sign_in.forgot"), () => frame.show(forgot, typed()))
    : element("p", { class: "card-foot" }, t("sign_in.ask_admin"));
  const isOpen = config.IS_INVITE_REQUIRED === false;
  const content = [sign, frame.otherWays(), lost, isOpen && newcomers(frame, typed)];
  return { title: t("sign_in.title"), ...said, content };
}

/** The screen that makes an account. */
function register(frame, { email }) {
  const fields = [emailField({ value: email }), ...newPasswordFields()];
  const make = form({
    fields,
    action: t("sign_in.register"),
    send: async (values) => frame.begin(await frame.ctx.api.register(values.email, values.password)),
    explain: ({ status, message }) => status === 400 && { field: "email", text: taken(message) },
  });
  const goBack = () => frame.start({ email: fields[0].value });
  const back = line(t("sign_in.action"), goBack, t("sign_in.have_account"));
  return { title: t("sign_in.register"), lead: t("sign_in.register_lead"), content: [make, back] };
}

function newcomers(frame, typed) {
  return line(t("sign_in.register"), () => frame.show(register, typed()), t("sign_in.no_account"));
}

/** The server says in its sentence alone what is wrong with an email that has passed the page's own check. */
function taken(message) {
  return message.includes("exists") ? t("sign_in.email_taken") : message;
}
