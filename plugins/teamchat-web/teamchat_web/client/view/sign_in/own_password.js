// A password that an administrator set is changed before anything else is shown (decision D-43).

import "../../lib/more_strings.js";
import { t } from "../../lib/strings.js";
import { passwordForm } from "../own_password.js";
import { openCard } from "./card.js";
import { line } from "./links.js";

/**
 * Show the screen until the password has been changed, or the session ends.
 * @param {HTMLElement} root
 * @param {object} ctx
 * @param {?string} typed the password that was just signed in with, if it was here
 * @returns {Promise<?string>} why the session ended, or undefined when it goes on
 */
export function ownPassword(root, ctx, typed) {
  const { session } = ctx;
  const ending = new AbortController();
  const screen = {
    title: t("password.due_title"),
    lead: t("password.due_lead"),
    content: [
      passwordForm(ctx, session.email, typed, () => {}),
      line(t("settings.sign_out"), () => session.end(), session.email),
    ],
  };
  openCard(root)(screen);
  return new Promise((resolve) => {
    const leave = (detail) => {
      ending.abort();
      resolve(detail?.reason);
    };
    session.on("freed", leave, ending.signal);
    session.on("ended", leave, ending.signal);
  });
}
