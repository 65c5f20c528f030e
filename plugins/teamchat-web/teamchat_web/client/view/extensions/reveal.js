// Leads to a message, wherever it is: its room or thread is opened, and what is older is loaded until it is there.
// One that lies too far back for that is shown by itself, with what stands before it.

import { element } from "../../lib/dom.js";
import "../../lib/more_strings.js";
import { day, t } from "../../lib/strings.js";
import { following } from "../../model/parent.js";
import { openDialog } from "../dialog.js";
import { messageView } from "../message.js";
import { words } from "../notices.js";
import { shownOf } from "../shown.js";

const MOST_PAGES = 20;
const BEFORE = 10;
const SHOWN_MS = 2500;

/**
 * Open a message, from a screen that may end with it.
 * @param {object} screen the ctx there
 * @param {{id: string, channelId: string, threadId?: string}} message
 */
export async function openMessage(screen, { id, channelId, threadId = null }) {
  const shown = shownOf(screen);
  const { ctx } = shown;
  const place = ctx.model.place(channelId);
  if (!place) return ctx.toast(t("extensions.message_gone"));
  ctx.router.go(place, threadId);
  const view = await shown.view(threadId ?? place.id);
  const timeline = threadId ? ctx.model.thread(threadId, place) : ctx.model.timeline(place);
  const isHere = await climb(timeline, id);
  if (isHere) return requestAnimationFrame(() => requestAnimationFrame(() => point(view.reveal(id))));
  if (timeline.error) return ctx.toast(words(timeline.error), { kind: "danger" });
  if (threadId || !isFurther(timeline, id)) return ctx.toast(t("extensions.message_gone"));
  return showAlone(ctx, place, id);
}

/** Load what is older until the message is there, or must be further back than so many pages. */
async function climb(timeline, id) {
  await timeline.load();
  for (let pages = 0; pages < MOST_PAGES && !timeline.find(id) && isFurther(timeline, id); pages++) {
    await timeline.loadOlder();
    if (timeline.error) break;
  }
  return Boolean(timeline.find(id));
}

function isFurther({ hasOlder, items }, id) {
  return hasOlder && !(items[0]?.id < id);
}

/** Have it seen, and its tools within reach. */
function point(article) {
  if (!article) return;
  article.focus({ preventScroll: true });
  article.classList.add("pointed-at");
  setTimeout(() => article.classList.remove("pointed-at"), SHOWN_MS);
}

async function showAlone(ctx, place, id) {
  try {
    const messages = await ctx.model.read(place, { before: following(id), limit: BEFORE });
    const last = messages.at(-1);
    if (last?.id !== id) return ctx.toast(t("extensions.message_gone"));
    const title = `${place.label}, ${day(last.createdAt)}`;
    const shown = messages.map((message) => messageView(ctx, { ...message, place }, { isThread: true }));
    const region = { class: "dialog-body alone", tabindex: "0", role: "region", "aria-label": title };
    const body = element("div", region, shown);
    openDialog(ctx, { title, kind: "dialog-wide" }, body);
    const article = shown.at(-1);
    article.scrollIntoView({ block: "end" });
    return point(article);
  } catch (error) {
    return ctx.toast(words(error), { kind: "danger" });
  }
}
