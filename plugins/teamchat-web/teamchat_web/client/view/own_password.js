// The form that changes one's own password (decision D-43). The email is in it, unseen, so that a password
// manager keeps the new one under it.

import { change } from "../api/own_password.js";
import { element } from "../lib/dom.js";
import { t } from "../lib/strings.js";
import { form } from "./form.js";
import { currentPasswordField, newPasswordFields } from "./sign_in/fields.js";

/** Whether the user may have a password, to be changed or asked for again: not all servers tell. */
export function mayHavePassword({ config, kept }) {
  return config.AUTH_MODE === "password" && kept.get("hasPassword") !== false;
}

/**
 * Make the form.
 * @param {object} ctx
 * @param {string} email
 * @param {?string} typed the present password, if it is known; else it is asked for
 * @param {function(HTMLFormElement): void} done
 * @returns {HTMLFormElement}
 */
export function passwordForm({ http, session }, email, typed, done) {
  const present = typed === null ? [currentPasswordField(t("password.present"))] : [];
  const made = form({
    fields: [...present, ...newPasswordFields("newPassword")],
    action: t("password.change"),
    send: async ({ password = typed, newPassword }) => {
      if (password.normalize("NFKC") === newPassword.normalize("NFKC")) throw new SamePassword();
      await change(http, session, password, newPassword);
      done(made);
    },
    explain,
  });
  made.prepend(element("input", { type: "email", autocomplete: "username", value: email, hidden: true }));
  return made;
}

class SamePassword extends Error {
  status = 400;
}

function explain({ status, message }) {
  if (status === 401) return { field: "password", text: t("password.wrong") };
  return status === 400 && { field: "newPassword", text: message || t("password.same") };
}
