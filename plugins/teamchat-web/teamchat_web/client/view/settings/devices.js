// A browser and a system in two words, out of the User-Agent header. It tells people their own devices apart
// and decides nothing.

import { t } from "../../lib/strings.js";

// In this order, for every browser's header names others too.
const BROWSERS = [
  [/Edg[A-Z]*\//i, "Edge"],
  [/OPR\//, "Opera"],
  [/Firefox\/|FxiOS\//, "Firefox"],
  [/Chrome\/|CriOS\/|Chromium\//, "Chrome"],
  [/Safari\//, "Safari"],
];
const SYSTEMS = [
  [/Android/, "Android"],
  [/iPhone|iPad/, "iOS"],
  [/Windows/, "Windows"],
  [/Mac OS X/, "macOS"],
  [/CrOS/, "ChromeOS"],
  [/Linux/, "Linux"],
];
const LONGEST = 60; // characters of a header that is no browser's

/** What a session was begun with, in words. */
export function device(userAgent) {
  const [browser, system] = [BROWSERS, SYSTEMS].map((all) => all.find(([sign]) => sign.test(userAgent))?.[1]);
  if (browser && system) return t("settings.session_on", { browser, system });
  return browser ?? system ?? (userAgent?.slice(0, LONGEST) || t("settings.session_unknown"));
}
