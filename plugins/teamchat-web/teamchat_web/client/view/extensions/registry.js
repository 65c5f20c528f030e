// What capabilities have added, slot by slot, in the order of their names. Whatever of a part is called is called
// here: what it throws takes its own tool away, is told once in the console, and harms nothing else.

import { ApiError, Unreachable } from "../../api/http.js";
import { SignedOut } from "../../api/session.js";
import { Emitter } from "../../lib/emitter.js";
import { words } from "../notices.js";

/** The slots; docs/reference/client-extensions.md tells what stands in each. */
export const SLOTS = [
  "messageTools",
  "messageMarks",
  "messageBlocks",
  "posts",
  "composer",
  "composerNotes",
  "sidebar",
  "roomHeader",
  "settings",
  "administration",
  "palette",
];

/** The client's own keys of a message, which no tool gets; the same page has them. */
export const OWN_KEYS = [..."rteulc?", "Delete", "Backspace", "Escape", "ArrowUp", "ArrowDown", "Home", "End"];

const registries = new WeakMap(); // By the slots of a session.
const warned = new Set();

/** Emits the name of a slot when what stands there is to be drawn anew. */
class Registry extends Emitter {
  #tools = new Map(SLOTS.map((slot) => [slot, []]));

  /** The tools of a slot. */
  tools(slot) {
    return this.#tools.get(slot);
  }

  /** Add a tool; returns what has the slot drawn anew. */
  add(slot, tool) {
    const all = this.#tools.get(slot);
    all.push(tool);
    all.sort((a, b) => (a.capability < b.capability ? -1 : Number(a.capability > b.capability)));
    const draw = () => this.emit(slot);
    draw();
    return draw;
  }
}

/** The registry of a session. */
export function registryOf({ slots }) {
  if (!registries.has(slots)) registries.set(slots, new Registry());
  return registries.get(slots);
}

/** What was added to a slot. */
export function added(ctx, slot) {
  return registryOf(ctx).tools(slot);
}

/** One tool of a capability. */
export class Tool {
  #given;
  #safely;

  /**
   * @param {string} capability
   * @param {{icon?: string, label: string|function(*): string, isFor?: function(*): boolean,
   *   count?: function(*): number, keys?: string[], keyHelp?: string, inArchived?: function(*): boolean,
   *   run?: function, make?: function}} given
   */
  constructor(capability, given) {
    this.capability = capability;
    this.#given = given;
    this.#safely = guard(capability);
    for (const key of given.keys ?? []) {
      if (OWN_KEYS.includes(key)) warn(capability, `can't have the key "${key}", which is the client's own`);
    }
  }

  get icon() {
    return this.#given.icon ?? "plug";
  }
  get keys() {
    return (this.#given.keys ?? []).filter((key) => !OWN_KEYS.includes(key));
  }
  get isBelow() {
    return Boolean(this.#given.isBelow);
  }
  get keyHelp() {
    return this.#given.keyHelp;
  }

  /** What it says about a message, a room …; null where it is not for that, or fails. */
  look(about) {
    const { isFor, label, count, note } = this.#given;
    const asked = () => {
      if (isFor && !isFor(about)) return null;
      const [says, number, more] = [label, count, note].map((one) => (typeof one === "function" ? one(about) : one));
      return says ? { label: String(says), count: number || null, note: more } : null;
    };
    return this.#safely(asked) ?? null;
  }

  /** Whether it is offered on a message of an archived channel, where hardly anything can be changed. */
  inArchived(message) {
    return Boolean(this.#safely(() => this.#given.inArchived?.(message)));
  }

  /** What one of its functions answers; null where it has none, or fails. */
  ask(name, ...about) {
    return this.#safely(() => this.#given[name]?.(...about)) ?? null;
  }

  /** Do what it is for; a refusal of the server is told to the person. */
  async run(ctx, ...about) {
    try {
      await this.#given.run(...about);
    } catch (error) {
      if (isAnswer(error)) ctx.toast(words(error), { kind: "danger" });
      else report(this.capability, error);
    }
  }

  /** The text of a field has changed. */
  typed(about) {
    this.#safely(() => this.#given.typed?.(about));
  }

  /** What stands in its section of a dialog. */
  make(dialog) {
    return this.#safely(() => this.#given.make(dialog)) ?? [];
  }
}

/** Returns what calls a function of a capability, and reports what it throws the first time. */
export function guard(capability) {
  let hasFailed = false;
  const failed = (error) => {
    if (!hasFailed) report(capability, error);
    hasFailed = true;
  };
  return (call) => {
    try {
      const result = call();
      if (result instanceof Promise) result.catch((error) => isAnswer(error) || failed(error));
      return result;
    } catch (error) {
      failed(error);
      return undefined;
    }
  };
}

/** Whether an error is the server's answer, or that there was none. */
function isAnswer(error) {
  return [ApiError, SignedOut, Unreachable].some((kind) => error instanceof kind);
}

/** Tell of a mistake for which nothing is missing, once. */
export function warn(capability, mistake) {
  const told = `The part of ${capability} in the client ${mistake}.`;
  if (!warned.has(told)) console.warn(told);
  warned.add(told);
}

function report(capability, error) {
  console.error(`The part of ${capability} in the client has failed.`, error);
}
