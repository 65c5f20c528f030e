// The pinned messages of a room in a dialog, kept true for as long as it is open.

import { mayPin } from "./policy.js";

/** Who has pinned a message, in words. */
export function pinnedBy({ t, userName }, message) {
  return t("by", { name: userName(message.pinnedBy) ?? t("somebody") });
}

/** Open the list. */
export async function openPins(teamchat, pins, room) {
  const { t, element } = teamchat;
  const title = t("in", { name: room.label });
  const list = teamchat.messageList({
    label: title,
    none: t("none"),
    detail: (message) => pinnedBy(teamchat, message),
    actions: (message) =>
      mayPin(teamchat, room) ? [{ icon: "close", label: t("unpin"), act: () => unpin(message) }] : [],
  });
  let asked = 0;

  /** Of two answers that cross, the one asked for last is drawn. */
  async function read() {
    const mine = ++asked;
    const messages = await pins.list(room);
    if (mine === asked) list.draw(messages);
  }

  async function unpin(message) {
    try {
      if (await pins.set(message, false)) dialog.say(t("unpinned"));
    } catch (error) {
      dialog.say(teamchat.words(error));
    }
  }

  await read();
  const dialog = teamchat.dialog({ title }, element("div", { class: "dialog-body" }, list.node));
  const end = pins.onChange(() => read().catch((error) => dialog.say(teamchat.words(error))));
  dialog.node.addEventListener("close", end);
}
