// A message: who, when, what, and what others did with it. It is made anew when something of it changes.
// Text from people becomes nodes by the Markdown module alone, and a screen reader
// hears author, time and text when the message has the focus.
import { assign, element, icon } from "../lib/dom.js";
import { render } from "../lib/markdown.js";
import { part } from "../lib/parts.js";
import { dateTime, t, time } from "../lib/strings.js";
import { avatar, leadsToCard } from "./people.js";

const FACES = 3;
const EMOJI = /\p{Emoji_Presentation}|\uFE0F/u;
const MOST_LINES = 30;
const MOST_LENGTH = 3000; // UTF-16 units
const NAMED = 12; // people of a reaction; more are “…”
let made = 0;

/** The name an author has now; webhooks and people who left keep the one they had. */
export function authorName(ctx, { author }) {
  return ctx.model.users.get(author.id)?.userName || author.userName;
}

/** Gives authors the names they have now. */
export function rename(list, users) {
  for (const name of list.querySelectorAll("[data-author]")) {
    const user = users.get(name.dataset.author);
    if (user && user.userName !== name.textContent) name.textContent = user.userName;
  }
}

/**
 * @param {object} ctx
 * @param {object} item a Message or a pending one
 * @param {{isGrouped: boolean, isThread: boolean}} look grouped: below another of the same author; in a
 *   thread, the link to the thread is left out
 * @returns {HTMLElement}
 */
export function messageView(ctx, item, { isGrouped, isThread }) {
  const id = `message-${++made}`;
  const text = body(ctx, item, `${id}-body`);
  const more = summary(item, isThread);
  const article = element(
    "article",
    {
      class: classes(item, isGrouped, text),
      tabindex: "-1",
      "aria-labelledby": `${id}-head ${id}-body ${id}-more`,
      dataset: { id: item.id ?? "", state: item.state ?? "" },
    },
    isGrouped
      ? element("span", { class: "gutter", "aria-hidden": "true" }, time(item.createdAt))
      : avatar({ ...item.author, userName: authorName(ctx, item) }),
    head(ctx, item, `${id}-head`, isGrouped),
    text,
    isLong(item.content ?? "") && folded(ctx, item, text),
    imagesOf(ctx, item),
    item.state ? pendingFoot(ctx, item) : [reactionsRow(ctx, item), !isThread && threadLink(ctx, item)],
    more && element("span", { id: `${id}-more`, hidden: true }, more),
  );
  ctx.slots.offer("message", article, item);
  return article;
}

function isLong(text) {
  return text.length > MOST_LENGTH || text.split("\n", MOST_LINES + 1).length > MOST_LINES;
}

/** Folds the text; what it takes to unfold it comes a moment later. */
function folded(ctx, item, text) {
  const place = element("div", {});
  text.classList.add("folded");
  part(import("./long.js")).then(({ fold }) => fold(ctx, item.localId ?? item.id, text, place));
  return place;
}

/** What a screen reader hears of a message after its text: images, reactions and replies, or its failure. */
function summary(item, isThread) {
  const images = (item.pictures ?? item.images ?? []).length;
  const reactions = Object.entries(item.reactions ?? {}).filter(([, users]) => users.length);
  const replies = isThread ? 0 : item.threadMeta?.replyCount;
  const listed = reactions.map(([reaction, users]) => `${reaction} ${users.length}`).join(", ");
  return [
    images && t("message.images", { count: images }),
    listed && `${t("reactions.label")}: ${listed}`,
    replies && t("message.replies", { count: replies }),
    item.state === "failed" && t("message.failed", { reason: reason(item.error) }),
  ]
    .filter(Boolean)
    .join(". ");
}

function classes(item, isGrouped, text) {
  return [
    "message",
    isGrouped && "grouped",
    item.state && "pending",
    item.state === "failed" && "failed",
    text.querySelector(".mention-me") && "mentions-me",
  ]
    .filter(Boolean)
    .join(" ");
}

function head(ctx, item, id, isGrouped) {
  const { author, place } = item;
  const card = !isGrouped && leadsToCard(author.id, { place });
  return element(
    "div",
    { class: isGrouped ? "visually-hidden" : "message-head", id },
    element(
      "strong",
      { class: "name", dir: "auto", ...card, dataset: { author: author.id, ...card.dataset } },
      authorName(ctx, item),
    ),
    " ",
    author.isBot && element("span", { class: "tag" }, t("message.bot")),
    " ",
    element(
      "time",
      { datetime: new Date(item.createdAt).toISOString(), title: dateTime(item.createdAt) },
      time(item.createdAt),
    ),
  );
}

