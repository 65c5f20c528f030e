// The part of the page that read states bring: the menu of a place in its head, the key that reads everything, and the
// way to what concerns one. On a server without them it isn't there.

import { part } from "../../lib/parts.js";
import { shownOf } from "../shown.js";

/** Begin it; the place that is shown already gets its menu too. */
export function beginUnread(ctx) {
  const { model, slots, signal } = ctx;
  let fill = null;
  let shown = null;
  let side = null;
  let isOffered = false;
  shownOf(ctx);
  const begin = async () => {
    if (fill || !model.capabilities["read-state"]) return;
    const { dressHead } = await part(import("./head.js"));
    fill ??= dressHead;
    document.addEventListener("keydown", (event) => readAll(ctx, event), { signal });
    if (shown) fill(...shown);
    shown = null;
  };
  const offer = async () => {
    if (isOffered || !side || !model.capabilities.activity) return;
    isOffered = true;
    (await part(import("../activity/side.js"))).offerActivity(ctx, side);
  };
  slots.watch((slot, node, about) => {
    if (slot === "sidebar") side = node;
    if (slot !== "room") return;
    if (fill) fill(node, about);
    else shown = [node, about];
  });
  for (const learned of [begin, offer]) {
    model.on("rights", learned, signal);
    learned();
  }
}

async function readAll(ctx, event) {
  if (event.key !== "Escape" || !event.shiftKey || event.defaultPrevented || event.target.closest?.("dialog")) return;
  event.preventDefault();
  (await part(import("./marking.js"))).markAllRead(ctx);
}
