// Making a channel private, or public: what becomes visible to whom is said before, in plain words.

import { element } from "../../lib/dom.js";
import { t } from "../../lib/strings.js";
import { openDialog } from "../dialog.js";
import { form } from "../form.js";
import { roomsApi } from "./api.js";
import { chooser } from "./chooser.js";
import { explained } from "./explain.js";
import { titleOf } from "./names.js";

let made = 0;

/** To private: for those who joined, or for people who are named. */
export function makePrivate(ctx, dialog, room) {
  const name = titleOf(ctx, room);
  const people = chooser(ctx, { label: t("rooms.people") });
  const holder = element("div", { hidden: true }, people.node);
  const values = room.isDefault ? ["chosen"] : ["joined", "chosen"];
  const who = choice("members", t("rooms.who_stays"), values, (value) => (holder.hidden = value !== "chosen"), {
    joined: t("rooms.stay_joined", { count: room.memberCount ?? 1 }),
    chosen: t("rooms.stay_chosen"),
  });
  holder.hidden = who.value !== "chosen";
  const send = () => {
    const members = who.value === "chosen" ? { members: people.ids } : {};
    return roomsApi(ctx).setPrivacy(room.id, { isPrivate: true, ...members });
  };
  const lead = [t("rooms.make_private_lead", { name }), t("rooms.cannot_call_back")];
  ask(ctx, dialog, { title: t("rooms.make_private_title", { name }), lead, parts: [who.node, holder], send }, "private");
}

/** To public: with what was said before, or without. */
export function makePublic(ctx, dialog, room) {
  const name = titleOf(ctx, room);
  const past = choice("history", t("rooms.past"), ["hide", "show"], () => {}, {
    hide: t("rooms.past_hide"),
    show: t("rooms.past_show"),
  });
  const send = () => roomsApi(ctx).setPrivacy(room.id, { isPrivate: false, history: past.value });
  const lead = [t("rooms.make_public_lead", { name }), t("rooms.nobody_is_asked")];
  ask(ctx, dialog, { title: t("rooms.make_public_title", { name }), lead, parts: [past.node], send }, "public");
}

function ask(ctx, dialog, { title, lead, parts, send }, kind) {
  const make = form({
    fields: [],
    action: t(`rooms.make_${kind}`),
    send: async () => {
      await send();
      asked.close();
      dialog.say(t(`rooms.made_${kind}`));
    },
    explain: (error) => ({ text: explained(error) }),
  });
  make.prepend(...parts);
  const warning = element("div", { class: "note note-warn stack" }, lead.map((words) => element("p", {}, words)));
  const asked = openDialog(ctx, { title }, element("div", { class: "dialog-body stack" }, warning, make));
  (make.querySelector("input:checked") ?? make.querySelector("input")).focus();
}

/** One of several, the first of them chosen. */
function choice(name, label, values, changed, words) {
  const group = `choice-${++made}`;
  const boxes = values.map((value, at) =>
    element("input", { type: "radio", name: group, value, checked: at === 0, on: { change: () => changed(value) } }),
  );
  const lines = boxes.map((box, at) => element("label", { class: "check" }, box, element("span", {}, words[values[at]])));
  return {
    node: element("fieldset", { class: "choice", dataset: { name } }, element("legend", {}, label), lines),
    get value() {
      return boxes.find(({ checked }) => checked).value;
    },
  };
}
