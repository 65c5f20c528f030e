// The files of a room, the newest first, in a dialog: by message, each leading to it.

/** Open the list. */
export async function openList(teamchat, blocks, room) {
  const { t, element, api } = teamchat;
  const title = t("in", { name: room.kind === "channel" ? `#${room.title}` : room.title });
  const list = element("ul", { class: "files-all", "aria-label": title });
  const more = element("button", { type: "button", class: "button button-quiet", hidden: true, on: { click: read } }, t("more"));
  const none = element("p", { class: "soft", hidden: true }, t("none"));
  const home = room.kind === "channel" ? api.path`/channels/${room.id}/files` : api.path`/conversations/${room.id}/files`;
  let cursor = null;
  await read();
  const dialog = teamchat.dialog({ title }, element("div", { class: "dialog-body" }, none, list, more));

  async function read() {
    const { messages, next } = await api.get(cursor ? `${home}?cursor=${encodeURIComponent(cursor)}` : home);
    cursor = next;
    more.hidden = !next;
    const first = list.children.length;
    list.append(...messages.flatMap((message) => message.files.map((file) => entry(message, file))));
    none.hidden = list.children.length > 0;
    if (first && list.children[first]) list.children[first].querySelector("button")?.focus();
  }

  function entry(message, file) {
    const name = teamchat.userName(message.author.id) ?? message.author.userName;
    const open = () => {
      dialog.close();
      teamchat.messages.open(message);
    };
    const from = t("from", { name, date: teamchat.dateTime(message.createdAt) });
    const link = element("button", { type: "button", class: "link small", on: { click: open } }, from);
    return element("li", {}, blocks.view(file), link);
  }
}
