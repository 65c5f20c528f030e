// Who is greeted, once the first view is there.

import { Kept } from "../lib/kept.js";
import { part } from "../lib/parts.js";

const FEW = 5; // users, and channels, of a server that begins
const NEW_MS = 7 * 86_400_000;

/**
 * Greet the admin of a server that is nearly empty, and whoever is new; dismissed, it stays away in this browser.
 * @param {object} ctx
 * @param {HTMLElement} place where the greeting stands
 */
export async function greet({ model, ...ctx }, place) {
  const { me, users, channels } = model;
  const since = Date.now() - (users.get(me.id)?.createdAt ?? 0);
  const kind = me.isAdmin ? "admin" : "member";
  const isDue = me.isAdmin ? users.size <= FEW && channels.size <= FEW : since < NEW_MS;
  if (ctx.signal.aborted || !isDue || new Kept("teamchat").get("greeted", []).includes(kind)) return;
  (await part(import("./greeting/greeting.js"))).greet({ model, ...ctx }, kind, place);
}
