// Who reacted to a message, reaction by reaction; the names lead to the cards of the people.

import { element } from "../lib/dom.js";
import { t } from "../lib/strings.js";
import { openDialog } from "./dialog.js";
import { avatar, leadsToCard } from "./people.js";
import { needsSheets } from "./sheet.js";

needsSheets("people");

/**
 * Open the list. It tells of the moment in which it was opened.
 * @param {object} ctx
 * @param {object} item the message
 */
export function openReactionPeople(ctx, item) {
  const all = Object.entries(item.reactions).filter(([, users]) => users.length);
  const rows = all.map(([reaction, users]) => [
    element("h3", { dir: "auto" }, reaction),
    element(
      "ul",
      { class: "participants", "aria-label": reaction },
      users.map((id) => element("li", {}, chip(ctx, id))),
    ),
  ]);
  openDialog(ctx, { title: t("reactions.people") }, element("div", { class: "dialog-body stack reacted" }, rows));
}

function chip({ model }, id) {
  const userName = model.userName(id) || "?";
  const name = { class: "participant", ...leadsToCard(id, { tabindex: "0" }) };
  return element("span", name, avatar({ id, userName }), element("span", { dir: "auto" }, userName));
}
