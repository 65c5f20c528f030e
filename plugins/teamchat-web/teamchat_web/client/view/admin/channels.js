// Channels: adding, renaming, removing.

import { element } from "../../lib/dom.js";
import { t } from "../../lib/strings.js";
import { confirm, openDialog } from "../dialog.js";
import { checks, field, form } from "../form.js";
import { hiddenChannels } from "../rooms/entering.js";
import { row } from "../rows.js";
import { loaded } from "./list.js";

/** The section. */
export function channels(ctx, dialog) {
  const list = loaded(ctx, {
    label: t("admin.channels"),
    none: t("admin.channels_none"),
    event: "channels",
    load: async () => (await ctx.api.channels()).channels.filter(({ kind = "channel" }) => kind === "channel"),
    line: (channel) => line(ctx, dialog, channel),
    signal: dialog.signal,
  });
  const add = nameForm({
    action: t("admin.channel_add"),
    kind: "line",
    send: async (name, node) => {
      await ctx.api.addChannel(name);
      node.reset();
      list.reload();
      dialog.say(t("admin.channel_added", { name }));
    },
  });
  const hidden = ctx.model.capabilities["private-channels"] ? hiddenChannels(ctx, dialog) : [];
  return [add, ...list.nodes, ...hidden];
}

function nameForm({ value = "", action, kind, send }) {
  const name = field({ name: "name", label: t("common.name"), value, maxlength: "80", check: checks.given });
  return form({
    fields: [name],
    action,
    kind,
    send: (values, node) => send(values.name, node),
    explain: ({ status, message }) =>
      status === 400 && {
        field: "name",
        text: message.includes("exists") ? t("admin.channel_taken") : message,
      },
  });
}

function line(ctx, dialog, channel) {
  const { id, name } = channel;
  return row({
    id,
    title: `#${name}`,
    tags: [channel.isPrivate && t("rooms.private"), channel.isArchived && t("rooms.is_archive")],
    actions: [
      { icon: "edit", label: t("admin.channel_rename", { name }), act: () => rename(ctx, channel) },
      { icon: "trash", label: t("admin.channel_remove", { name }), act: () => remove(ctx, dialog, channel) },
    ],
  });
}

function rename(ctx, { id, name }) {
  const change = nameForm({
    value: name,
    action: t("common.rename"),
    send: async (newName) => {
      await ctx.api.renameChannel(id, newName);
      asked.close();
    },
  });
  const body = element("div", { class: "dialog-body" }, change);
  const asked = openDialog(ctx, { title: t("admin.channel_rename_title", { name }) }, body);
  change.elements.name.select();
}

async function remove(ctx, dialog, { id, name }) {
  const isDone = await confirm(ctx, {
    title: t("admin.channel_remove_title", { name }),
    lead: t("admin.channel_remove_lead"),
    action: t("common.remove"),
    act: () => ctx.api.removeChannel(id),
  });
  if (isDone) dialog.say(t("admin.channel_removed", { name }));
}
