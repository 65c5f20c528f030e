// The menu of the server: settings, administration for whom it is, and the list of keys.
import "../lib/more_strings.js";
import { part } from "../lib/parts.js";
import { t } from "../lib/strings.js";
import { openMenu } from "./popup.js";
import { admin, settings } from "./sidebar.js";

/** Opens the menu beside the button that has it. */
export function openServerMenu(ctx, button) {
  const items = [
    { icon: "settings", label: t("settings.title"), run: () => settings(ctx) },
    ctx.model.capabilities.membership && {
      icon: "hash",
      label: t("rooms.browse"),
      run: async () => (await part(import("./rooms/browse.js"))).openBrowse(ctx),
    },
    ctx.model.readStates && {
      icon: "check",
      label: t("unread.mark_all_read"),
      run: async () => (await part(import("./unread/marking.js"))).markAllRead(ctx),
    },
    ctx.model.me.isAdmin && { icon: "shield", label: t("admin.title"), run: () => admin(ctx) },
    {
      icon: "keyboard",
      label: t("shortcuts.title"),
      run: async () => (await part(import("./shortcuts.js"))).openShortcuts(ctx),
    },
  ];
  openMenu(button, items.filter(Boolean));
}
