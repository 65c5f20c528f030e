// This browser, as a device that gets pushes.

const OFF = "off";

/** Whether this browser can get pushes at all. */
export function hasPush() {
  return Boolean(globalThis.PushManager && globalThis.Notification && navigator.serviceWorker);
}

/** Whether it can once the chat stands on the home screen, as on iPhones and iPads. */
export function needsInstalling() {
  return !globalThis.PushManager && "standalone" in navigator && !navigator.standalone;
}

export class Device {
  #teamchat;
  id = null;

  constructor(teamchat) {
    this.#teamchat = teamchat;
  }

  get isOn() {
    return Notification.permission === "granted" && !this.#teamchat.kept.get(OFF, false);
  }

  get isDenied() {
    return Notification.permission === "denied";
  }

  /** Ask the browser, and subscribe; for a press. Return whether it is on now. */
  async turnOn() {
    this.#teamchat.kept.delete(OFF);
    if ((await Notification.requestPermission()) !== "granted") return false;
    await this.repair();
    return this.isOn;
  }

  async turnOff() {
    this.#teamchat.kept.set(OFF, true);
    if (this.id) await end(this.#teamchat.api, this.id);
    this.id = null;
    await (await this.#present())?.unsubscribe();
  }

  /** Tell the server of this browser's subscription; one that the browser has lost, or of another key, is made anew. */
  async repair() {
    if (!this.isOn) return;
    const { api, language } = this.#teamchat;
    const { key } = await api.get("/push/key");
    const { pushManager } = await navigator.serviceWorker.ready;
    let subscription = await pushManager.getSubscription();
    if (subscription && !isOf(subscription, key)) {
      await subscription.unsubscribe();
      subscription = null;
    }
    subscription ??= await pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: bytes(key) });
    const { endpoint, keys } = subscription.toJSON();
    const told = { endpoint, keys, deviceName: deviceName(navigator.userAgent), language };
    this.id = (await api.post("/push/subscriptions", told)).subscription.id;
  }

  /** Close what was shown: who looks at the chat sees it there. */
  async closeNotices() {
    const registration = await navigator.serviceWorker.getRegistration();
    for (const notice of (await registration?.getNotifications()) ?? []) notice.close();
  }

  async #present() {
    return (await navigator.serviceWorker.getRegistration())?.pushManager.getSubscription();
  }
}

/** Have no pushes sent to a device any more; one that is gone already is as it should be. */
export async function end(api, id) {
  try {
    await api.delete(api.path`/push/subscriptions/${id}`);
  } catch (error) {
    if (error.status !== 404) throw error;
  }
}

/** Whether a subscription was made with this key. */
function isOf(subscription, key) {
  const own = subscription.options?.applicationServerKey;
  if (!own) return true;
  const wanted = bytes(key);
  const present = new Uint8Array(own);
  return present.length === wanted.length && present.every((byte, place) => byte === wanted[place]);
}

function bytes(base64url) {
  const text = atob(base64url.replaceAll("-", "+").replaceAll("_", "/"));
  return Uint8Array.from(text, (character) => character.charCodeAt(0));
}

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
  [/Linux/, "Linux"],
];

/** What a browser is called in the list of devices, such as "Chrome, Android". */
export function deviceName(userAgent) {
  const found = [BROWSERS, SYSTEMS].map((all) => all.find(([sign]) => sign.test(userAgent))?.[1]);
  return found.filter(Boolean).join(", ");
}
