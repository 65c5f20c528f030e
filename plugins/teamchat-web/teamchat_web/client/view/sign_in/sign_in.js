// Signing in: one card on an empty page, and the screens that take turns on it.
//
// The server's mode chooses the first screen, unless a link from a mail led here. A
// screen is a function (frame, given) that returns {title, lead, content}; it knows the frame and the screens
// it leads to, nothing else of the page.

import "../../lib/more_strings.js";
import { t } from "../../lib/strings.js";
import { openCard } from "./card.js";
import { dev } from "./dev.js";
import { tell } from "./earlier_access.js";
import { TICKET } from "./landing.js";
import { magicLink, magicLinkLanding } from "./magic_link.js";
import { password } from "./password.js";
import { providers } from "./providers.js";
import { secondFactor } from "./second_factor.js";
import { setPassword } from "./set_password.js";

const MODES = { dev, "magic-link": magicLink, password };

/**
 * Show the sign-in until somebody has signed in.
 * @param {HTMLElement} root
 * @param {object} ctx
 * @param {{token?: string, email?: string, mode?: string, oauthError?: string, ended?: string}} [landing]
 *   what the page's address said, and why the last session ended
 * @returns {Promise<?string>} the password that was typed; it may have to be changed at once
 */
export function signIn(root, ctx, landing = {}) {
  return new Promise((resolve) => {
    const draw = openCard(root);
    let typed = null;
    const off = ctx.session.on("began", () => {
      off();
      resolve(typed);
    });
    const frame = {
      ctx,
      show: (screen, given = {}) => draw(screen(frame, given)),
      start: (given) => frame.show(MODES[ctx.config.AUTH_MODE] ?? unknown, given),
      begin: (answer, password = null) => {
        typed = password;
        ctx.session.begin(answer);
        if (answer.earlierAccessEnded) tell(ctx);
      },
      otherWays: () => (ctx.config.ENABLE_OAUTH ? providers(ctx) : null),
    };
    begin(frame, landing);
  });
}

function begin(frame, { token, email, mode, oauthError, ended }) {
  if (token && mode === TICKET) {
    return frame.show(secondFactor, { send: (code) => frame.ctx.api.secondFactor(token, code), done: frame.begin });
  }
  if (token && email && mode) return frame.show(setPassword, { token, email, mode });
  if (token && email) return frame.show(magicLinkLanding, { token, email });
  if (oauthError) return frame.start({ problem: told(`oauth.${oauthError}`, "oauth.unknown") });
  return frame.start({ notice: ended && told(`ended.${ended}`, "ended.expired") });
}

/** The words for a key that came from outside, or for `fallback` where there are none. */
function told(key, fallback) {
  const words = t(key);
  return words === key ? t(fallback) : words;
}

function unknown(frame) {
  const mode = frame.ctx.config.AUTH_MODE;
  const lead = frame.ctx.config.ENABLE_OAUTH ? null : t("sign_in.unknown_mode", { mode });
  return { title: t("sign_in.title"), lead, content: frame.otherWays() };
}
