// Who wrote in a thread: names that lead to the cards of the people.

import { element } from "../lib/dom.js";
import { t } from "../lib/strings.js";
import { authorName } from "./message.js";
import { avatar, leadsToCard } from "./people.js";

/** The people in the order in which they first wrote; nothing as long as there is one alone. */
export function participants(ctx, { parent, items }) {
  const first = new Map();
  for (const item of [parent, ...items]) if (!first.has(item.author.id)) first.set(item.author.id, item);
  if (first.size < 2) return null;
  return element(
    "ul",
    { class: "participants", "aria-label": t("thread.participants") },
    [...first.values()].map((item) => element("li", {}, chip(ctx, item))),
  );
}

function chip(ctx, item) {
  const { author, place } = item;
  const userName = authorName(ctx, item);
  const card = leadsToCard(author.id, { place, tabindex: "0" });
  return element("span", { class: "participant", ...card }, avatar({ ...author, userName }), userName);
}
