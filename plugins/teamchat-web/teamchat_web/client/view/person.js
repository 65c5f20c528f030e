// The card of a person or a bot: who that is, and the way to write to them.

import { element, icon, replace } from "../lib/dom.js";
import "../lib/more_strings.js";
import { dateTime, day, t } from "../lib/strings.js";
import { openDialog } from "./dialog.js";
import { words } from "./notices.js";
import { avatar } from "./people.js";
import { needsSheets } from "./sheet.js";
import { settings } from "./sidebar.js";

needsSheets("people");

/**
 * Open the card.
 * @param {object} ctx
 * @param {HTMLElement} pressed a name (people.js, `leadsToCard`), or the initials beside it
 */
export function openPerson(ctx, pressed) {
  const name = pressed.closest("[data-person]") ?? besideFace(pressed);
  if (!name || ctx.signal.aborted || !getSelection().isCollapsed) return; // A name was selected.
  const about = subject(ctx, name);
  const dialog = openDialog(ctx, { title: about.userName, kind: "person" }, body(about), foot(ctx, about));
  dialog.node.querySelector(".dialog-head").prepend(avatar(about));
  const open = new AbortController();
  const draw = () => dialog.node.querySelector(".dialog-body").replaceWith(body(subject(ctx, name)));
  ctx.model.on("users", draw, open.signal);
  dialog.node.addEventListener("close", () => open.abort());
  dialog.node.addEventListener("click", ({ target }) => {
    const act = { write, profile }[target.closest("[data-act]")?.dataset.act];
    act?.(ctx, about.id, dialog);
  });
}

/** The name in the message whose initials are pressed. */
function besideFace(pressed) {
  return pressed.closest(".message").querySelector(".message-head [data-person]");
}

/** What is known of the one whose name it is: nothing but the name, where they are gone. */
function subject({ model }, { dataset, textContent }) {
  const { person: id, bot: webhook } = dataset;
  const user = model.users.get(id);
  if (user) return { ...user, isMe: id === model.me.id };
  const userName = model.userName(id) ?? textContent.replace(/^@/, "");
  const isWebhook = Boolean(webhook);
  return { id, userName, isGone: !isWebhook, isBot: isWebhook, isWebhook, channel: model.place(webhook)?.title };
}

function body({ fullName, title, pronouns, timezone, status, ...user }) {
  const said = status && [status.emoji, status.text].filter(Boolean).join(" ");
  const until = status?.until && t("person.until", { time: dateTime(status.until) });
  return element(
    "div",
    { class: "dialog-body stack" },
    fullName && element("p", { class: "person-name", dir: "auto" }, fullName, pronouns && ` (${pronouns})`),
    title && element("p", { class: "soft", dir: "auto" }, title),
    said && element("p", {}, element("bdi", {}, said), until && element("span", { class: "soft" }, ` ${until}`)),
    ...known(user),
    timezone && element("p", { class: "soft" }, localTime(timezone)),
  );
}

/** What time it is where somebody is; nothing where this browser does not know the zone. */
function localTime(timeZone) {
  try {
    const time = new Intl.DateTimeFormat(undefined, { timeStyle: "short", timeZone }).format();
    return t("person.local_time", { time });
  } catch {
    return "";
  }
}

function known({ email, createdAt, isAdmin, isMe, isGone, isBot, isWebhook, isDeactivated, channel }) {
  const tags = [
    isMe && t("person.you"),
    isAdmin && t("admin.role_admin"),
    isBot && t("message.bot"),
    isGone && t("person.gone"),
    isDeactivated && t("person.deactivated"),
  ].filter(Boolean);
  return [
    tags.length > 0 && element("p", { class: "person-tags" }, tags.map(tag)),
    email && !isBot && element("p", { class: "person-email" }, element("a", { href: `mailto:${email}` }, email)),
    isBot && !isWebhook && element("p", {}, t("person.program")),
    isWebhook && element("p", {}, channel ? t("person.bot_in", { name: channel }) : t("person.bot")),
    isGone && element("p", { class: "soft" }, t("person.gone_lead")),
    isDeactivated && element("p", { class: "soft" }, t("person.deactivated_lead")),
    createdAt > 0 && element("p", { class: "soft" }, t("person.since", { day: day(createdAt) })),
  ];
}

function tag(text) {
  return element("span", { class: "tag" }, text);
}

function foot(ctx, { isMe, isGone, isWebhook, isDeactivated }) {
  if (isGone || isWebhook || isDeactivated) return null;
  const act = isMe ? "profile" : "write";
  const look = isMe ? "button" : "button button-primary";
  const label = isMe ? t("person.profile") : t("person.write");
  const button = element("button", { class: look, type: "button", dataset: { act } });
  return element("div", { class: "dialog-foot" }, replace(button, icon(isMe ? "edit" : "thread"), label));
}

async function write(ctx, id, dialog) {
  try {
    const place = await ctx.model.openConversation(id);
    for (const open of document.querySelectorAll("dialog[open]")) open.close();
    ctx.router.go(place);
  } catch (error) {
    dialog.say(words(error));
  }
}

function profile(ctx, _, dialog) {
  dialog.close();
  if (!document.querySelector("dialog[open]")) settings(ctx);
}
