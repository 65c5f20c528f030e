// A message as it stands quoted: who, when, and the beginning of what; a press leads there.

const MOST = 280; // characters

/**
 * Make it.
 * @param {object} teamchat
 * @param {?object} message null where there is none to be seen, undefined until that is known
 * @param {{id: string, letGo?: function(): void}} look `letGo` has a button beside it
 */
export function quoteView(teamchat, message, { id, letGo }) {
  const { t, element, icon } = teamchat;
  const close = letGo && element(
    "button",
    { type: "button", class: "icon-button", "aria-label": t("let_go"), title: `${t("let_go")} (Esc)`, on: { click: letGo } },
    icon("close"),
  );
  return element("div", { class: `quotes-quote${letGo ? " quotes-pending" : ""}` }, content(teamchat, message, id), close);
}

function content({ t, element, ...teamchat }, message, id) {
  if (!message) {
    const words = t(message === null ? "gone" : "loading");
    return element("span", { class: "soft", dataset: { quoted: id } }, words);
  }
  const name = teamchat.userName(message.author.id) || message.author.userName;
  const open = () => teamchat.messages.open(message);
  const look = { type: "button", class: "quotes-link", dataset: { quoted: id }, on: { click: open } };
  return element(
    "button",
    look,
    element("span", { class: "visually-hidden" }, t("quoted"), " "),
    element("span", { class: "quotes-head small" }, element("bdi", {}, name), " ", element("time", { class: "soft" }, teamchat.dateTime(message.createdAt)), place(teamchat, message)),
    " ",
    element("span", { class: "quotes-words", dir: "auto" }, words({ t, ...teamchat }, message)),
  );
}

/** Where it stands, unless that is here. */
function place({ room, roomOf }, { channelId }) {
  const other = room?.id === channelId ? null : roomOf(channelId);
  return other ? ` · ${other.label}` : "";
}

function words({ t, plainText }, { content: text, images = [], files = [] }) {
  const said = plainText(text).trim();
  const short = [...said].length > MOST ? `${[...said].slice(0, MOST).join("")} …` : said;
  const attached = images.length + files.length;
  return short || (attached ? t("attached", { count: attached }) : t("empty"));
}
