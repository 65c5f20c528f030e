// What a room is about: its name, topic and description, for who may change them in fields; joining and leaving.

import { element, icon } from "../../lib/dom.js";
import { day, t } from "../../lib/strings.js";
import { checks, field, form } from "../form.js";
import { roomsApi } from "./api.js";
import { explained } from "./explain.js";
import { following } from "./follow.js";
import { kindOf, signOf } from "./names.js";
import { join, leave } from "./membership.js";
import { rightsIn } from "./rights.js";

const MOST = { name: 80, topic: 250, description: 2000 }; // characters (extensions X-12)

/** The section. */
export function about(ctx, dialog, id) {
  const { model } = ctx;
  const look = (room) => [rightsIn(model, room), fieldsOf(room), kindOf(room), room.isArchived, room.memberCount];
  return [following(ctx, dialog.signal, id, (room) => parts(ctx, dialog, room), look)];
}

function fieldsOf({ name, topic = "", description = "" }) {
  return { name, topic, description };
}

function parts(ctx, dialog, room) {
  const rights = rightsIn(ctx.model, room);
  return [
    element("p", { class: "cluster" }, icon(signOf(room)), kindOf(room)),
    room.isArchived && element("p", { class: "note note-warn" }, t("rooms.archived_lead")),
    rights.describe && !room.isArchived ? [whole(room), change(ctx, dialog, room)] : said(room),
    origin(ctx, room),
    ways(ctx, dialog, room, rights),
  ];
}

/** The topic in full, where it neither stands in the room's head nor fits into its field. */
function whole({ topic }) {
  return topic && element("p", { class: "room-whole-topic", dir: "auto" }, topic);
}

function said({ topic, description }) {
  const line = (label, text) => [element("dt", {}, label), element("dd", { dir: "auto" }, text || t("rooms.none_given"))];
  return element("dl", { class: "room-said" }, line(t("rooms.topic"), topic), line(t("rooms.description"), description));
}

function change(ctx, dialog, room) {
  const isChannel = (room.kind ?? "channel") === "channel";
  const begun = fieldsOf(room);
  const make = (name, more = {}) => {
    const made = field({ name, value: begun[name], maxlength: String(MOST[name]), ...more });
    made.input.dataset.begun = begun[name];
    return made;
  };
  const fields = [
    isChannel && make("name", { label: t("common.name"), check: checks.given, autocomplete: "off" }),
    make("topic", { label: t("rooms.topic"), hint: t("rooms.topic_hint"), autocomplete: "off" }),
    isChannel && make("description", { label: t("rooms.description"), rows: "3" }),
  ].filter(Boolean);
  return form({
    fields,
    action: t("common.save"),
    kind: "plain",
    send: async (values) => {
      const changed = Object.entries(values).filter(([name, value]) => value !== begun[name]);
      if (changed.length) await roomsApi(ctx).change(room.id, Object.fromEntries(changed));
      Object.assign(begun, values);
      for (const { name, input } of fields) input.dataset.begun = values[name];
      dialog.say(t("common.saved"));
    },
    explain: (error) => ({ field: isChannel && error.status === 400 ? "name" : "topic", text: explained(error) }),
  });
}

function origin({ model }, { createdBy, createdAt }) {
  const name = createdBy && model.userName(createdBy);
  if (!createdAt) return null;
  const words = { day: day(createdAt), name };
  return element("p", { class: "soft small" }, t(name ? "rooms.made_by" : "rooms.made", words));
}

function ways(ctx, dialog, room, rights) {
  const button = (label, act) =>
    element("button", { class: "button", type: "button", on: { click: act } }, label);
  return element(
    "p",
    { class: "cluster" },
    rights.join && button(t("rooms.join"), () => join(ctx, room)),
    rights.leave && button(t("rooms.leave"), () => leave(ctx, room)),
  );
}
