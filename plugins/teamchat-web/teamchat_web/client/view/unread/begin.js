// The part of the page that read states bring: the menu of a place in its head, and the key that reads everything. On a
// server without them it isn't there.

import { part } from "../../lib/parts.js";

/** Begin it; the place that is shown already gets its menu too. */
export function beginUnread(ctx) {
  const { model, slots, signal } = ctx;
  let fill = null;
  let shown = null;
  const begin = async () => {
    if (fill || !model.capabilities["read-state"]) return;
    const { dressHead } = await part(import("./head.js"));
    fill ??= dressHead;
    document.addEventListener("keydown", (event) => readAll(ctx, event), { signal });
    if (shown) fill(...shown);
    shown = null;
  };
  slots.watch((slot, main, about) => {
    if (slot !== "room") return;
    if (fill) fill(main, about);
    else shown = [main, about];
  });
  model.on("rights", begin, signal);
  begin();
}

async function readAll(ctx, event) {
  if (event.key !== "Escape" || !event.shiftKey || event.defaultPrevented || event.target.closest?.("dialog")) return;
  event.preventDefault();
  (await part(import("./marking.js"))).markAllRead(ctx);
}
