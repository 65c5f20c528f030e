// Which place is looked at, as the address says it: "#/channel/ID", "#/conversation/ID", and either with
// "/thread/MESSAGEID" behind it. The address is the only memory; back and forward work by themselves.

import { Emitter } from "../lib/emitter.js";

const KINDS = ["channel", "conversation"];

/** Emits "changed" with `current`. */
export class Router extends Emitter {
  constructor() {
    super();
    addEventListener("hashchange", () => this.emit("changed", this.current));
  }

  /** @returns {{place: ?{kind: string, id: string}, threadId: ?string}} */
  get current() {
    const [, kind, id, thread, threadId] = location.hash.split("/").map(decoded);
    if (!KINDS.includes(kind) || !id) return { place: null, threadId: null };
    return { place: { kind, id }, threadId: thread === "thread" && threadId ? threadId : null };
  }

  /** The address of a place, of one of its threads, or with null of nothing. */
  address(place, threadId = null) {
    const thread = threadId ? `/thread/${encodeURIComponent(threadId)}` : "";
    return place ? `#/${place.kind}/${encodeURIComponent(place.id)}${thread}` : "#/";
  }

  /** Go to a place, to one of its threads, or with null nowhere. */
  go(place, threadId = null) {
    const hash = this.address(place, threadId);
    if (hash !== location.hash) location.hash = hash;
  }
}

function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return "";
  }
}
