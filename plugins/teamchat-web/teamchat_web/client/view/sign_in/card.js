// The card on an empty page on which the screens of sign-in take turns. Each is announced by its heading or by
// the field that has the focus.

import { element, icon, replace } from "../../lib/dom.js";
import { t } from "../../lib/strings.js";
import "../layers.js";

/**
 * Put an empty card into `root`.
 * @returns {function({title: string, lead?: string, notice?: string, problem?: string, content: Node[]})}
 *   shows a screen on it
 */
export function openCard(root) {
  const card = element("div", { class: "card" });
  replace(root, element("main", { class: "page" }, card));
  return (screen) => draw(card, screen);
}

function draw(card, { title, lead, notice, problem, content }) {
  const heading = element("h1", { tabindex: "-1" }, title);
  document.title = t("sign_in.page", { title });
  replace(
    card,
    element("div", { class: "card-head" }, icon("teamchat"), heading, lead && element("p", {}, lead)),
    notice && element("p", { class: "note", role: "status" }, notice),
    problem && element("p", { class: "note note-danger", role: "alert" }, problem),
    content,
  );
  const empty = [...card.querySelectorAll("input:not([readonly])")].find((input) => !input.value);
  (empty ?? heading).focus();
}
