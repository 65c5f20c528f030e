// One item of the activity: who did what and where, when, and the words of the message that it is about.

import { element } from "../../lib/dom.js";
import "../../lib/more_strings.js";
import { plainText } from "../../lib/plain_text.js";
import { dateTime, day, t, time } from "../../lib/strings.js";
import { authorName } from "../message.js";
import { avatar } from "../people.js";

/**
 * Make it.
 * @param {object} ctx
 * @param {import("../../api/activity.js").Item} item
 * @param {{isNew: boolean, open: function(): void}} look
 * @returns {HTMLElement}
 */
export function entry(ctx, item, { isNew, open }) {
  const { model, router } = ctx;
  const { id, at, message, placeId } = item;
  const press = (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    open();
  };
  const href = router.address(model.place(placeId), message?.threadId);
  const look = { class: `activity-item${isNew ? " unread" : ""}`, href, dataset: { item: id }, on: { click: press } };
  const date = day(at) === t("time.today") ? time(at) : `${day(at)}, ${time(at)}`;
  const when = { class: "small soft", dir: "auto", datetime: new Date(at).toISOString(), title: dateTime(at) };
  const [actor] = item.actors;
  const sign = model.users.get(actor) ?? message?.author ?? { id: actor };
  const link = element(
    "a",
    look,
    isNew && element("span", { class: "visually-hidden" }, `${t("timeline.new")}: `),
    avatar({ ...sign, userName: nameOf(ctx, item, actor) }),
    element(
      "span",
      { class: "activity-text" },
      element("span", { class: "activity-head" }, said(ctx, item)),
      " ",
      element("time", when, date),
      message && element("span", { class: "words", dir: "auto" }, wordsOf(message)),
    ),
    isNew && element("span", { class: "dot" }),
  );
  return element("li", {}, link);
}

/** What an item says, without the words of the message. */
export function said(ctx, item) {
  const { kind, actors, placeId, reaction } = item;
  const place = ctx.model.place(placeId)?.label ?? "…";
  const name = nameOf(ctx, item, actors[0]);
  const others = actors.length - 1; // A reminder has no actors, and names the author.
  const who = others > 0 ? t("activity.and_others", { name, count: others }) : name;
  return t(`activity.${kind}`, { name: who, place, reaction });
}

/** The name of who acted; a webhook is known by its message alone. */
function nameOf(ctx, { kind, message }, actor) {
  const known = ctx.model.userName(actor);
  return known ?? (message && kind !== "reaction" ? authorName(ctx, message) : t("activity.somebody"));
}

function wordsOf({ content, images = [], files = [] }) {
  const names = files.map(({ name }) => name).join(", ");
  return plainText(content) || names || t("message.images", { count: images.length });
}
