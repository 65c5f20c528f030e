// Quotes in the web client: a tool and a key to quote a message where it stands, and one to pass it on elsewhere; what is
// quoted above the text of a message, and above the field of a composer.

import { forward } from "./forward.js";
import { Pending } from "./pending.js";
import { Shown } from "./shown.js";
import { quoteView } from "./view.js";

const QUOTE = "M5 17h4l2-4V7H5v6h3zM14 17h4l2-4V7h-6v6h3z";
const FORWARD = "M13 5l7 7-7 7M20 12H9a5 5 0 0 0-5 5v2";

export default function (teamchat) {
  const { t, posts } = teamchat;
  teamchat.addIcon("quote", QUOTE);
  teamchat.addIcon("forward", FORWARD);
  const shown = new Shown(teamchat);
  let redraw = () => {};
  const pending = new Pending(teamchat, () => redraw());

  teamchat.messageTools.add({
    icon: "quote",
    label: t("quote"),
    keys: ["q"],
    keyHelp: t("quote_key"),
    run: (message) => {
      pending.set({ place: message.place, parentId: message.parentId ?? null }, message.id);
      teamchat.announce(t("quoting", { name: message.author.userName }));
      teamchat.compose(message);
    },
  });
  teamchat.messageTools.add({
    icon: "forward",
    label: t("forward"),
    keys: ["f"],
    keyHelp: t("forward_key"),
    inArchived: () => true,
    run: (message) => forward(teamchat, message, shown),
  });
  teamchat.messageBlocks.add({
    isFor: (message) => Boolean(shown.idIn(message)),
    make: (message) => {
      const id = shown.idIn(message);
      return id && quoteView(teamchat, shown.in(message, id), { id });
    },
  });
  redraw = posts.add({
    fields: (about) => pending.fields(about),
    isWhole: (about) => Boolean(pending.get(about)),
    kept: (about) => pending.fields(about),
    restore: (about, { quotedMessageId = null }) => pending.set(about, quotedMessageId),
    sent: (about) => pending.set(about, null),
    letGo: (about) => pending.letGo(about),
    show: (about) => {
      const id = pending.get(about);
      return id && quoteView(teamchat, shown.of(id, () => redraw()), { id, letGo: () => pending.letGo(about) });
    },
  });

  for (const kind of ["MESSAGE", "DM_MESSAGE", "THREAD_REPLY"]) {
    teamchat.on(`UPDATE_${kind}`, (message) => shown.edited(message));
    teamchat.on(`DELETE_${kind}`, (message) => shown.deleted(message));
  }
  for (const type of ["DELETE_CHANNEL", "NEW_CHANNEL"]) teamchat.on(type, () => shown.forget());
  teamchat.load(() => shown.forget());
}
