// The foot of a post that waits or was refused: why, and what can be done about it.

import { element, icon, replace } from "../lib/dom.js";
import "../lib/more_icons.js";
import "../lib/more_strings.js";
import { t } from "../lib/strings.js";
import { added } from "./extensions/registry.js";
import { needsSheets } from "./sheet.js";

needsSheets("notices");

/** Fill the foot of a post; `reason` says why it was refused. */
export function fillFoot(foot, ctx, { state, localId, place, parentId, fields = {} }, reason) {
  const isFailed = state === "failed";
  const { outbox } = ctx.model;
  const discard = () => {
    outbox.discard(localId);
    for (const tool of added(ctx, "posts")) tool.ask("discarded", { place, parentId }, fields);
  };
  replace(
    foot,
    icon(isFailed ? "warning" : "clock"),
    element("span", {}, isFailed ? t("message.failed", { reason }) : t("message.waiting")),
    isFailed && act(t("message.retry"), () => outbox.retry(localId)),
    act(t("message.discard"), discard),
  );
}

function act(label, run) {
  const look = { type: "button", class: "button button-quiet button-small", on: { click: run } };
  return element("button", look, label);
}
