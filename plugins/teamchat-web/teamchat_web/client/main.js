// The beginning: what the page was told (its configuration, its address), and then sign-in and chat in turn.
//
// Tokens and codes leave the address before anything else happens, so that no history and no bookmark holds
// them. A chat ends when its session does; what it kept is forgotten if its person signed out.

import { Api } from "./api/api.js";
import { Http } from "./api/http.js";
import { Session } from "./api/session.js";
import { Kept } from "./lib/kept.js";
import { t } from "./lib/strings.js";
import { Model } from "./model/model.js";
import { Router } from "./model/router.js";
import { notices } from "./view/notices.js";

const FOR_GOOD = new Set(["signed-out", "left"]);
const DEFAULTS = { AUTH_MODE: "password", HAS_EMAIL: false, ENABLE_OAUTH: false, API_BASE_URL: "" };

const root = document.getElementById("app");
const config = { ...DEFAULTS, ...globalThis.TEAMCHAT_CONFIG };
const kept = new Kept("teamchat");
const http = new Http(config.API_BASE_URL);
const session = new Session(http, kept);
const shared = { config, session, api: new Api(http, session), router: new Router(), ...notices() };
const common = { ...shared, tellOfEarlierAccess };

addEventListener("unhandledrejection", (event) => {
  if (!/import\w* (a )?module/i.test(event.reason?.message)) return;
  event.preventDefault();
  offerReload();
});
run(takeLanding());
keepShell();

/** Sign in and chat, in turn. */
async function run(landing) {
  if (kept.get("theme")) (await import("./lib/theme.js")).applyTheme();
  if (landing.accessToken) session.begin(landing);
  if (landing.accessToken && landing.earlierAccessEnded) tellOfEarlierAccess();
  for (let given = landing; ; ) {
    if (given.token) session.forget("replaced"); // A link from a mail means: sign in anew.
    const typed = session.isSignedIn ? null : await signIn(given);
    const { userId } = session;
    const ended = await (session.mustChangePassword ? changePassword(typed) : chat());
    if (FOR_GOOD.has(ended)) await forget(userId);
    given = { ended };
  }
}

/** Ask who it is; return the password, if they typed one. */
async function signIn(given) {
  const view = await import("./view/sign_in/sign_in.js");
  return view.signIn(root, { ...common, kept, signal: new AbortController().signal }, given);
}

/** Ask for another password before anything else is shown (decision D-43); return why that ended. */
async function changePassword(typed) {
  const { ownPassword } = await import("./view/sign_in/own_password.js");
  return ownPassword(root, common, typed);
}

/** Show the chat until the session ends; return why it did. */
async function chat() {
  const own = keptOf(session.userId);
  const model = new Model({ api: common.api, http, session, config, kept: own });
  const ending = new AbortController();
  const ended = new Promise((resolve) => session.on("ended", resolve, ending.signal));
  const { shell } = await import("./view/shell.js");
  const show = () => shell(root, { ...common, model, kept: own, signal: ending.signal });
  const isKnown = model.directory.isFilled;
  if (isKnown) show(); // Before all else is asked for: so the messages come first.
  const started = model.start();
  if (!isKnown) await Promise.race([started, ended]);
  if (!isKnown && session.isSignedIn && model.directory.isFilled) show();
  const { reason } = await ended;
  ending.abort();
  model.stop();
  document.title = model.serverName || document.title;
  return reason;
}

/** Keep nothing of whoever signed out. */
async function forget(userId) {
  keptOf(userId).clear();
  await (await import("./lib/files.js")).dropFiles();
}

function keptOf(userId) {
  return new Kept(`teamchat/${userId}`);
}

/** A part of the page can't be had: the server has another version by now, or there is no network. */
function offerReload() {
  const action = { label: t("main.reload"), run: () => location.reload() };
  common.toast(t("main.missing_part"), { kind: "danger", action });
}

/** Whoever had this account without a proof of its address has lost it now; it stays until it is closed. */
function tellOfEarlierAccess() {
  shared.toast(t("main.earlier_access_ended"), { kind: "danger" });
}

/** What the address says of a sign-in, taken out of it. */
function takeLanding() {
  const { searchParams, hash, pathname } = new URL(location.href);
  if (![...searchParams].length) return {};
  history.replaceState(null, "", pathname + hash);
  const get = (name) => searchParams.get(name) ?? undefined;
  return {
    token: get("token"),
    email: get("email"),
    mode: get("mode"),
    oauthError: get("oauth_error"),
    accessToken: get("access_token"),
    refreshToken: get("refresh_token"),
    earlierAccessEnded: get("earlier_access_ended") === "true",
  };
}

/** Once there is time, let the service worker keep this version, so that the page opens without a network. */
async function keepShell() {
  if (document.readyState !== "complete") await new Promise((loaded) => addEventListener("load", loaded));
  (await import("./view/keep.js")).keepShell();
}
