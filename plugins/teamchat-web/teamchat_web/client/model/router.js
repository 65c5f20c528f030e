// What is looked at, as the address says it: "#/channel/ID", "#/conversation/ID", either with
// "/thread/MESSAGEID" behind it, "#/threads", with "/CHANNELID/MESSAGEID" for the one that is open,
// "#/activity", or "#/messages/ID" for a message wherever it is. The address is the only memory; back and
// forward work by themselves.

import { Emitter } from "../lib/emitter.js";

const KINDS = ["channel", "conversation"];

/**
 * What an address names. `screen` is "place", "threads", "activity", "unknown" for an address that names
 * nothing, or null for none; `thread` is the one that is open beside it.
 * @typedef {{screen: ?string, place: ?{kind: string, id: string},
 *   thread: ?{id: string, place: {kind: string, id: string}}}} Address
 */

/** Emits "changed" with `current`. */
export class Router extends Emitter {
  constructor() {
    super();
    addEventListener("hashchange", () => this.emit("changed", this.current));
  }

  /** @returns {Address} */
  get current() {
    const [, screen = "", ...rest] = location.hash.split("/").map(decoded);
    if (screen === "threads") return threads(...rest);
    if (screen === "messages") return placed("message", rest[0]);
    if (KINDS.includes(screen) && rest[0]) return placed(screen, ...rest);
    const named = screen === "activity" ? screen : screen && "unknown";
    return { screen: named, place: null, thread: null };
  }

  /** The address of a place, of one of its threads, or with null of nothing. */
  address(place, threadId = null) {
    const thread = threadId ? `/thread/${encodeURIComponent(threadId)}` : "";
    return place ? `#/${place.kind}/${encodeURIComponent(place.id)}${thread}` : "#/";
  }

  /** The address of the list of threads, or of one that is open beside it. */
  threadsAddress(thread = null) {
    const open = thread ? [thread.place.id, thread.id].map(encodeURIComponent) : [];
    return ["#", "threads", ...open].join("/");
  }

  /** Go to a place, to one of its threads, or with null nowhere. */
  go(place, threadId = null) {
    this.follow(this.address(place, threadId));
  }

  /** Go to an address. */
  follow(hash) {
    if (hash !== location.hash) location.hash = hash;
  }
}

function placed(kind, id, thread, threadId) {
  const place = { kind, id };
  const hasThread = kind === "channel" && thread === "thread" && threadId;
  return { screen: "place", place, thread: hasThread ? { id: threadId, place } : null };
}

function threads(channelId, id) {
  const place = { kind: "channel", id: channelId };
  return { screen: "threads", place: null, thread: id ? { id, place } : null };
}

function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return "";
  }
}
