// What others are told of oneself: a section of the settings.

const YES_NO = ["yes", "no"];

export function ownStatus(teamchat, dialog) {
  const node = teamchat.element("div", { class: "stack" });
  fill(teamchat, dialog, node).catch((error) => dialog.say(teamchat.words(error)));
  return node;
}

async function fill({ api, t, form, field, element, replace }, dialog, node) {
  const [{ status }, shared] = await Promise.all([api.get("/presence/me"), api.get("/me/notifications")]);
  const choice = (name, value) =>
    field({ name, label: t(name), value: YES_NO[value ? 0 : 1], options: { yes: t("yes"), no: t("no") } });
  replace(
    node,
    element("p", { class: "soft" }, t("lead")),
    form({
      fields: [
        field({
          name: "status",
          label: t("status"),
          value: status,
          options: { auto: t("auto"), away: t("always_away"), offline: t("always_offline") },
        }),
        choice("sharePresence", shared.sharePresence),
        choice("shareTyping", shared.shareTyping),
      ],
      action: t("save"),
      send: async (values) => {
        await api.put("/presence/me", { status: values.status });
        const shares = { sharePresence: values.sharePresence === "yes", shareTyping: values.shareTyping === "yes" };
        await api.put("/me/notifications", shares);
        dialog.say(t("saved"));
      },
    }),
  );
}
