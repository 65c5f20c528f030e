// Who is in a room. Pages are loaded as one scrolls, and, one after another, until those are found whom somebody
// filters by name; events of the stream change what was loaded.

import { element, replace } from "../../lib/dom.js";
import { t } from "../../lib/strings.js";
import { confirm } from "../dialog.js";
import { show } from "../problems.js";
import { avatar } from "../people.js";
import { draw as drawRows, row, rows } from "../rows.js";
import { roomsApi } from "./api.js";
import { addPeople, nameGroup } from "./adding.js";
import { explained } from "./explain.js";
import { Roll } from "./roll.js";
import { titleOf } from "./names.js";
import { leave } from "./membership.js";
import { rightsIn, rightsOver } from "./rights.js";

const FILTER_FROM = 8; // members; fewer are seen at a glance
const MOST_FOUND = 50; // before somebody asks for more

/** The section. */
export function members(ctx, dialog, id) {
  const { model } = ctx;
  const roll = new Roll(ctx, id, dialog.signal);
  const problem = element("p", { class: "note note-danger", hidden: true });
  const ways = element("div", { class: "cluster" });
  const list = rows(t("rooms.members"));
  const count = element("p", { class: "soft small", role: "status" });
  const more = element("button", { class: "button", type: "button", hidden: true }, t("rooms.more_members"));
  const filter = element("input", {
    class: "input",
    type: "search",
    hidden: true,
    "aria-label": t("rooms.filter_members"),
    placeholder: t("rooms.filter_members"),
    on: { input: () => find(MOST_FOUND) },
  });
  let wanted = 0; // how many are to be found
  more.addEventListener("click", () => (asked() ? find(wanted + MOST_FOUND) : roll.loadMore()));
  whileSeen(more, dialog.signal, () => asked() || roll.loadMore());
  roll.on("changed", draw, dialog.signal);
  for (const type of ["channels", "users", "me"]) model.on(type, draw, dialog.signal);
  let offered = "";
  draw();
  roll.load();
  return [ways, problem, filter, count, list, more];

  function asked() {
    return filter.value.trim().toLowerCase();
  }

  /** Those of the loaded members who are asked for. */
  function found() {
    return roll.members.filter((one) => nameOf(model, one).toLowerCase().includes(asked()));
  }

  /** Everybody's names are here, so it is known when nobody is left whom another page could have. */
  function isFound() {
    if (!asked() || found().length >= wanted) return true;
    const missing = ({ id: user, userName }) => userName.toLowerCase().includes(asked()) && !roll.has(user);
    return ![...model.users.values()].some(missing);
  }

  function find(most) {
    wanted = most;
    roll.seek(isFound);
    draw();
  }

  function draw() {
    const room = model.channels.get(id);
    if (!room) return;
    drawWays(room);
    problem.hidden = !roll.error;
    if (roll.error) show(problem, roll.error, explained(roll.error));
    filter.hidden = roll.count < FILTER_FROM && !filter.value;
    const shown = sorted(model, found());
    const isSought = asked() && roll.isSeeking;
    count.textContent = told(shown.length, isSought);
    list.ariaBusy = isSought ? "true" : null;
    const none = asked() && !isSought ? t("rooms.nobody") : null;
    drawRows(list, shown.map((member) => line(ctx, dialog, room, member)), none);
    more.hidden = !roll.hasMore || Boolean(asked() && (isSought || shown.length < wanted));
  }

  function told(number, isSought) {
    const { count: all, members: { length: loaded } } = roll;
    if (isSought) return t("rooms.seeking", { count: number, loaded, all });
    return asked() ? t("rooms.found", { count: number }) : t("rooms.count", { count: all });
  }

  function drawWays(room) {
    const { add, convert } = rightsIn(model, room);
    const now = `${add} ${convert}`;
    if (now === offered) return;
    offered = now;
    const button = (label, act) => element("button", { class: "button", type: "button", on: { click: act } }, label);
    replace(
      ways,
      add && button(t("rooms.add_people"), () => addPeople(ctx, dialog, model.channels.get(id), roll)),
      convert && button(t("rooms.name_group"), () => nameGroup(ctx, dialog, model.channels.get(id))),
    );
  }
}

/** Call `act` whenever something comes into view. */
function whileSeen(node, signal, act) {
  const watch = new IntersectionObserver((entries) => entries.at(-1).isIntersecting && act());
  watch.observe(node);
  signal.addEventListener("abort", () => watch.disconnect());
}

function nameOf({ users }, { userId }) {
  return users.get(userId)?.userName ?? "…";
}

/** Managers first, and by their names. */
function sorted(model, members) {
  const rank = ({ role }) => (role === "manager" ? 0 : 1);
  const compare = (one, other) => nameOf(model, one).localeCompare(nameOf(model, other));
  return members.toSorted((one, other) => rank(one) - rank(other) || compare(one, other));
}

function line(ctx, dialog, room, member) {
  const { model } = ctx;
  const { userId } = member;
  const name = nameOf(model, member);
  const isMe = userId === model.me.id;
  const may = rightsOver(model, room, member);
  const set = (role, done) => () =>
    attempt(dialog, () => roomsApi(ctx).setRole(room.id, userId, role), t(done, { name }));
  return row({
    id: userId,
    person: userId,
    title: name,
    lead: avatar({ id: userId, userName: name }),
    tags: [
      model.users.get(userId)?.isBot && t("message.bot"),
      member.role === "manager" && room.kind !== "group" && t("rooms.manager"),
      isMe && t("admin.you"),
    ],
    actions: [
      may.raise && { icon: "up", label: t("rooms.raise", { name }), act: set("manager", "rooms.raised") },
      may.lower && { icon: "down", label: t("rooms.lower", { name }), act: set("member", "rooms.lowered") },
      may.remove && { icon: "trash", label: t("rooms.remove", { name }), act: () => remove(ctx, dialog, room, member) },
      isMe && rightsIn(model, room).leave && { icon: "sign-out", label: t("rooms.leave"), act: () => leave(ctx, room) },
    ],
  });
}

async function attempt(dialog, act, done) {
  try {
    await act();
    dialog.say(done);
  } catch (error) {
    dialog.say(explained(error));
  }
}

async function remove(ctx, dialog, room, member) {
  const words = { name: nameOf(ctx.model, member), room: titleOf(ctx, room) };
  const isDone = await confirm(ctx, {
    title: t("rooms.remove_title", words),
    lead: t(room.isPrivate ? "rooms.remove_private" : "rooms.remove_public", words),
    action: t("common.remove"),
    act: () => roomsApi(ctx).removeMember(room.id, member.userId),
    explain: explained,
  });
  if (isDone) dialog.say(t("rooms.removed", words));
}
