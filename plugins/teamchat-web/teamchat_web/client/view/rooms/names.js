// What rooms are called, and the sign that stands before their names.

import { t } from "../../lib/strings.js";

/** How a room is spoken of: "#General", or, of a group, who is in it. */
export function titleOf({ model }, { id, name }) {
  return model.place(id)?.label ?? name;
}

/** The icon of a room. */
export function signOf({ kind = "channel", isPrivate = false }) {
  if (kind === "group") return "users";
  if (kind === "notes") return "edit";
  return isPrivate ? "lock" : "hash";
}

/** What a room is, in words. */
export function kindOf({ kind = "channel", isPrivate = false }) {
  if (kind !== "channel") return t(`rooms.kind_${kind}`);
  return t(isPrivate ? "rooms.kind_private" : "rooms.kind_public");
}
