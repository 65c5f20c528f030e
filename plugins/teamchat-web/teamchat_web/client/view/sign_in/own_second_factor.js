// A second factor is set up before anything else is shown, where the server wants one of whoever has none.

import "../../lib/more_strings.js";
import { t } from "../../lib/strings.js";
import { settingUp } from "../second_factor.js";
import { openCard } from "./card.js";
import { line } from "./links.js";

/**
 * Show the screen until there is one, or the session ends.
 * @param {HTMLElement} root
 * @param {object} ctx
 * @returns {Promise<?string>} why the session ended, or undefined when it goes on
 */
export function ownSecondFactor(root, ctx) {
  const { session } = ctx;
  const ending = new AbortController();
  const out = line(t("settings.sign_out"), () => session.end(), session.email);
  const hold = (refuse) => (out.hidden = Boolean(refuse));
  openCard(root)({
    title: t("factor.due_title"),
    lead: t("factor.due_lead"),
    content: [settingUp(ctx, { hold, done: () => session.free() }), out],
  });
  return new Promise((resolve) => {
    const leave = (detail) => {
      ending.abort();
      resolve(detail?.reason);
    };
    session.on("freed", leave, ending.signal);
    session.on("ended", leave, ending.signal);
  });
}
