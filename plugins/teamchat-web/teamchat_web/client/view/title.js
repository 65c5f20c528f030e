// The title of the page: what waits, where one is, and whose server it is; the count also on the icon of
// the installed application, where the system shows one.
import { perFrame } from "../lib/frames.js";
import { t } from "../lib/strings.js";

/** Keeps the title true until the session ends. */
export function keepTitle(ctx) {
  const { model, router, signal } = ctx;
  if (signal.aborted) return;
  let shownMentions = null;
  const drawNow = () => {
    const { unread, mentions } = model.unread.total();
    const count = mentions ? `(${mentions}) ` : unread ? "• " : "";
    const { screen, place: asked } = router.current;
    const place = asked && model.place(asked.id);
    const name = screen === "threads" || screen === "activity" ? t(`${screen}.title`) : place?.label;
    const title = count + [name, model.serverName || "Teamchat"].filter(Boolean).join(" · ");
    if (title !== document.title) document.title = title;
    if (mentions === shownMentions) return;
    shownMentions = mentions;
    const shown = mentions ? navigator.setAppBadge?.(mentions) : navigator.clearAppBadge?.();
    shown?.catch(() => {});
  };
  const draw = perFrame(drawNow, signal);
  model.unread.on("changed", draw, signal);
  for (const type of ["server", "channels", "conversations", "users"]) model.on(type, draw, signal);
  router.on("changed", draw, signal);
  signal.addEventListener("abort", () => {
    document.title = "Teamchat";
    navigator.clearAppBadge?.()?.catch(() => {});
  });
  drawNow();
}
