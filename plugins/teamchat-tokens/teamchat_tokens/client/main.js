// Tokens by which programs act for one: a section of the settings.

import { tokens } from "./tokens.js";

export default function (teamchat) {
  teamchat.settings.add({
    icon: "link",
    label: teamchat.t("title"),
    make: (dialog) => tokens(teamchat, dialog),
  });
}
