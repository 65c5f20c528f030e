// Passing a file on: a place is chosen, and a text if one likes. What is posted there has a file of one's own, which
// shares the bytes: whoever sees that place has it from then on.

/** Ask where a file is to go, and post it there. */
export function forward(teamchat, file) {
  const { t, api, element, field, form } = teamchat;
  const options = Object.fromEntries(teamchat.rooms.map(({ id, label }) => [id, label]));
  const once = api.newKey();
  const asked = form({
    fields: [
      field({ name: "id", label: t("where"), options, value: teamchat.room?.id }),
      field({ name: "content", label: t("text"), maxlength: 2000 }),
    ],
    action: t("forward_do"),
    send: async ({ id, content = "" }) => {
      const room = teamchat.roomOf(id);
      const key = `${once} ${id}`; // Another place, after one has refused it, is another request.
      const { file: made } = await api.post(api.path`/files/${file.id}/forward`, { placeId: id }, { key });
      const isChannel = room.kind === "channel";
      const home = isChannel ? api.path`/channels/${id}/messages` : api.path`/conversations/${id}/messages`;
      await api.post(home, { content: content.trim(), files: [made.id] }, { key });
      dialog.close();
      const show = { label: t("show"), run: () => teamchat.go(room) };
      teamchat.toast(t("forwarded", { file: file.name, name: room.label }), { action: show });
    },
  });
  const lead = element("p", { class: "soft small" }, t("discloses"));
  const title = t("forward", { name: file.name });
  const dialog = teamchat.dialog({ title }, element("div", { class: "dialog-body" }, lead, asked));
}
