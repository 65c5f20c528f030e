// Bots: a section of the administration, and of the settings where everyone makes them (`chat.botsBy`).

import { bots } from "./bots.js";

const HEAD = "M12 3v4M6 7h12a2 2 0 0 1 2 2v8a2 2 0 0 1-2 2H6a2 2 0 0 1-2-2V9a2 2 0 0 1 2-2zM9 12v2M15 12v2M2 12v3M22 12v3";

export default function (teamchat) {
  const { t, limits } = teamchat;
  teamchat.addIcon("bot", HEAD);
  const section = { icon: "bot", label: t("title"), make: (dialog) => bots(teamchat, dialog) };
  teamchat.administration.add(section);
  if (limits.byEveryone) teamchat.settings.add({ ...section, isFor: () => !teamchat.me.isAdmin });
}
