// Pinned messages in the web client: a tool and a key to pin, a mark on what is pinned, and the pins of the room that
// is open, in its head and in the palette.

import { Pins } from "./pins.js";
import { openPins, pinnedBy } from "./list.js";
import { mayPin } from "./policy.js";

const PIN = "M9 4h6l-1 6 3.5 3.5h-11L10 10zM12 13.5V20";

export default function (teamchat) {
  const { t } = teamchat;
  const pins = new Pins(teamchat);
  const toggle = async (message) => {
    const isPinned = !message.pinnedAt;
    if (await pins.set(message, isPinned)) teamchat.announce(t(isPinned ? "pinned" : "unpinned"));
  };
  teamchat.addIcon("pin", PIN);

  teamchat.messageTools.add({
    icon: "pin",
    label: ({ pinnedAt }) => t(pinnedAt ? "unpin" : "pin"),
    keys: ["p"],
    keyHelp: t("key"),
    isFor: ({ place }) => mayPin(teamchat, place),
    inArchived: ({ pinnedAt }) => Boolean(pinnedAt), // There a pin can still be taken away.
    run: toggle,
  });
  teamchat.messageMarks.add({
    icon: "pin",
    label: (message) => message.pinnedAt && pinnedBy(teamchat, message),
  });
  const counted = teamchat.roomHeader.add({
    icon: "pin",
    label: ({ id }) => pins.count(id) && t("count", { count: pins.count(id) }),
    count: ({ id }) => pins.count(id),
    run: (room) => openPins(teamchat, pins, room),
  });
  teamchat.palette.add({
    icon: "pin",
    label: t("title"),
    isFor: (room) => room !== null,
    run: (room) => openPins(teamchat, pins, room),
  });

  pins.onChange(counted);
  teamchat.on("MESSAGE_PINNED", (pin) => pins.pinned(pin));
  teamchat.on("MESSAGE_UNPINNED", (pin) => pins.unpinned(pin));
  for (const kind of ["MESSAGE", "DM_MESSAGE", "THREAD_REPLY"]) {
    teamchat.on(`UPDATE_${kind}`, (message) => pins.edited(message.reply ?? message));
    teamchat.on(`DELETE_${kind}`, (message) => pins.deleted(message));
  }
  teamchat.onRoom((room) => pins.open(room));
}
