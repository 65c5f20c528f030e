// Reminders that are due: a notice with the way to the message where somebody looks at the page, a notification of the
// system where nobody does and these are on. Several tabs, and other devices, hear of the same: what was seen anywhere
// is shown nowhere else.

import "../lib/more_strings.js";
import { plainText } from "../lib/plain_text.js";
import { t } from "../lib/strings.js";
import { ActivityApi } from "../api/activity.js";
import { reminds } from "../model/notifying.js";
import { openMessage } from "./jump.js";
import { authorName } from "./message.js";
import { areOn, show } from "./notifications.js";

const KEPT = "reminded";
const MOST = 180;
const PAGE = 50;
const SEEN_ELSEWHERE_MS = 400; // Another tab that shows it has said so by then.

/** Tell of a reminder, by the event that brought it. */
export async function remind(ctx, { id }) {
  if (!isWatched()) await new Promise((resolve) => setTimeout(resolve, SEEN_ELSEWHERE_MS));
  const item = ctx.kept.get(KEPT) === id ? null : await unseen(ctx, id);
  if (!item || ctx.signal.aborted) return;
  const { message, placeId } = item;
  const open = () => openMessage(ctx, { id: message.id, channelId: placeId, threadId: message.threadId });
  const words = t("notify.said", { name: authorName(ctx, message), text: textOf(message) });
  if (document.visibilityState === "visible") {
    ctx.kept.set(KEPT, id);
    ctx.toast(t("notify.reminded", { words: short(words) }), { action: { label: t("notify.show"), run: open } });
    return;
  }
  const preview = areOn(ctx) && (await reminds(ctx.model));
  if (!preview || ctx.kept.get(KEPT) === id) return;
  const hash = ctx.router.address(ctx.model.place(placeId), message.threadId);
  show(t("notify.reminder"), { text: preview === "full" ? words : "", tag: `reminder ${message.id}`, hash, open });
}

/** The item, unless it was seen on another device, or its message is seen no longer. */
async function unseen(ctx, id) {
  try {
    const { items } = await new ActivityApi(ctx.model.api).page({ kind: "reminder", unread: true, limit: PAGE });
    return items.find((item) => item.id === id) ?? null;
  } catch {
    return null; // It stands in the activity.
  }
}

function isWatched() {
  return document.visibilityState === "visible" && document.hasFocus();
}

function textOf({ content, images = [] }) {
  return plainText(content) || t("message.images", { count: images.length });
}

function short(words) {
  return words.length > MOST ? `${words.slice(0, MOST)} …` : words;
}
