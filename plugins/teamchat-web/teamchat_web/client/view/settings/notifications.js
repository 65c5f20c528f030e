// What notifies one: on this device, whether the browser tells of it at all; and for all devices, kept by the server
// where it has that, levels, words, hours and how much is shown. `view/notifications.js` reads what is kept here.
// The browser is asked for its permission upon the press that wants it.

import { element, replace } from "../../lib/dom.js";
import { t } from "../../lib/strings.js";
import { ReadStatesApi } from "../../api/read_states.js";
import { failure } from "../notices.js";
import { everywhere } from "./everywhere.js";

/** The section. */
export function notifications(ctx, dialog) {
  const hasLevels = ctx.model.capabilities["notification-levels"];
  return [...here(ctx, t(hasLevels ? "settings.notify_here" : "settings.notify")), hasLevels && choices(ctx, dialog)];
}

/** What the server keeps, once it has told. */
function choices(ctx, dialog) {
  const place = element("div", { class: "form" });
  const api = new ReadStatesApi(ctx.model.api);
  const load = async () => {
    replace(place, element("span", { class: "spinner" }));
    try {
      replace(place, everywhere(ctx, dialog, api, await api.choices()));
    } catch {
      replace(place, failure(load));
    }
  };
  load();
  return place;
}

function here({ kept }, label) {
  if (!("Notification" in globalThis)) return [element("p", { class: "soft" }, t("settings.notify_missing"))];
  const denied = element("p", { class: "note note-warn", role: "status" });
  const box = element("input", { type: "checkbox", checked: kept.get("notify", false) && isAllowed() });
  box.addEventListener("change", async () => {
    if (box.checked) await Notification.requestPermission();
    box.checked &&= isAllowed();
    kept.set("notify", box.checked);
    tellIfDenied(denied);
  });
  tellIfDenied(denied);
  return [element("label", { class: "check" }, box, element("span", {}, label)), denied];
}

function isAllowed() {
  return Notification.permission === "granted";
}

function tellIfDenied(place) {
  place.hidden = Notification.permission !== "denied";
  place.textContent = place.hidden ? "" : t("settings.notify_denied");
}
