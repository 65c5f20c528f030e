// What stands in the head of a room beside its name: its topic, and how many are in it. Both lead to the dialog.

import { assign, element, icon } from "../../lib/dom.js";
import "../../lib/more_strings.js";
import { part } from "../../lib/parts.js";
import { t } from "../../lib/strings.js";
import { needsSheets } from "../sheet.js";
import { rightsIn } from "./rights.js";

needsSheets("rooms");

/** Keep it as long as the room is shown, which `signal` ends; the dialog may outlive that. */
export function dressHead(ctx, signal, main, id) {
  const { model } = ctx;
  const head = main.querySelector(".bar");
  if (signal.aborted || !head || !model.channels.has(id)) return;
  const words = element("span", { class: "name", dir: "auto" });
  const topic = button("room-topic soft", () => open(ctx, id, "about"));
  topic.append(icon("about"), words);
  const count = element("span", { "aria-hidden": "true" });
  const people = button("header-people", () => open(ctx, id, "members"));
  people.append(icon("users"), count);
  head.querySelector("h1").after(topic);
  head.querySelector(".bar-action").before(people);
  const draw = () => {
    const room = model.channels.get(id);
    if (!room) return;
    const mayDescribe = rightsIn(model, room).describe && !room.isArchived;
    words.textContent = room.topic || t(mayDescribe ? "rooms.add_topic" : "rooms.about");
    topic.classList.toggle("is-none", !room.topic);
    assign(topic, { title: room.topic || null, "aria-label": t("rooms.about_label", { topic: words.textContent }) });
    people.hidden = room.kind === "notes";
    count.textContent = String(room.memberCount ?? "");
    people.ariaLabel = people.title = t("rooms.members_label", { count: room.memberCount ?? 0 });
  };
  for (const type of ["channels", "me"]) model.on(type, draw, signal);
  draw();
}

function button(kind, act) {
  const look = { type: "button", class: `button button-quiet button-small ${kind}`, "aria-haspopup": "dialog" };
  return element("button", { ...look, on: { click: act } });
}

async function open(ctx, id, section) {
  (await part(import("./room.js"))).openRoom(ctx, id, section);
}
