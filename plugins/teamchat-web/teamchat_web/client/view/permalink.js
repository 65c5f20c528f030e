// Links to messages: they name the message and nothing else, and lead to wherever it is for who sees it. For anybody
// else, a message that is elsewhere and one that never was are the same.

import "../lib/more_strings.js";
import { path } from "../api/api.js";
import { t } from "../lib/strings.js";
import { copyOrShow } from "./copyable.js";
import { openMessage } from "./jump.js";
import { words } from "./notices.js";

/**
 * Go from a link to its message; the message's own address takes the place of the link's.
 * @param {object} ctx its signal ends when something else is shown
 * @param {string} id
 * @param {function(): void} missing called where there is no such message
 */
export async function leadTo(ctx, id, missing) {
  try {
    const { message, place } = await ctx.api.send("GET", path`/messages/${id}`);
    if (ctx.signal.aborted) return;
    if (!ctx.model.place(place.id)) return missing();
    const at = { id, channelId: place.id, threadId: message.threadId };
    await openMessage(ctx, at, { go: (hash) => location.replace(hash), knowsWay: true });
  } catch (error) {
    if (error.status !== 404) ctx.toast(words(error), { kind: "danger" });
    missing();
  }
}

/** Copy the link to a message. */
export function copyLink(ctx, id) {
  const { origin, pathname } = location;
  const link = `${origin}${pathname}#/messages/${encodeURIComponent(id)}`;
  return copyOrShow(ctx, link, { title: t("message.link_title"), done: t("message.link_copied") });
}
