// Whether this browser tells of direct messages and mentions while one looks elsewhere;
// `view/notifications.js` reads what is kept here. The browser is asked for its permission upon the press
// that wants it.

import { element } from "../../lib/dom.js";
import { t } from "../../lib/strings.js";

/** The section. */
export function notifications({ kept }) {
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
  return [element("label", { class: "check" }, box, element("span", {}, t("settings.notify"))), denied];
}

function isAllowed() {
  return Notification.permission === "granted";
}

function tellIfDenied(place) {
  place.hidden = Notification.permission !== "denied";
  place.textContent = place.hidden ? "" : t("settings.notify_denied");
}
