// What somebody new does first: their name, and where things are.

import { element, icon } from "../../lib/dom.js";
import { t } from "../../lib/strings.js";
import { palette, settings } from "../sidebar.js";
import { step } from "./step.js";

const FINE = matchMedia("(pointer: fine)"); // Phones have no keys to tell of.
const MOST = 6; // channels named; the sidebar has them all

/** The steps, and the channels there are. */
export function memberSteps(ctx) {
  const { model } = ctx;
  const given = model.me.email.split("@")[0].toLowerCase();
  let hasJumped = false;
  const jump = () => {
    hasJumped = true;
    model.emit("greeting");
    palette(ctx);
  };
  const lead = t(FINE.matches ? "greeting.jump_lead" : "greeting.jump_lead_touch");
  return {
    steps: [
      step("name", "user", () => model.me.userName.toLowerCase() !== given, () => settings(ctx)),
      step("people", "users", () => model.conversations.size > 0, () => palette(ctx, "people")),
      { ...step("jump", "search", () => hasJumped, jump), lead },
    ],
    more: element(
      "nav",
      { class: "greeting-places", "aria-label": t("greeting.places") },
      element("span", { class: "soft", "aria-hidden": "true" }, t("greeting.places")),
      model.sortedChannels().slice(0, MOST).map((channel) => place(ctx, channel)),
    ),
  };
}

function place({ router }, { id, name }) {
  return element("a", { href: router.address({ kind: "channel", id }) }, icon("hash"), name);
}
