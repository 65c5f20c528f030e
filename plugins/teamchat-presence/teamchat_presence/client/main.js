// Who is there, and who types: dots at people's names, a line below the field, and what others are told of oneself.

import { Dots } from "./dots.js";
import { Showing } from "./showing.js";
import { ownStatus } from "./own.js";
import { Typists } from "./typists.js";

export default function (teamchat) {
  const { t } = teamchat;
  const dots = new Dots(teamchat);
  const showing = new Showing(teamchat, () => dots.people);
  const typists = new Typists(teamchat);
  dots.onPeople(() => showing.tell());

  teamchat.on("CONNECTED", ({ connectionId }) => {
    showing.connected(connectionId);
    dots.read();
  });
  teamchat.on("PRESENCE_UPDATE", (presence) => dots.told(presence));
  teamchat.on("TYPING", (typing) => typists.told(typing));
  for (const type of ["NEW_MESSAGE", "NEW_DM_MESSAGE", "NEW_THREAD_REPLY"]) {
    teamchat.on(type, (message) => typists.posted(message.reply ?? message));
  }
  teamchat.onRoom((room) => showing.watch(room));
  const drawn = teamchat.composerNotes.add({
    label: (about) => typists.words(about),
    typed: (about) => typists.typed(about),
  });
  typists.onChange(drawn);
  teamchat.settings.add({ icon: "user", label: t("title"), make: (dialog) => ownStatus(teamchat, dialog) });
}
