// The way in, step by step: saying whether tokens that came unasked are to be taken, signing in, and then changing
// a password that has to be changed before anything else (decision D-43), or setting up a second factor where the
// server wants one.

import { SignIn } from "../../api/sign_in.js";
import { arrival } from "./arrival.js";
import { ownPassword } from "./own_password.js";
import { ownSecondFactor } from "./own_second_factor.js";
import { signIn } from "./sign_in.js";

/**
 * Show the next step until it is done.
 * @param {HTMLElement} root
 * @param {object} ctx
 * @param {object} given what the page's address said, or what the step before returned
 * @returns {Promise<{typed?: ?string, ended?: string, oauthError?: string}>} the password that was typed, why the
 *   session ended, or why nobody was signed in
 */
export async function enter(root, ctx, given) {
  const api = new SignIn(ctx.http);
  if (given.unasked) return arrival(root, { ...ctx, api }, given.unasked);
  if (given.token || !ctx.session.isSignedIn) return { typed: await signIn(root, { ...ctx, api }, given) };
  if (ctx.session.mustChangePassword === "second-factor") return { ended: await ownSecondFactor(root, ctx) };
  return { ended: await ownPassword(root, ctx, given.typed ?? null) };
}
