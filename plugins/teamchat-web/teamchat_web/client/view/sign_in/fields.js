// The fields of sign-in, with what password managers and phone keyboards go by (HTML, section 4.10.18.7).

import { t } from "../../lib/strings.js";
import { checks, field } from "../form.js";

/** An email to sign in with. */
export function emailField({ value, ...more } = {}) {
  return field({
    name: "email",
    label: t("common.email"),
    type: "email",
    autocomplete: "username",
    autocapitalize: "off",
    spellcheck: "false",
    placeholder: t("sign_in.email_hint"),
    value: value ?? "",
    check: checks.email,
    ...more,
  });
}

/** The password of an account that there is. */
export function currentPasswordField(label = t("common.password")) {
  return field({
    name: "password",
    label,
    type: "password",
    autocomplete: "current-password",
    check: checks.given,
  });
}

/** A new password, and the same once more. */
export function newPasswordFields(name = "password") {
  const same = (again, values) => (again === values[name] ? null : t("problem.different"));
  const properties = { type: "password", autocomplete: "new-password", minlength: "8" };
  return [
    field({
      name,
      label: t("sign_in.new_password"),
      hint: t("sign_in.password_hint"),
      check: checks.password,
      ...properties,
    }),
    field({ name: "again", label: t("sign_in.confirm"), check: same, ...properties }),
  ];
}
