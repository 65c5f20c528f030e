// What administrators change: one dialog, a module for each section. The server decides what is allowed; the
// events of the stream bring every change back here, whoever made it.

import { Administration } from "../../api/administration.js";
import "../../lib/more_strings.js";
import { t } from "../../lib/strings.js";
import { extensionSections, openSections } from "../sections.js";
import { audit } from "./audit.js";
import { channels } from "./channels.js";
import { server } from "./server.js";
import { users } from "./users.js";
import { webhooks } from "./webhooks.js";

/**
 * Open the administration.
 * @param {object} ctx
 * @param {"users"|"channels"|"webhooks"|"server"} [first] the section to begin with
 */
export function openAdmin(ctx, first) {
  const sections = () => [
    { id: "users", label: t("admin.users"), icon: "users", make: users },
    { id: "channels", label: t("admin.channels"), icon: "hash", make: channels },
    { id: "webhooks", label: t("admin.webhooks"), icon: "plug", make: webhooks },
    { id: "server", label: t("admin.server"), icon: "sliders", make: server },
    ...(ctx.model.capabilities.audit ? [{ id: "audit", label: t("admin.audit"), icon: "clock", make: audit }] : []),
    ...extensionSections(ctx, "administration"),
  ];
  const api = new Administration(ctx.api);
  return openSections({ ...ctx, api }, { title: t("admin.title"), sections, slot: "administration", first });
}
