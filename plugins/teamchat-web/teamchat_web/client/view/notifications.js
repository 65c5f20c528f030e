// Desktop notifications: of direct messages, mentions and replies in one's threads, while one looks
// elsewhere.
// What must stay true: permission is asked for only upon a press, and a text is shown by the browser
// alone.
import "../lib/more_strings.js";
import { t } from "../lib/strings.js";
import { mentions } from "../lib/markdown.js";
import { authorName } from "./message.js";

const MOST = 180;
const hasNotifications = () => "Notification" in globalThis;

/** Tells of a message that has come: what is in view is read out, others that call are notified of. */
export function tell(ctx, { message, place, parentId }) {
  const isHere = ctx.router.current?.place?.id === place.id;
  const isSeen = isHere && document.visibilityState === "visible" && document.hasFocus();
  const words = { name: authorName(ctx, message), text: message.content || t("notify.image") };
  if (isSeen) ctx.announce(t("notify.said", words));
  else if (!isCall(ctx, message, place, parentId)) return;
  else if (areOn(ctx)) notify(ctx, message, place, parentId, words);
  else offer(ctx);
}

function isCall(ctx, message, place, parentId) {
  if (place.kind === "conversation") return true;
  if (mentions(message.content, ctx.model.names()).has(ctx.model.me.id)) return true;
  const parent = parentId && ctx.model.timeline(place).items.find(({ id }) => id === parentId);
  return (
    Boolean(parent) &&
    (parent.author.id === ctx.model.me.id || parent.threadMeta?.participants.includes(ctx.model.me.id))
  );
}

function areOn(ctx) {
  return hasNotifications() && Notification.permission === "granted" && ctx.kept.get("notify", false);
}

async function notify(ctx, message, place, parentId, { name, text }) {
  const title = place.kind === "channel" ? `${name} · #${ctx.model.place(place.id)?.title}` : name;
  const data = { hash: ctx.router.address(place, parentId) };
  const options = { body: text.slice(0, MOST), tag: message.id, lang: document.documentElement.lang, data };
  try {
    const shown = new Notification(title, options);
    shown.onclick = () => {
      window.focus();
      ctx.router.go(place, parentId);
      shown.close();
    };
  } catch {
    // Android has notifications for service workers alone; a press on one is dealt with in `sw.js`.
    (await navigator.serviceWorker?.getRegistration())?.showNotification(title, options);
  }
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
