// Tokens in the address that nobody here has asked for. They may be somebody else's, who would have what is written
// next be written in their name; so they are taken by a press of the button, as a link from a mail is.

import "../../lib/more_strings.js";
import { t } from "../../lib/strings.js";
import { form } from "../form.js";
import { openCard } from "./card.js";
import { tell } from "./earlier_access.js";
import { line } from "./links.js";

/**
 * Show whose they are, as the server says, until they are taken or left.
 * @param {HTMLElement} root
 * @param {object} ctx
 * @param {{accessToken: string, refreshToken?: string, earlierAccessEnded: boolean}} tokens
 * @returns {Promise<{oauthError?: string}>}
 */
export async function arrival(root, ctx, tokens) {
  const { api, session } = ctx;
  const user = await api.whose(tokens.accessToken).catch(() => null);
  if (!user) return { oauthError: "invalid_state" };
  return new Promise((resolve) => {
    const take = async () => {
      session.begin(tokens);
      if (tokens.earlierAccessEnded) tell(ctx);
      resolve({});
    };
    const { isSignedIn, email } = session;
    const stay = isSignedIn ? t("sign_in.stay", { email }) : t("sign_in.other_email");
    openCard(root)({
      title: t("sign_in.landing_title"),
      lead: t("sign_in.landing_lead", { email: user.email }),
      content: [form({ fields: [], action: t("sign_in.action"), send: take }), line(stay, () => resolve({}))],
    });
  });
}