function body(ctx, item, id) {
  const { me } = ctx.model;
  const { entities } = item;
  const people = { names: ctx.model.names(), me: me.id, entities, draw: (one) => entityView(ctx, one) };
  const shown = element(
    "div",
    { class: "message-body rich", id },
    item.content && render(item.content, people),
  );
  for (const name of shown.querySelectorAll("[data-user]")) assign(name, leadsToCard(name.dataset.user));
  if (item.updatedAt) {
    const last = shown.lastElementChild?.localName === "p" ? shown.lastElementChild : shown;
    last.append(
      " ",
      element("bdi", { class: "edited", title: dateTime(item.updatedAt) }, t("message.edited")),
    );
  }
  return shown;
}

/** Who or what is meant, by the name it has now; what isn't seen is text. */
function entityView({ model, router }, { type, id, words }) {
  const isMe = type === "wide" || id === model.me.id;
  const look = { class: isMe ? "mention mention-me" : "mention" };
  if (type === "user") {
    const name = element("span", { dataset: { author: id } }, model.userName(id) ?? words.slice(1));
    return element("bdi", { ...look, dataset: { user: id } }, "@", name);
  }
  const place = type === "channel" && model.place(id);
  if (place) return element("a", { ...look, href: router.address(place) }, `#${place.title}`);
  return type === "channel" || type === "message" ? null : element("bdi", look, words);
}

/** The reactions, in the server's order, so it is the same for everybody; one's own are pressed. */
function reactionsRow(ctx, item) {
  const all = Object.entries(item.reactions ?? {}).filter(([, users]) => users.length);
  if (!all.length) return null;
  return element(
    "div",
    { class: "reactions", role: "group", "aria-label": t("reactions.label") },
    all.map(([reaction, users]) => reactionButton(ctx, item, reaction, users)),
    element(
      "button",
      {
        type: "button",
        class: "reaction",
        tabindex: "-1",
        "aria-label": t("reactions.add"),
        on: { click: ({ currentTarget }) => react("pickReaction", ctx, item, currentTarget) },
      },
      icon("smile"),
    ),
    element(
      "button",
      {
        type: "button",
        class: "reaction reaction-people",
        tabindex: "-1",
        "aria-label": t("reactions.people"),
        "aria-haspopup": "dialog",
        title: t("reactions.people"),
        on: { click: () => react("showPeople", ctx, item) },
      },
      icon("users"),
    ),
  );
}

function reactionButton(ctx, item, reaction, users) {
  const named = users
    .slice(0, NAMED)
    .map((id) => ctx.model.userName(id))
    .join(", ");
  const who = users.length > NAMED ? `${named} …` : named;
  return element(
    "button",
    {
      type: "button",
      class: "reaction",
      title: who,
      "aria-pressed": String(users.includes(ctx.model.me.id)),
      "aria-label": t("reactions.by", { reaction, count: users.length, names: who }),
      on: { click: () => react("toggle", ctx, item, reaction) },
    },
    element("span", { class: EMOJI.test(reaction) ? null : "words" }, reaction),
    element("span", {}, String(users.length)),
  );
}

/** What reacting takes is loaded with the first press. */
async function react(act, ...given) {
  return (await import("./reactions.js"))[act](...given);
}

function threadLink(ctx, { id, place, threadMeta }) {
  if (!threadMeta?.replyCount) return null;
  const unread = ctx.model.unread.count(id);
  const faces = threadMeta.participants
    .slice(0, FACES)
    .map((user) => avatar({ id: user, userName: ctx.model.userName(user) || "?" }));
  return element(
    "button",
    { type: "button", class: "thread-link", on: { click: () => ctx.router.go(place, id) } },
    faces,
    t("message.replies", { count: threadMeta.replyCount }),
    // On a phone one line has no room for both.
    unread > 0
      ? element("span", { class: "badge badge-mention" }, t("message.new_replies", { count: unread }))
      : element("span", { class: "soft" }, t("message.last_reply", { time: time(threadMeta.lastReplyAt) })),
  );
}

/** The images of a message, if it has any; what shows them is loaded with the first. */
function imagesOf(ctx, item) {
  if (!(item.pictures ?? item.images)?.length) return null;
  const images = element("div", { class: "images" });
  part(import("./images.js")).then(({ fillImages }) => fillImages(images, ctx, item));
  return images;
}

/** What can be done about a post that isn't on its way; loaded with the first. */
function pendingFoot(ctx, item) {
  if (item.state === "sending" && ctx.model.connection !== "offline") return null;
  const foot = element("div", { class: "message-foot" });
  part(import("./pending.js")).then(({ fillFoot }) => fillFoot(foot, ctx, item, reason(item.error)));
  return foot;
}

function reason(error) {
  return typeof error === "string" ? error : (error?.message ?? "");
}
