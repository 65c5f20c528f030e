// The part of the page that read states bring: the menu of a place in its head, the keys that read a place or everything,
// and the way to what concerns one. On a server without them it isn't there.

import { part } from "../../lib/parts.js";
import { shownOf } from "../shown.js";

const FIELD = "main > .composer textarea";

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
    document.addEventListener("keydown", (event) => readByKey(ctx, event), { signal });
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

function readByKey(ctx, event) {
  const { key, shiftKey, defaultPrevented, isComposing, target } = event;
  if (key !== "Escape" || defaultPrevented || isComposing || target.closest?.("dialog")) return;
  if (shiftKey) event.preventDefault();
  if (shiftKey) readAll(ctx);
  else if (target.matches?.(FIELD)) readHere(ctx);
}

async function readAll(ctx) {
  (await part(import("./marking.js"))).markAllRead(ctx);
}

/** Marks the place as read, where there is something unread, and goes to its end. */
async function readHere(ctx) {
  const place = ctx.model.place(ctx.router.current.place?.id);
  const { isUnread, markRead } = await part(import("./marking.js"));
  if (!place || !isUnread(ctx.model, place.id)) return;
  (await shownOf(ctx).view(place.id)).toEnd();
  markRead(ctx, place);
}
