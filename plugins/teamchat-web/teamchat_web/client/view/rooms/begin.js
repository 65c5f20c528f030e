// The part of the page that rooms of one's own bring (docs/reference/extensions.md, B and C): what stands in the head
// of a room, and the bars that say what can't be done there, or not yet. On a server of the core none of it is there.

import { part } from "../../lib/parts.js";

const SLOTS = ["room", "thread", "sidebar", "event"];

/** Begin it; what the page has offered already is filled too. */
export function beginRooms(ctx) {
  const { model, slots, signal } = ctx;
  let waiting = []; // what is still on the page
  let fill = (...offered) => (waiting = [...waiting.filter(isShown), offered]);
  let isBegun = false;
  const begin = async () => {
    if (isBegun || !model.capabilities.membership) return;
    isBegun = true;
    const { filler } = await part(import("./fill.js"));
    fill = filler(ctx);
    for (const offered of waiting) fill(...offered);
    waiting = null;
  };
  slots.watch((slot, ...offered) => SLOTS.includes(slot) && isWanted(slot, ...offered) && fill(slot, ...offered));
  model.on("rights", begin, signal);
  begin();
}

function isShown([, , about]) {
  return !about?.ctx.signal.aborted;
}

function isWanted(slot, event) {
  return slot !== "event" || isEntry(event);
}

/** Whether an event tells that an admin has entered (B-12). */
function isEntry({ type, payload }) {
  return type === "CHANNEL_MEMBERS_ADDED" && payload.reason === "admin";
}
