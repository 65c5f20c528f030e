// The buttons that lead to identity providers (interface, part 5 rules 13 and 14). They are links, for the
// browser goes there; the server sends it back to this page with tokens or with an `oauth_error`.

import { element, replace } from "../../lib/dom.js";
import { t } from "../../lib/strings.js";
import { noteLeaving } from "./landing.js";

/** A button for each provider, once the server has told them. */
export function providers(ctx) {
  const place = element("div", { class: "stack", hidden: true });
  load(ctx, place);
  return place;
}

async function load(ctx, place) {
  try {
    const found = await ctx.api.providers();
    const buttons = found.map((one) => button(ctx, one));
    replace(place, element("p", { class: "divider" }, t("sign_in.or")), buttons);
    place.hidden = found.length === 0;
  } catch {
    const again = element("button", { class: "button button-small", type: "button" }, t("sign_in.retry"));
    again.addEventListener("click", () => load(ctx, place));
    const said = element("p", { role: "status" }, t("sign_in.no_providers"));
    replace(place, element("div", { class: "note spread" }, said, again));
    place.hidden = false;
  }
}

function button(ctx, { name, loginUrl }) {
  const href = new URL(loginUrl, new URL(ctx.config.API_BASE_URL || ".", document.baseURI)).href;
  const leave = () => noteLeaving(ctx.kept);
  const on = { click: leave, auxclick: leave, contextmenu: leave }; // In this tab, or in another.
  return element("a", { class: "button button-wide", href, on }, t("sign_in.with", { name }));
}
