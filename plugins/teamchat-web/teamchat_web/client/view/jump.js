// Leads to a message, wherever it is: its room or thread is opened at it, with what stands around it, and from there
// on reading goes both ways. A server without `message-context` knows no way there: what is older is loaded until it
// is there, and one that lies too far back for that is shown by itself, with what stands before it.

import { element } from "../lib/dom.js";
import "../lib/more_strings.js";
import { day, t } from "../lib/strings.js";
import { readAround, readNewer } from "../model/pages.js";
import { following } from "../model/parent.js";
import { openDialog } from "./dialog.js";
import { messageView } from "./message.js";
import { words } from "./notices.js";
import { shownOf } from "./shown.js";

const MOST_PAGES = 20;
const BEFORE = 10;
const SHOWN_MS = 2500;
const NEAR = 1500; // pixels
const followed = new WeakSet(); // Views that go on reading downward.

/**
 * Open a message, from a screen that may end with it.
 * @param {object} screen the ctx there
 * @param {{id: string, channelId: string, threadId?: string}} message
 * @param {{go?: function(string): void, knowsWay?: boolean}} [how] `go` goes to an address; `knowsWay` says that the
 *   server has `message-context`
 */
export async function openMessage(screen, { id, channelId, threadId = null }, how = {}) {
  const shown = shownOf(screen);
  const { ctx } = shown;
  const { go = (hash) => ctx.router.follow(hash), knowsWay = Boolean(ctx.model.capabilities["message-context"]) } = how;
  const place = ctx.model.place(channelId);
  if (!place) return ctx.toast(t("extensions.message_gone"));
  const timeline = threadId ? ctx.model.thread(threadId, place) : ctx.model.timeline(place);
  const isSeen = timeline.isLoaded && timeline.find(id);
  // Before the place is opened at its end, where all would count as read.
  if (knowsWay && !isSeen) await readAround(timeline, id);
  go(ctx.router.address(place, threadId));
  const view = await shown.view(threadId ?? place.id);
  const isHere = knowsWay ? timeline.find(id) : await climb(timeline, id);
  const arrived = () => arrive(ctx, timeline, view, id);
  if (isHere || timeline.hasNewer) requestAnimationFrame(() => requestAnimationFrame(arrived));
  if (isHere) return undefined;
  if (timeline.error) return ctx.toast(words(timeline.error), { kind: "danger" });
  if (knowsWay || threadId || !isFurther(timeline, id)) return ctx.toast(t("extensions.message_gone"));
  return showAlone(ctx, place, id);
}

/** Have the message seen, or what stands where it was, and go on reading downward from there. */
function arrive({ model }, timeline, view, id) {
  const [scroller] = view.element.children;
  const isNearEnd = () => scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight < NEAR;
  const mayRead = () => !timeline.isLoading && (!timeline.error || model.connection === "online");
  const goOn = () => {
    if (timeline.hasNewer && mayRead() && isNearEnd()) readNewer(timeline);
  };
  const next = timeline.items.find((item) => item.id >= id);
  const article = next && view.reveal(next.id);
  if (next?.id === id) point(article);
  if (!followed.has(view)) scroller.addEventListener("scroll", goOn, { passive: true });
  followed.add(view);
  goOn();
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
