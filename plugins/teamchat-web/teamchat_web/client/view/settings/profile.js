// One's own name, and how the page looks to oneself. The name is the server's; language and theme are kept in
// this browser.

import { Account } from "../../api/account.js";
import { element } from "../../lib/dom.js";
import { Kept } from "../../lib/kept.js";
import { language, languages, t } from "../../lib/strings.js";
import { setTheme, theme, themes } from "../../lib/theme.js";
import { checks, field, form } from "../form.js";
import { about } from "./about.js";

/** The section. */
export function profile(ctx, dialog) {
  const more = ctx.model.capabilities.profiles ? [...about(ctx, dialog), element("hr", {})] : [];
  return [nameForm(ctx, dialog), element("hr", {}), ...more, appearance()];
}

function nameForm({ api, session, model }, dialog) {
  const name = field({
    name: "userName",
    label: t("settings.user_name"),
    value: model.me.userName,
    maxlength: "64",
    autocomplete: "nickname",
    check: checks.given,
  });
  return form({
    fields: [name],
    action: t("common.save"),
    kind: "line",
    send: async ({ userName }) => {
      await new Account(api, session).rename(userName);
      dialog.say(t("common.saved"));
    },
    explain: ({ status, message }) =>
      status === 400 && {
        field: "userName",
        text: message.includes("taken") ? t("settings.name_taken") : message,
      },
  });
}

function appearance() {
  const labels = Object.fromEntries(themes.map((one) => [one, t(`settings.theme_${one}`)]));
  const chosenTheme = field({ name: "theme", label: t("settings.theme"), options: labels, value: theme() });
  const chosenLanguage = field({
    name: "language",
    label: t("settings.language"),
    options: languages,
    value: language(),
  });
  chosenTheme.input.addEventListener("change", () => setTheme(chosenTheme.value));
  chosenLanguage.input.addEventListener("change", () => setLanguage(chosenLanguage.value));
  return element("div", { class: "form" }, chosenTheme.node, chosenLanguage.node);
}

/** Keep the choice of a language and load the page anew in it. */
function setLanguage(code) {
  new Kept("teamchat").set("language", code);
  location.reload();
}
