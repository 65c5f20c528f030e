// Adding people to a room, and giving a group a name, which makes it a private channel.

import { element } from "../../lib/dom.js";
import { t } from "../../lib/strings.js";
import { openDialog } from "../dialog.js";
import { checks, field, form } from "../form.js";
import { show } from "../problems.js";
import { roomsApi } from "./api.js";
import { chooser } from "./chooser.js";
import { explained } from "./explain.js";
import { titleOf } from "./names.js";

const MOST = 200; // at once (extension B)
const MOST_IN_GROUP = 9;
const MOST_KNOWN = 1000; // members of whom it is looked up that they are in it already

/** Choose people, and add them. */
export function addPeople(ctx, dialog, room, roll) {
  const isGroup = room.kind === "group";
  const chosen = chooser(ctx, {
    label: t("rooms.people"),
    isOffered: ({ id }) => !roll.has(id),
    most: isGroup ? Math.max(1, MOST_IN_GROUP - roll.count) : MOST,
  });
  const problem = element("p", { class: "note note-danger", role: "alert", hidden: true });
  const add = element("button", { class: "button button-primary", type: "button" }, t("rooms.add"));
  const asked = openDialog(
    ctx,
    { title: t("rooms.add_title", { room: titleOf(ctx, room) }) },
    element("div", { class: "dialog-body stack" }, element("p", { class: "soft" }, t(leadOf(room))), chosen.node, problem),
    element("div", { class: "dialog-foot" }, add),
  );
  chosen.focus();
  roll.seek(() => roll.count > MOST_KNOWN); // So that who is in it is not offered; the server passes over them.
  add.addEventListener("click", async () => {
    const userIds = chosen.ids;
    if (!userIds.length) return show(problem, new Error(), t("rooms.choose_somebody"));
    if (add.ariaBusy === "true") return null;
    add.ariaBusy = "true";
    try {
      const api = roomsApi(ctx);
      const { added = userIds } = await (isGroup ? api.addToGroup(room.id, userIds) : api.addMembers(room.id, userIds));
      asked.close();
      return dialog.say(t("rooms.added", { count: added.length }));
    } catch (error) {
      return show(problem, error, explained(error));
    } finally {
      add.ariaBusy = null;
    }
  });
}

/** What who is added will see of what was said before. */
function leadOf({ kind, isPrivate, historyFor }) {
  if (kind === "group") return "rooms.add_group";
  if (!isPrivate) return "rooms.add_public";
  return historyFor === "joiners" ? "rooms.add_joiners" : "rooms.add_all";
}

/** Give a group a name. */
export function nameGroup(ctx, dialog, room) {
  const name = field({
    name: "name",
    label: t("common.name"),
    maxlength: "80",
    autocomplete: "off",
    check: checks.given,
  });
  const make = form({
    fields: [name],
    action: t("rooms.name_group"),
    send: async (values) => {
      await roomsApi(ctx).convertGroup(room.id, values.name);
      asked.close();
      dialog.say(t("rooms.group_named", { name: values.name }));
    },
    explain: (error) => ({ field: "name", text: explained(error) }),
  });
  const lead = element("p", { class: "note note-warn" }, t("rooms.name_group_lead"));
  const body = element("div", { class: "dialog-body stack" }, lead, make);
  const asked = openDialog(ctx, { title: t("rooms.name_group") }, body);
  name.input.focus();
}
