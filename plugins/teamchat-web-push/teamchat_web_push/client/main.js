// Notices while the chat is closed: this browser's subscription is made and told to the server at every start, and the
// settings list all devices. The browser is asked for its permission upon a press alone.

import { hasPush, Device } from "./device.js";
import { section } from "./section.js";

export default function (teamchat) {
  const { signal } = teamchat;
  const device = hasPush() ? new Device(teamchat) : null;
  teamchat.settings.add({ icon: "bell", label: teamchat.t("title"), make: (dialog) => section(teamchat, device, dialog) });
  if (!device) return;

  const repair = () => device.repair().catch((error) => console.info(error.message));
  repair();
  // It may be allowed later, in the settings or by the offer at the first message.
  navigator.permissions
    ?.query({ name: "notifications" })
    .then((status) => status.addEventListener("change", repair, { signal }))
    .catch(() => {});

  const close = () => document.visibilityState === "visible" && device.closeNotices();
  addEventListener("focus", close, { signal });
  document.addEventListener("visibilitychange", close, { signal });
  close();
}
