// What begins once the first view is there: what the server offers, what capabilities bring, what each day
// changes, and the greeting.

import { Kept } from "../lib/kept.js";
import { part } from "../lib/parts.js";
import { learnRights } from "../model/rights.js";
import { cameBackTo } from "./anew.js";
import { settings } from "./sidebar.js";
import { keepVisited } from "./visited.js";

const FEW = 5; // users, and channels, of a server that begins
const NEW_MS = 7 * 86_400_000;

/**
 * Begin it.
 * @param {object} ctx
 * @param {HTMLElement} place where the greeting stands
 */
export async function begin(ctx, place) {
  const capabilities = learnRights(ctx);
  keepVisited(ctx);
  ctx.model.outbox.on("sent", (sent) => unreached(ctx, sent), ctx.signal);
  ctx.model.outbox.on("edited", (edited) => unreached(ctx, edited), ctx.signal);
  ctx.model.on("event", (event) => remind(ctx, event), ctx.signal);
  (await import("./choosing.js")).takeImages(ctx.slots);
  (await part(import("./formatting.js"))).beginFormatting(ctx.signal);
  (await part(import("./code_blocks.js"))).offerCopying(ctx);
  (await import("../model/counting.js")).beginCounting(ctx.model, ctx.signal);
  await part(import("./pending.js")); // What could not be sent says so, also when nothing can be loaded any more.
  (await import("./rooms/begin.js")).beginRooms(ctx);
  (await import("./unread/begin.js")).beginUnread(ctx);
  (await import("./extensions/load.js")).loadExtensions(ctx);
  (await import("./new_day.js")).followDays(ctx);
  greet(ctx, place);
  const { profiles } = await capabilities;
  const section = ctx.signal.aborted ? undefined : cameBackTo(ctx.session);
  if (section) settings(ctx, section);
  if (profiles) (await part(import("./faces.js"))).beginFaces(ctx);
  await part(import("./palette.js")); // Here before its key: what is typed until it opens goes to a message.
}

/**
 * Greet the admin of a server that is nearly empty, and whoever is new; dismissed, it stays away in this browser.
 * @param {object} ctx
 * @param {HTMLElement} place where the greeting stands
 */
async function greet({ model, ...ctx }, place) {
  const { me, users, channels } = model;
  const since = Date.now() - (users.get(me.id)?.createdAt ?? 0);
  const kind = me.isAdmin ? "admin" : "member";
  const isDue = me.isAdmin ? users.size <= FEW && channels.size <= FEW : since < NEW_MS;
  if (ctx.signal.aborted || !isDue || new Kept("teamchat").get("greeted", []).includes(kind)) return;
  (await part(import("./greeting/greeting.js"))).greet({ model, ...ctx }, kind, place);
}

/** Tell of a reminder that is due. */
async function remind(ctx, { type, payload }) {
  if (type !== "NEW_ACTIVITY" || payload.kind !== "reminder") return;
  (await part(import("./reminding.js"))).remind(ctx, payload);
}

/** Say whom a message mentions who does not see it. */
async function unreached(ctx, sent) {
  if (sent.unreached?.length) (await part(import("./unreached.js"))).tellUnreached(ctx, sent);
}
