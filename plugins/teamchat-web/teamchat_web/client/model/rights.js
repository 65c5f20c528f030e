// What the server offers (GET /capabilities) and what the user may do there (GET /me): asked when the first
// view is there, and again when a connection is back or the user's role has changed. Kept, so that the next
// visit begins with it. On a server of the core there is nothing of it.

import { Rooms } from "../api/rooms.js";

const learning = new WeakMap();

/**
 * Learn them; the same promise for everybody who asks.
 * @param {{model: import("./model.js").Model, kept: object, signal: AbortSignal}} ctx
 * @returns {Promise<object>} the capabilities by name; without a network those of the last visit
 */
export function learnRights(ctx) {
  const { model, signal } = ctx;
  if (!learning.has(model)) {
    learning.set(model, first(ctx));
    let { isAdmin } = model.me;
    const again = () => ask(ctx).catch(() => {}); // The next connection asks again.
    model.on("connection", () => model.connection === "online" && again(), signal);
    model.on("me", () => model.me.isAdmin !== isAdmin && (({ isAdmin } = model.me), again()), signal);
  }
  return learning.get(model);
}

async function first(ctx) {
  const { model, kept, signal } = ctx;
  for (;;) {
    try {
      return await ask(ctx);
    } catch {
      if (kept.get("capabilities")) return model.capabilities;
      await new Promise((resolve) => model.on("connection", resolve, signal));
    }
  }
}

async function ask({ model, kept }) {
  const rooms = new Rooms(model.api);
  const capabilities = await rooms.capabilities();
  const { may = [], hasPassword = null } = capabilities.membership ? await rooms.me() : {};
  kept.set("capabilities", capabilities);
  kept.set("hasPassword", hasPassword); // null where it is not told
  kept.set("may", may);
  model.setRights(capabilities, may);
  return capabilities;
}
