// Saved messages in the web client: a tool and a key that save a message, a mark on what is saved, and the list of it,
// from the sidebar and the palette.

import { openItem } from "./item.js";
import { joined, openSaved, told } from "./list.js";
import { Saved } from "./saved.js";

const FLAG = "M7 4h10v16l-5-4-5 4z";

export default function (teamchat) {
  const { t } = teamchat;
  const saved = new Saved(teamchat);
  const server = { hasReminders: false };
  const say = (text) => teamchat.announce(text);
  const open = () => openSaved(teamchat, saved, server);
  teamchat.addIcon("flag", FLAG);

  const tools = teamchat.messageTools.add({
    icon: "flag",
    label: (message) => t(saved.of(message) ? "change" : "save"),
    keys: ["s"],
    keyHelp: t("key"),
    inArchived: () => true,
    run: async (message) => {
      if (saved.of(message)) return openItem(teamchat, saved, message, { ...server, say });
      await saved.keep(message);
      return say(t(server.hasReminders ? "saved_hint" : "saved"));
    },
  });
  const marks = teamchat.messageMarks.add({
    icon: "flag",
    label: (message) => {
      const item = saved.of(message);
      return item && joined(t("saved"), told(teamchat, item));
    },
  });
  teamchat.sidebar.add({ icon: "flag", label: t("title"), run: open });
  teamchat.palette.add({ icon: "flag", label: t("title"), run: open });

  saved.onChange(() => (tools(), marks()));
  teamchat.load(() => learn(teamchat, server));
  const read = teamchat.load(() => saved.read());
  const readWanted = teamchat.load(() => saved.readWanted());
  teamchat.on("SAVED_CHANGED", (change) => (saved.heard(change), readWanted()));
  teamchat.on("NEW_ACTIVITY", ({ kind, messageId }) => kind === "reminder" && saved.reminded({ id: messageId }));
  teamchat.on("DELETE_CHANNEL", (room) => saved.lost(room));
  teamchat.on("NEW_CHANNEL", (room) => saved.mayHave(room) && read());
  for (const kind of ["MESSAGE", "DM_MESSAGE", "THREAD_REPLY"]) {
    teamchat.on(`UPDATE_${kind}`, (message) => saved.edited(message.reply ?? message));
    teamchat.on(`DELETE_${kind}`, (message) => saved.deleted(message));
  }
}

/** Whether this server reminds: where there is activity, in which reminders arrive. */
async function learn({ api }, server) {
  const { capabilities } = await api.get("/capabilities");
  server.hasReminders = Boolean(capabilities.activity);
}
