// How a place looks: its sign, and what stands above its first message.
import { element, icon } from "../lib/dom.js";
import { t } from "../lib/strings.js";
import { avatar } from "./people.js";

/** The sign of a place: whom one writes to, or what it is. A lock is told in words as well. */
export function signOf({ model }, { id, type, title }) {
  if (type === "direct") return avatar({ ...model.conversations.get(id).otherUser, userName: title });
  if (type === "notes") return avatar(model.me);
  if (type === "group") return icon("users");
  const words = { class: "visually-hidden" };
  return type === "private" ? [icon("lock"), element("span", words, t("sidebar.private"))] : icon("hash");
}

/** What stands above the first message of a place. */
export function beginning(ctx, id) {
  const place = ctx.model.place(id);
  const words = place.type === "direct" ? "timeline.start_person" : "timeline.start_channel";
  return element(
    "div",
    { class: "beginning" },
    signOf(ctx, place),
    element("h2", { dir: "auto" }, place.title),
    element("p", { class: "soft" }, t(words, { name: place.label })),
  );
}
