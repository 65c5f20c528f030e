// The way to the activity, in the sidebar above the threads, with how much of it is unread.

import { element, icon, renew } from "../../lib/dom.js";
import "../../lib/more_strings.js";
import { perFrame } from "../../lib/frames.js";
import { t } from "../../lib/strings.js";
import { activityOf } from "../../model/activity.js";
import { sideLink } from "../sidebar.js";

/** Put it there, and keep its count until the session ends. */
export function offerActivity(ctx, threads) {
  const { model, router, signal } = ctx;
  const feed = activityOf(model);
  const list = element("ul", { class: "side-list side-top" });
  const drawNow = () => {
    const isHere = router.current.screen === "activity";
    const link = { href: "#/activity", title: t("activity.title"), isHere, unread: feed.unreadCount };
    const hadFocus = list.contains(document.activeElement);
    renew(list, [sideLink(link, icon("bell"))]);
    if (hadFocus) list.querySelector("a").focus();
  };
  const draw = perFrame(drawNow, signal);
  feed.on("changed", draw, signal);
  router.on("changed", draw, signal);
  // What was seen on another device is asked for when somebody looks.
  const look = () => document.visibilityState === "visible" && feed.refresh();
  addEventListener("focus", look, { signal });
  document.addEventListener("visibilitychange", look, { signal });
  drawNow();
  threads.before(list);
  feed.refresh();
}
