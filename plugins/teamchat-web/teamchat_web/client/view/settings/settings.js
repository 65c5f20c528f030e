// The settings of the person who is signed in: one dialog, a module for each section.

import "../../lib/more_strings.js";
import { t } from "../../lib/strings.js";
import { mayHavePassword } from "../own_password.js";
import { extensionSections, openSections } from "../sections.js";
import { account } from "./account.js";
import { notifications } from "./notifications.js";
import { password } from "./password.js";
import { profile } from "./profile.js";
import { secondFactor } from "./second_factor.js";
import { sessions } from "./sessions.js";

/**
 * Open the settings.
 * @param {object} ctx
 * @param {string} [first] the section to begin with
 */
export function openSettings(ctx, first) {
  const sections = () =>
    [
      { id: "profile", label: t("settings.profile"), icon: "user", make: profile },
      { id: "notifications", label: t("settings.notifications"), icon: "bell", make: notifications },
      { id: "sessions", label: t("settings.sessions"), icon: "device", make: sessions },
      mayHavePassword(ctx) && {
        id: "password",
        label: t("common.password"),
        icon: "key",
        make: password,
      },
      ctx.model.capabilities["second-factor"] && {
        id: "second-factor",
        label: t("factor.section"),
        icon: "key",
        make: secondFactor,
      },
      ...extensionSections(ctx, "settings"),
      { id: "account", label: t("settings.account"), icon: "sign-out", make: account },
    ].filter(Boolean);
  return openSections(ctx, { title: t("settings.title"), sections, slot: "settings", first });
}
