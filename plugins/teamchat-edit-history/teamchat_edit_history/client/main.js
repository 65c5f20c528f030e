// What edited messages said before, in the web client: a tool and a key for who may read it, and a list from which the
// author drops it.

const HISTORY = "M4.5 5v4.5H9M5 9.2A8 8 0 1 1 4 13M12 8v4.5l3 2";
const AUTHOR = 1;
const EVERYONE = 2;

export default function (teamchat) {
  const { t, limits } = teamchat;
  teamchat.addIcon("history", HISTORY);
  const isMine = ({ author }) => author.id === teamchat.me.id;
  const isManagers = ({ channelId }) => teamchat.roomOf(channelId)?.type.match(/public|private/) && teamchat.roomOf(channelId).role === "manager";
  const mayRead = (message) =>
    limits.readers === EVERYONE || (limits.readers === AUTHOR && (isMine(message) || isManagers(message)));

  teamchat.messageTools.add({
    icon: "history",
    label: t("open"),
    keys: ["h"],
    keyHelp: t("open"),
    isFor: (message) => Boolean(message.updatedAt) && mayRead(message),
    inArchived: () => true,
    run: (message) => openHistory(teamchat, message, isMine(message)),
  });
}

async function openHistory(teamchat, message, isOwn) {
  const { t, api, element, row, list } = teamchat;
  const address = api.path`/messages/${message.id}/history`;
  const read = async () => (await api.get(address)).revisions;
  const shown = list({ label: t("title"), none: t("none") });
  let revisions = await read();
  const drop = element("button", { type: "button", class: "button button-danger", on: { click: ask } }, t("drop"));
  const foot = isOwn && element("div", { class: "dialog-foot" }, drop);
  draw();
  const dialog = teamchat.dialog(
    { title: t("title") },
    element("div", { class: "dialog-body" }, element("p", { class: "soft small" }, t("order")), shown.node),
    foot,
  );

  function draw() {
    shown.draw(revisions.map(entry));
    if (foot) foot.hidden = revisions.length < 2;
  }

  function entry({ content, at }, number) {
    return row({
      id: String(at),
      title: teamchat.dateTime(at),
      tags: [number === 0 && t("now")],
      detail: content || t("empty"),
    });
  }

  async function ask() {
    const act = () => api.delete(address);
    if (!(await teamchat.confirm({ title: t("drop_title"), lead: t("drop_lead"), action: t("drop"), act }))) return;
    revisions = await read();
    draw();
    dialog.say(t("dropped"));
    shown.node.focus();
  }
}
