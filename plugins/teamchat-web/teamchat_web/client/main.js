// The beginning: what the page was told (its configuration, its address), and then sign-in and chat in turn.
//
// Tokens and codes leave the address before anything else happens, so that no history and no bookmark holds
// them. A chat ends when its session does; what it kept is forgotten if its person signed out.

import { Api } from "./api/api.js";
import { Http } from "./api/http.js";
import { Session } from "./api/session.js";
import { Kept } from "./lib/kept.js";
import { part } from "./lib/parts.js";
import { Slots } from "./lib/slots.js";
import { hasWords, t } from "./lib/strings.js";
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
const shared = { config, http, session, api: new Api(http, session), router: new Router(), ...notices() };

addEventListener("unhandledrejection", (event) => {
  if (!/import\w* (a )?module/i.test(event.reason?.message)) return;
  event.preventDefault();
  offerReload();
});
if (!globalThis.TEAMCHAT_TOO_OLD) run();

/** Sign in and chat, in turn. */
async function run() {
  const landing = location.search ? (await import("./view/sign_in/landing.js")).takeLanding(kept) : {};
  await hasWords;
  if (kept.get("theme")) (await import("./lib/theme.js")).applyTheme();
  if (landing.accessToken) session.begin(landing);
  if (landing.earlierAccessEnded) {
    (await part(import("./view/sign_in/earlier_access.js"))).tell(shared);
  }
  for (let given = landing; ; ) {
    const { userId } = session;
    const isAsked = given.token || given.unasked; // Who a link is for signs in anew, when they say so.
    const mayChat = session.isSignedIn && !session.mustChangePassword && !isAsked;
    given = mayChat ? { ended: await chat() } : await enter(given);
    if (FOR_GOOD.has(given.ended)) await forget(userId);
  }
}

/** Sign in, or change a password that has to be changed first; return what is known then. */
async function enter(given) {
  import("./view/keep.js").then(({ keepShell }) => keepShell());
  const view = await part(import("./view/sign_in/enter.js"));
  return view.enter(root, { ...shared, kept, signal: new AbortController().signal }, given);
}

/** Show the chat until the session ends; return why it did. */
async function chat() {
  const own = keptOf(session.userId);
  const model = new Model({ api: shared.api, http, session, config, kept: own });
  const ending = new AbortController();
  const slots = new Slots();
  model.on("event", (event) => slots.offer("event", event), ending.signal);
  const ended = new Promise((resolve) => session.on("ended", resolve, ending.signal));
  const { shell } = await import("./view/shell.js");
  const show = () => shell(root, { ...shared, model, slots, kept: own, signal: ending.signal });
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
  shared.toast(t("main.missing_part"), { kind: "danger", action });
}
