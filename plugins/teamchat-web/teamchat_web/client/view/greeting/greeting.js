// The first minute: a card above the conversation with what there is to do first. It goes when everything is
// done, or for good in this browser when it is dismissed.

import { element, icon, replace } from "../../lib/dom.js";
import { Kept } from "../../lib/kept.js";
import "../../lib/more_strings.js";
import { t } from "../../lib/strings.js";
import { needsSheets } from "../sheet.js";
import { adminSteps } from "./admin.js";
import { memberSteps } from "./member.js";

needsSheets("greeting");

const STEPS = { admin: adminSteps, member: memberSteps };
const CHANGES = ["users", "me", "channels", "conversations", "server", "greeting"]; // the last is the steps' own
const kept = new Kept("teamchat"); // Not the user's own, which is forgotten when they sign out.

/**
 * Show the greeting until it is done with.
 * @param {object} ctx
 * @param {"admin"|"member"} kind
 * @param {HTMLElement} place
 */
export async function greet(ctx, kind, place) {
  if (ctx.signal.aborted) return;
  const { steps, more } = await STEPS[kind](ctx);
  const rows = steps.map(step);
  const end = new AbortController();
  const draw = () => {
    for (const row of rows) row.draw();
    if (steps.every(({ isDone }) => isDone())) leave();
  };
  const leave = () => {
    end.abort();
    kept.set("greeted", [...new Set([...kept.get("greeted", []), kind])]);
    const hadFocus = place.contains(document.activeElement);
    place.hidden = true;
    replace(place);
    if (hadFocus) document.querySelector("main textarea, main")?.focus();
  };
  const signal = AbortSignal.any([ctx.signal, end.signal]);
  for (const type of CHANGES) ctx.model.on(type, draw, signal);
  replace(place, card(ctx, kind, rows, more, leave)).hidden = false;
  draw();
}

function card({ model }, kind, rows, more, leave) {
  const close = { class: "icon-button", type: "button", "aria-label": t("greeting.dismiss") };
  return element(
    "section",
    { class: "greeting", "aria-labelledby": "greeting" },
    element(
      "div",
      { class: "greeting-head" },
      element("h2", { id: "greeting" }, t(`greeting.${kind}_title`, { name: model.serverName })),
      element("button", { ...close, title: t("greeting.dismiss"), on: { click: leave } }, icon("close")),
      element("p", { class: "soft" }, t(`greeting.${kind}_lead`)),
    ),
    element("ol", { class: "greeting-steps" }, rows.map(({ node }) => node)),
    more,
  );
}

/** A step: what it is about, whether it is done, and what opens when it is pressed. */
function step({ sign, title, lead, isDone, open }) {
  const mark = element("span", { class: "greeting-mark" });
  const said = element("span", { class: "visually-hidden" });
  const words = element("span", {}, element("strong", {}, title), said, element("span", { class: "soft" }, lead));
  const button = element("button", { class: "greeting-step", type: "button", on: { click: open } }, mark, words);
  const node = element("li", {}, button);
  const draw = () => {
    const is = isDone();
    node.classList.toggle("done", is);
    said.textContent = is ? ` (${t("greeting.done")})` : "";
    replace(mark, icon(is ? "check" : sign));
  };
  return { node, draw };
}
