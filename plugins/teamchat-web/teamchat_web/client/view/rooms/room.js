// One room: what it is about, who is in it, what may be changed. A dialog that follows the room, and goes with it.

import "../../lib/more_strings.js";
import { t } from "../../lib/strings.js";
import { openSections } from "../sections.js";
import { needsSheets } from "../sheet.js";
import { about } from "./about.js";
import { manage } from "./manage.js";
import { members } from "./members.js";
import { titleOf } from "./names.js";
import { rightsIn } from "./rights.js";

needsSheets("rooms");

/**
 * Open the dialog.
 * @param {object} ctx
 * @param {string} id of a channel, a group or one's notes
 * @param {"about"|"members"|"manage"} [first] the section to begin with
 */
export function openRoom(ctx, id, first = "about") {
  const { model } = ctx;
  const room = model.channels.get(id);
  if (!room) return;
  const make = (section) => (_, dialog) => section(ctx, dialog, id);
  const sections = [
    { id: "about", label: t("rooms.about"), icon: "hash", make: make(about) },
    room.kind !== "notes" && { id: "members", label: t("rooms.members"), icon: "users", make: make(members) },
    { id: "manage", label: t("rooms.manage"), icon: "sliders", make: make(manage) },
  ].filter(Boolean);
  const node = openSections(ctx, { title: titleOf(ctx, room), sections: () => sections, first });
  const end = new AbortController();
  node.addEventListener("close", (event) => event.target === node && end.abort());
  const button = (section) => node.querySelector(`[data-section=${section}]`);
  const follow = () => {
    const now = model.channels.get(id);
    if (!now) return node.close();
    node.querySelector("h2").textContent = titleOf(ctx, now);
    button("manage").hidden = !rightsIn(model, now).manage;
    if (button("manage").hidden && button("manage").ariaCurrent) button("about").click();
  };
  for (const type of ["channels", "me"]) model.on(type, follow, AbortSignal.any([ctx.signal, end.signal]));
  follow();
}
