// Webhooks: making one, and removing it. The token of a new one is shown once, with a command to try it.

import { element } from "../../lib/dom.js";
import { t } from "../../lib/strings.js";
import { confirm } from "../dialog.js";
import { checks, field, form } from "../form.js";
import { row } from "../rows.js";
import { loaded } from "./list.js";
import { showToken } from "./webhook_token.js";

/** The section. */
export function webhooks(ctx, dialog) {
  const list = loaded(ctx, {
    label: t("admin.webhooks"),
    none: t("admin.webhooks_none"),
    event: "webhooks",
    load: () => ctx.api.webhooks(),
    line: (webhook) => line(ctx, dialog, webhook),
    signal: dialog.signal,
  });
  return [element("p", { class: "soft" }, t("admin.webhook_lead")), adder(ctx, list), ...list.nodes];
}

function adder(ctx, list) {
  const places = Object.fromEntries(ctx.model.sortedChannels().map(({ id, name }) => [id, `#${name}`]));
  const named = { name: "name", label: t("admin.webhook_name"), maxlength: "80", check: checks.given };
  const fields = [
    field({ ...named, autocomplete: "off" }),
    field({ name: "channelId", label: t("admin.webhook_channel"), options: places, check: checks.given }),
  ];
  return form({
    fields,
    action: t("admin.webhook_add"),
    kind: "line",
    send: async (values, node) => {
      showToken(ctx, await ctx.api.addWebhook(values));
      node.reset();
      list.reload();
    },
    explain: ({ status, message }) => status === 400 && { field: "name", text: message },
  });
}

function line(ctx, dialog, { id, name, channelId }) {
  const channel = ctx.model.channels.get(channelId)?.name ?? "…";
  const label = t("admin.webhook_remove", { name });
  return row({
    id,
    title: name,
    detail: t("admin.webhook_in", { name: channel }),
    actions: [{ icon: "trash", label, act: () => remove(ctx, dialog, id, name) }],
  });
}

async function remove(ctx, dialog, id, name) {
  const isDone = await confirm(ctx, {
    title: t("admin.webhook_remove_title", { name }),
    lead: t("admin.webhook_remove_lead"),
    action: t("common.remove"),
    act: () => ctx.api.removeWebhook(id),
  });
  if (isDone) dialog.say(t("admin.webhook_removed", { name }));
}
