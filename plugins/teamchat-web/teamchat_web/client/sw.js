// The shell without a network: this version's files are kept, and shown when the server can't be reached.
//
// Pages come from the network where there is one, so a new version shows at the next
// load; files come from the version that asks for them; anything else (the interface, its images, the event
// stream) never passes through here. The version before this one is kept too, for tabs that still run it.

const DIGEST = "{{digest}}";
const FILES = "{{files}}".split(" ");
const PREFIX = "teamchat-";
const PAGE = ".";
const SHELL = [PAGE, "config.js", "manifest.webmanifest"];
const HOME = new URL(".", location.href);
const PATIENCE_MS = 4000;
const SHOWN = "shown-pushes"; // The last messages that pushes have shown, in a cache of that name.
const MOST_SHOWN = 100;
const SHARED = "shared"; // A cache of that name has what other apps share.
const WORDS = { en: { open: "Open", dismiss: "Dismiss" }, de: { open: "Öffnen", dismiss: "Verwerfen" } };

addEventListener("install", (event) => {
  skipWaiting();
  event.waitUntil(keep());
});

addEventListener("activate", (event) => {
  event.waitUntil(Promise.all([clients.claim(), forgetOld()]));
});

addEventListener("fetch", (event) => {
  const { request } = event;
  const isShare = request.method === "POST" && request.url === `${HOME.href}share`;
  if (isShare) event.respondWith(shared(request));
  if (request.method !== "GET" || !request.url.startsWith(HOME.href)) return;
  const path = new URL(request.url).pathname.slice(HOME.pathname.length);
  if (path.startsWith("client/")) event.respondWith(file(event, path));
  else if (path === "" || SHELL.includes(path)) event.respondWith(fresh(request, path || PAGE));
});

// One after another: whether a message was shown already is asked before it is shown.
let showing = Promise.resolve();

addEventListener("push", (event) => {
  showing = showing.then(() => notify(saidBy(event.data))).catch(() => {});
  event.waitUntil(showing);
});

// A page has shown a notice itself: a push of it is no news.
addEventListener("message", (event) => {
  const { shown } = event.data ?? {};
  if (shown) event.waitUntil((showing = showing.then(() => wasShown(shown)).catch(() => {})));
});

addEventListener("notificationclick", (event) => {
  event.notification.close();
  if (event.action === "dismiss") return;
  event.waitUntil(show(event.notification.data?.hash ?? ""));
});

async function keep() {
  const cache = await caches.open(PREFIX + DIGEST);
  await cache.addAll([...SHELL, ...FILES.map((name) => `client/${DIGEST}/${name}`)]);
}

/** A file of some version: its address says which, and never means another. */
async function file(event, path) {
  const { request } = event;
  const kept = await caches.match(request, { ignoreVary: true });
  if (kept) return kept;
  const response = await fetch(request);
  // What is not kept from the start, because few need it or only later, is kept once it is used.
  if (response.ok && path.startsWith(`client/${DIGEST}/`)) {
    const copy = response.clone();
    event.waitUntil(caches.open(PREFIX + DIGEST).then((cache) => cache.put(request, copy)));
  }
  return response;
}

/** A page as it is now, or as it was kept. */
async function fresh(request, path) {
  const cache = await caches.open(PREFIX + DIGEST);
  try {
    const response = await fetch(request, { signal: AbortSignal.timeout(PATIENCE_MS) });
    if (response.status < 500) return response;
  } catch {
    // What was kept will do.
  }
  return (await cache.match(path, { ignoreVary: true })) ?? Response.error();
}

/** What another app shares (`share_target` of the manifest): it is kept until the page takes it. */
async function shared(request) {
  const data = await request.formData();
  const cache = await caches.open(SHARED);
  const kept = (body, headers) => cache.put(`shared/${crypto.randomUUID()}`, new Response(body, { headers }));
  for (const file of data.getAll("files")) {
    await kept(file, { "Content-Type": file.type, "X-Name": encodeURIComponent(file.name) });
  }
  const texts = ["title", "text", "url"].map((name) => data.get(name)).filter(Boolean);
  if (texts.length) await kept([...new Set(texts)].join("\n"), { "Content-Type": "text/plain" });
  return Response.redirect(HOME.href, 303);
}

/** Bring a page that is open to the front, or open one, at the place that `hash` names. */
async function show(hash) {
  const open = await clients.matchAll({ type: "window", includeUncontrolled: true });
  const page = open.find(({ url }) => url.startsWith(HOME.href));
  if (!page) return clients.openWindow(HOME.href + hash);
  page.postMessage({ hash });
  return page.focus();
}

/** What a push says; one that can't be read shows a notice too, as each must. */
function saidBy(data) {
  try {
    return data?.json() ?? {};
  } catch {
    return {};
  }
}

/** Show a push: a notice in place of an earlier one of its message, or of a page's own, quietly. */
async function notify({ title, body, tag, url, badge, messageId, placeId, kind }) {
  const about = kind === "reminder" ? `reminder ${messageId}` : messageId;
  const isKnown = await wasShown(about);
  const ofPage = about ? await registration.getNotifications({ tag: about }) : [];
  const setBadge = () => (badge ? navigator.setAppBadge?.(badge) : navigator.clearAppBadge?.());
  if (Number.isInteger(badge)) setBadge()?.catch(() => {});
  const words = WORDS[navigator.language.slice(0, 2)] ?? WORDS.en;
  await registration.showNotification(title || "Teamchat", {
    body: body ?? "",
    tag: ofPage.length ? about : tag || messageId || "teamchat",
    silent: isKnown,
    renotify: !isKnown,
    icon: `client/${DIGEST}/icons/icon-192.png`,
    badge: `client/${DIGEST}/icons/icon-192.png`,
    lang: navigator.language,
    data: { hash: url?.includes("#") ? url.slice(url.indexOf("#")) : "", messageId, placeId },
    actions:
      kind === "test"
        ? []
        : [{ action: "open", title: words.open }, { action: "dismiss", title: words.dismiss }],
  });
}

/** Whether a message was shown before; it counts as shown from now on. */
async function wasShown(messageId) {
  if (!messageId) return false;
  const cache = await caches.open(SHOWN);
  const shown = (await (await cache.match(SHOWN))?.json()) ?? [];
  if (shown.includes(messageId)) return true;
  await cache.put(SHOWN, new Response(JSON.stringify([messageId, ...shown].slice(0, MOST_SHOWN))));
  return false;
}

async function forgetOld() {
  const own = (await caches.keys()).filter((name) => name.startsWith(PREFIX));
  const older = own.filter((name) => name !== PREFIX + DIGEST);
  await Promise.all(older.slice(0, -1).map((name) => caches.delete(name)));
}
