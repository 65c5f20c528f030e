// What one keeps in a dialog, newest first, kept true for as long as it is open.

import { drop, isAhead, openItem, when } from "./item.js";

const SHOWN = 50;

/** What is told of a message that is kept: its note, and when one is or was reminded. */
export function told(teamchat, { note, remindAt }) {
  const key = isAhead({ remindAt }) ? "reminder" : "reminded";
  return joined(note, remindAt !== null && teamchat.t(key, { time: when(teamchat, remindAt) }));
}

export function joined(...parts) {
  return parts.filter(Boolean).join(" · ");
}

/** Open the list. */
export function openSaved(teamchat, saved, { hasReminders }) {
  const { t, element } = teamchat;
  let most = SHOWN;
  const say = (text) => dialog.say(text);
  const list = teamchat.messageList({
    label: t("title"),
    none: t("none"),
    detail: (message) => joined(teamchat.roomOf(message.channelId)?.label, told(teamchat, saved.of(message))),
    actions: (message) => [
      { icon: "clock", label: t("change"), act: () => openItem(teamchat, saved, message, { hasReminders, say }) },
      { icon: "check", label: t("done"), act: () => done(message) },
    ],
  });
  const more = element("button", { type: "button", class: "button", on: { click: showMore } }, t("more"));

  async function done(message) {
    if (await drop(teamchat, saved, message)) say(t("removed"));
  }

  function draw() {
    const { items } = saved;
    list.draw(items.slice(0, most).map(({ message }) => message));
    more.hidden = items.length <= most;
  }

  function showMore() {
    const first = most;
    most += SHOWN;
    draw();
    list.node.children[first]?.querySelector("button").focus();
  }

  draw();
  const dialog = teamchat.dialog({ title: t("title") }, element("div", { class: "dialog-body" }, list.node, more));
  const end = saved.onChange(draw);
  dialog.node.addEventListener("close", end);
}
