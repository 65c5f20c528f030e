// Desktop notifications while one looks elsewhere, of what model/notifying.js lets through. Permission is asked for
// only upon a press, and a text is shown by the browser alone.
import "../lib/more_strings.js";
import { plainText } from "../lib/plain_text.js";
import { t } from "../lib/strings.js";
import { notifies } from "../model/notifying.js";
import { authorName } from "./message.js";

const MOST = 180;
const READ_ELSEWHERE_MS = 400; // Another tab that shows it has marked it as read by then.
const hasNotifications = () => "Notification" in globalThis;

/** Tells of a message that has come: what is in view is read out, others may be notified of. */
export async function tell(ctx, news) {
  const { message, place, parentId, calls } = news;
  const { place: here, thread } = ctx.router.current;
  const isHere = here?.id === place.id || Boolean(parentId && thread?.id === parentId);
  const isWatched = isHere && document.visibilityState === "visible" && document.hasFocus();
  const isSeen = isWatched && (!parentId || thread?.id === parentId);
  const words = { name: authorName(ctx, message), text: textOf(message) };
  if (isWatched) ctx.announce(t("notify.said", words));
  if (isSeen) return;
  if (!areOn(ctx)) return calls && offer(ctx);
  const preview = await notifies(ctx.model, news);
  if (preview) notifySoon(ctx, news, shownWords(preview, words));
}

/** As much of it as a notification is to show. */
function shownWords(preview, { name, text }) {
  if (preview === "full") return { name, text };
  return { name: preview === "sender" ? name : "", text: t("notify.message") };
}

/** What is said of a message: its words, and how many images are with it. */
function textOf({ content, images = [], files = [] }) {
  const names = files.map(({ name }) => name).join(", ");
  const said = [plainText(content), images.length && t("message.images", { count: images.length }), names];
  return said.filter(Boolean).join("\n");
}

/** Several tabs hear of it: one may show it, and of the others' notifications the browser keeps one. */
function notifySoon(ctx, news, words) {
  const { unread } = ctx.model;
  const list = news.parentId ?? news.place.id;
  const timer = setTimeout(() => {
    if (unread.has(list, news.message.id)) notify(ctx, list, news, words);
  }, READ_ELSEWHERE_MS);
  ctx.signal.addEventListener("abort", () => clearTimeout(timer));
}

/** Whether this browser notifies. */
export function areOn(ctx) {
  return hasNotifications() && Notification.permission === "granted" && ctx.kept.get("notify", false);
}

async function notify(ctx, list, { message, place, parentId }, { name, text }) {
  const label = place.kind === "channel" && ctx.model.place(place.id)?.label;
  const title = name ? [name, label].filter(Boolean).join(" · ") : ctx.model.serverName || "Teamchat";
  const hash = ctx.router.address(place, parentId);
  const shown = await show(title, { text, tag: message.id, hash, open: () => ctx.router.go(place, parentId) });
  if (shown) closeWhenRead(ctx, shown, list, message.id);
}

/** Show a notification; `open` is called for a press. Returns what closes it, or null if it isn't shown. */
export async function show(title, { text, tag, hash, open }) {
  const options = { body: text.slice(0, MOST), tag, lang: document.documentElement.lang, data: { hash } };
  const worker = await navigator.serviceWorker?.getRegistration().catch(() => null);
  if (worker?.active) return showByWorker(worker, title, options);
  try {
    const shown = new Notification(title, options);
    shown.onclick = () => {
      window.focus();
      open();
      shown.close();
    };
    return shown;
  } catch {
    return null; // Android has notifications for service workers alone.
  }
}

/** By the service worker, as pushes are shown: of the same message there is one. A press is dealt with in `sw.js`. */
async function showByWorker(worker, title, options) {
  const { tag } = options;
  if ((await worker.getNotifications()).some(({ data }) => data?.messageId === tag)) return null; // A push was quicker.
  await worker.showNotification(title, options);
  worker.active.postMessage({ shown: tag });
  return { close: async () => (await worker.getNotifications({ tag })).forEach((one) => one.close()) };
}

/** What was read, or deleted, needs no notification any more. */
function closeWhenRead(ctx, shown, list, id) {
  const { unread } = ctx.model;
  const off = unread.on(
    "changed",
    ({ placeId }) => {
      if (placeId !== list || unread.has(list, id)) return;
      off();
      shown.close();
    },
    ctx.signal,
  );
  shown.onclose = off;
}

/** Offers notifications, once, at the first message that would have been worth one. */
function offer(ctx) {
  if (!hasNotifications() || Notification.permission !== "default" || ctx.kept.get("notify-offered")) return;
  ctx.kept.set("notify-offered", true);
  ctx.toast(t("notify.offer"), { action: { label: t("notify.turn_on"), run: () => turnOn(ctx) } });
}

/** Turns them on; asks the browser, so this is called for a press. */
async function turnOn(ctx) {
  ctx.kept.set("notify", (await Notification.requestPermission()) === "granted");
}
