// The section of the settings: whether this device gets notices, and all devices that do, each with a try.

import { end, needsInstalling } from "./device.js";

/**
 * Make it.
 * @param {object} teamchat
 * @param {import("./device.js").Device | null} device this browser, if it can get pushes
 * @param {object} dialog that it stands in
 */
export function section(teamchat, device, dialog) {
  const { t, element, api, limits } = teamchat;
  const devices = teamchat.list({ label: t("devices"), none: t("none") });
  const draw = async () => {
    const { subscriptions } = await api.get("/push/subscriptions");
    devices.draw(subscriptions.map((one) => row(teamchat, device, dialog, one, draw)));
    const box = document.querySelector(".web-push-here");
    if (box) box.checked = device.isOn && Boolean(device.id);
  };
  draw().catch((error) => dialog.say(teamchat.words(error)));
  const said = ["explained", "ends"].map((key) => element("p", { class: "soft" }, t(key, { count: limits.sessions })));
  return [here(teamchat, device, dialog, draw), ...said, devices.node];
}

/** Whether this device gets notices; where it can't, why. */
function here(teamchat, device, dialog, draw) {
  const { t, element } = teamchat;
  if (!device) return element("p", { class: "note" }, t(needsInstalling() ? "install" : "missing"));
  const denied = element("p", { class: "note note-warn", role: "status", hidden: !device.isDenied }, t("denied"));
  const box = element("input", { class: "web-push-here", type: "checkbox", checked: device.isOn && Boolean(device.id) });
  box.addEventListener("change", async () => {
    box.disabled = true;
    try {
      if (box.checked) box.checked = await device.turnOn();
      else await device.turnOff();
      dialog.say(t(box.checked ? "is_on" : "is_off"));
      await draw();
    } catch (error) {
      box.checked = device.isOn && Boolean(device.id);
      dialog.say(error instanceof DOMException ? t("no_service") : teamchat.words(error));
    } finally {
      box.disabled = false;
      denied.hidden = !device.isDenied;
    }
  });
  const label = element("label", { class: "check" }, box, element("span", {}, t("here")));
  return element("div", { class: "form" }, label, denied);
}

function row(teamchat, device, dialog, { id, deviceName, lastSentAt, lastError }, draw) {
  const { t, api, dateTime } = teamchat;
  const name = deviceName || t("unnamed");
  const last = lastSentAt ? t("last", { time: dateTime(lastSentAt) }) : t("never");
  return teamchat.row({
    id,
    title: name,
    detail: lastError ? t("failed", { reason: lastError }) : last,
    tags: device?.id === id ? [t("this_one")] : [],
    actions: [
      {
        label: t("try_label", { name }),
        text: t("try"),
        act: async () => {
          const { sent } = await api.post(api.path`/push/subscriptions/${id}/test`, {});
          dialog.say(sent.reason);
          teamchat.toast(sent.reason, { kind: sent.status >= 200 && sent.status < 300 ? undefined : "danger" });
          await draw();
        },
      },
      {
        label: t("remove_label", { name }),
        text: t("remove"),
        act: async () => {
          if (device?.id === id) await device.turnOff();
          else await end(api, id);
          await draw();
        },
      },
    ],
  });
}
