// What managers and admins change of a channel: who may do what, who sees it, and whether it is closed.

import { element } from "../../lib/dom.js";
import { t } from "../../lib/strings.js";
import { confirm } from "../dialog.js";
import { field, form } from "../form.js";
import { roomsApi } from "./api.js";
import { explained } from "./explain.js";
import { following } from "./follow.js";
import { titleOf } from "./names.js";
import { makePrivate, makePublic } from "./privacy.js";
import { rightsIn } from "./rights.js";

const POLICIES = ["postPolicy", "invitePolicy", "historyFor"];

/** The section. */
export function manage(ctx, dialog, id) {
  const { model } = ctx;
  const policies = (room) => [room.isPrivate, room.isDefault, room.isArchived, ...POLICIES.map((one) => room[one])];
  const steps = (room) => [rightsIn(model, room), room.isPrivate, room.isArchived, room.isDefault];
  return [
    following(ctx, dialog.signal, id, (room) => rules(ctx, dialog, room), policies),
    following(ctx, dialog.signal, id, (room) => ways(ctx, dialog, room), steps),
  ];
}

function rules(ctx, dialog, room) {
  const { isPrivate, isArchived } = room;
  const { isAdmin } = ctx.model.me;
  const choice = (name, values, value) => {
    const options = Object.fromEntries(values.map((one) => [one, t(`rooms.${name}_${one}`)]));
    const made = field({ name, label: t(`rooms.${name}`), options, value });
    made.input.dataset.begun = value;
    return made;
  };
  const fields = [
    choice("postPolicy", ["everyone", "managers"], room.postPolicy ?? "everyone"),
    isPrivate && choice("invitePolicy", ["members", "managers"], room.invitePolicy ?? "members"),
    isPrivate && choice("historyFor", ["all", "joiners"], room.historyFor ?? "all"),
    !isPrivate && isAdmin && choice("isDefault", ["true", "false"], String(Boolean(room.isDefault))),
  ].filter(Boolean);
  if (isArchived) return [];
  return [
    form({
      fields,
      action: t("common.save"),
      kind: "plain",
      send: async ({ isDefault, ...values }) => {
        const change = isDefault === undefined ? values : { ...values, isDefault: isDefault === "true" };
        await roomsApi(ctx).change(room.id, change);
        for (const { input } of fields) input.dataset.begun = input.value;
        dialog.say(t("common.saved"));
      },
      explain: (error) => ({ field: "postPolicy", text: explained(error) }),
    }),
  ];
}

function ways(ctx, dialog, room) {
  const rights = rightsIn(ctx.model, room);
  return [
    rights.makePrivate &&
      !room.isArchived &&
      way("rooms.make_private", "rooms.make_private_short", () => makePrivate(ctx, dialog, room)),
    rights.makePublic &&
      !room.isArchived &&
      way("rooms.make_public", "rooms.make_public_short", () => makePublic(ctx, dialog, room)),
    rights.archive && !room.isArchived && way("rooms.archive", "rooms.archive_short", () => archive(ctx, dialog, room)),
    rights.archive &&
      room.isArchived &&
      way("rooms.unarchive", "rooms.unarchive_short", () => unarchive(ctx, room, dialog.say)),
    rights.destroy && way("rooms.destroy", "rooms.destroy_short", () => destroy(ctx, room)),
  ];
}

function way(label, words, act) {
  const button = element("button", { class: "button", type: "button", on: { click: act } }, t(label));
  return element("div", { class: "room-way" }, element("p", { class: "soft" }, t(words)), button);
}

async function archive(ctx, dialog, room) {
  const name = titleOf(ctx, room);
  const isDone = await confirm(ctx, {
    title: t("rooms.archive_title", { name }),
    lead: t("rooms.archive_lead"),
    action: t("rooms.archive"),
    act: () => roomsApi(ctx).archive(room.id),
    explain: explained,
  });
  if (isDone) dialog.say(t("rooms.is_closed", { name }));
}

/** Delete it, for everybody; the dialog goes with the room. */
async function destroy(ctx, { id, name }) {
  const isDone = await confirm(ctx, {
    title: t("admin.channel_remove_title", { name }),
    lead: t("admin.channel_remove_lead"),
    action: t("rooms.destroy"),
    act: () => roomsApi(ctx).remove(id),
    explain: explained,
  });
  if (isDone) ctx.toast(t("admin.channel_removed", { name }));
}

/** Open an archived channel again; `say` tells what came of it. */
export async function unarchive(ctx, room, say) {
  try {
    await roomsApi(ctx).unarchive(room.id);
    say(t("rooms.unarchived", { name: titleOf(ctx, room) }));
  } catch (error) {
    say(explained(error));
  }
}
