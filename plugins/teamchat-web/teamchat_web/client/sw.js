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

addEventListener("install", (event) => {
  skipWaiting();
  event.waitUntil(keep());
});

addEventListener("activate", (event) => {
  event.waitUntil(Promise.all([clients.claim(), forgetOld()]));
});

addEventListener("fetch", (event) => {
  const { request } = event;
  if (request.method !== "GET" || !request.url.startsWith(HOME.href)) return;
  const path = new URL(request.url).pathname.slice(HOME.pathname.length);
  if (path.startsWith("client/")) event.respondWith(file(event, path));
  else if (path === "" || SHELL.includes(path)) event.respondWith(fresh(request, path || PAGE));
});

addEventListener("notificationclick", (event) => {
  event.notification.close();
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

/** Bring a page that is open to the front, or open one, at the place that `hash` names. */
async function show(hash) {
  const open = await clients.matchAll({ type: "window", includeUncontrolled: true });
  const page = open.find(({ url }) => url.startsWith(HOME.href));
  if (!page) return clients.openWindow(HOME.href + hash);
  page.postMessage({ hash });
  return page.focus();
}

async function forgetOld() {
  const own = (await caches.keys()).filter((name) => name.startsWith(PREFIX));
  const older = own.filter((name) => name !== PREFIX + DIGEST);
  await Promise.all(older.slice(0, -1).map((name) => caches.delete(name)));
}
