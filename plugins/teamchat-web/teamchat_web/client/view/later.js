// What the page does once the first view is there.

import { Kept } from "../lib/kept.js";

const FEW = 5; // users, and channels, of a server that begins
const NEW_MS = 7 * 86_400_000;
const NAME = "[data-person], .message > .avatar";

/**
 * Begin with it, until the session ends.
 * @param {object} ctx
 * @param {HTMLElement} place where a greeting stands, if there is one
 */
export function later(ctx, place) {
  openCards(ctx);
  greet(ctx, place);
}

/** Greet the admin of a server that is nearly empty, and whoever is new; dismissed, it stays away here. */
async function greet({ model, ...ctx }, place) {
  const { me, users, channels } = model;
  const since = Date.now() - (users.get(me.id)?.createdAt ?? 0);
  const kind = me.isAdmin ? "admin" : "member";
  const isDue = me.isAdmin ? users.size <= FEW && channels.size <= FEW : since < NEW_MS;
  if (ctx.signal.aborted || !isDue || new Kept("teamchat").get("greeted", []).includes(kind)) return;
  (await import("./greeting/greeting.js")).greet({ model, ...ctx }, kind, place);
}

/** Open the card of whoever's name is pressed (people.js, `leadsToCard`). */
function openCards(ctx) {
  const { signal } = ctx;
  const open = async ({ target }) => {
    if (target.closest(NAME)) (await import("./person.js")).openPerson(ctx, target);
  };
  const press = (event) => {
    if (!event.target.dataset.person || !["Enter", " "].includes(event.key)) return;
    event.preventDefault(); // A space would scroll.
    open(event);
  };
  document.addEventListener("click", open, { signal });
  document.addEventListener("keydown", press, { signal });
}
