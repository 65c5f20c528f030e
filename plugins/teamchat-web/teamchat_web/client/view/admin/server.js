// The name of the server.

import { t } from "../../lib/strings.js";
import { checks, field, form } from "../form.js";

/** The section. */
export function server(ctx, dialog) {
  const name = field({
    name: "name",
    label: t("admin.server_name"),
    hint: t("admin.server_hint"),
    value: ctx.model.serverName,
    maxlength: "80",
    check: checks.given,
  });
  const change = form({
    fields: [name],
    action: t("common.save"),
    kind: "plain",
    send: async (values) => {
      await ctx.api.setServerName(values.name);
      dialog.say(t("common.saved"));
    },
    explain: ({ status, message }) => status === 400 && { field: "name", text: message },
  });
  return [change];
}
