// The channels an admin is not in: what is known of them (never what was said there), and the way in, which all
// members are told.

import { element } from "../../lib/dom.js";
import { day, t } from "../../lib/strings.js";
import { confirm, openDialog } from "../dialog.js";
import { checks, field, form } from "../form.js";
import { loaded } from "../admin/list.js";
import { row } from "../rows.js";
import { roomsApi } from "./api.js";
import { explained } from "./explain.js";

/** The private channels one is not in, as a part of the section of channels. */
export function hiddenChannels(ctx, dialog) {
  const { model } = ctx;
  const list = loaded(ctx, {
    label: t("rooms.hidden"),
    none: t("rooms.hidden_none"),
    event: "channels",
    load: async () => (await all(ctx)).filter((one) => one.isPrivate && !model.channels.has(one.id)),
    line: (channel) => line(ctx, dialog, channel, () => list.reload()),
    signal: dialog.signal,
  });
  return [
    element("h4", {}, t("rooms.hidden")),
    element("p", { class: "soft" }, t("rooms.hidden_lead")),
    ...list.nodes,
  ];
}

async function all(ctx) {
  const found = [];
  for (let cursor; cursor !== null; ) {
    const { channels, next } = await roomsApi(ctx).allChannels({ cursor });
    found.push(...channels);
    cursor = next;
  }
  return found;
}

function line(ctx, dialog, channel, reload) {
  const { id, name, memberCount, isArchived, lastMessageAt, createdBy } = channel;
  const maker = ctx.model.userName(createdBy);
  const words = [
    t("rooms.count", { count: memberCount }),
    maker && t("rooms.made_by_short", { name: maker }),
    lastMessageAt && t("rooms.last_message", { day: day(lastMessageAt) }),
  ];
  return row({
    id,
    title: name,
    tags: [isArchived && t("rooms.is_archive")],
    detail: words.filter(Boolean).join(" · "),
    actions: [
      ctx.model.may.includes("enter-channels") && {
        text: t("rooms.enter"),
        label: t("rooms.enter_name", { name }),
        act: () => enter(ctx, dialog, channel),
      },
      { icon: "trash", label: t("admin.channel_remove", { name }), act: () => remove(ctx, dialog, channel, reload) },
    ],
  });
}

function enter(ctx, dialog, { id, name }) {
  const reason = field({
    name: "reason",
    label: t("rooms.reason"),
    hint: t("rooms.reason_hint"),
    maxlength: "500",
    autocomplete: "off",
    check: checks.given,
  });
  const ask = form({
    fields: [reason],
    action: t("rooms.enter"),
    send: async (values) => {
      await roomsApi(ctx).enter(id, values.reason);
      asked.close();
      dialog.say(t("rooms.entered", { name }));
    },
    explain: (error) => ({ field: "reason", text: explained(error) }),
  });
  const warning = element("p", { class: "note note-warn" }, t("rooms.enter_lead", { name }));
  const body = element("div", { class: "dialog-body stack" }, warning, ask);
  const asked = openDialog(ctx, { title: t("rooms.enter_title", { name }) }, body);
  reason.input.focus();
}

async function remove(ctx, dialog, { id, name }, reload) {
  const isDone = await confirm(ctx, {
    title: t("admin.channel_remove_title", { name }),
    lead: t("admin.channel_remove_lead"),
    action: t("common.remove"),
    act: () => roomsApi(ctx).removeAny(id),
    explain: explained,
  });
  if (!isDone) return;
  reload();
  dialog.say(t("admin.channel_removed", { name }));
}
