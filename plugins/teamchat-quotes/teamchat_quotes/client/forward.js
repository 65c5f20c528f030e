// Passing a message on: a place is chosen, and a text if one likes. The post quotes the message, so that each who reads it is
// shown what they see.

/** Ask where a message is to go, and post it there. */
export function forward(teamchat, message) {
  const { t, api, element, field, form } = teamchat;
  const rooms = teamchat.rooms.filter(({ id }) => id !== message.place?.id);
  const label = (room) => room.label;
  const options = Object.fromEntries(rooms.map((room) => [room.id, label(room)]));
  const key = api.newKey();
  const asked = form({
    fields: [
      field({ name: "room", label: t("where"), options }),
      field({ name: "content", label: t("text"), maxlength: 2000 }),
    ],
    action: t("forward_do"),
    send: async ({ room: id, content = "" }) => {
      const { kind } = teamchat.roomOf(id);
      const address = kind === "channel" ? api.path`/channels/${id}/messages` : api.path`/conversations/${id}/messages`;
      await api.post(address, { content: content.trim(), quotedMessageId: message.id }, { key });
      dialog.close();
      const room = teamchat.roomOf(id);
      teamchat.toast(t("forwarded", { name: label(room) }), { action: { label: t("show"), run: () => teamchat.go(room) } });
    },
  });
  const dialog = teamchat.dialog({ title: t("forward") }, element("div", { class: "dialog-body" }, element("p", { class: "soft small" }, t("discloses")), asked));
}
