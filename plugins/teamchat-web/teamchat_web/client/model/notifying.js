// Whether a message notifies the user: by the levels of its place and of threads, by what is muted, the hours
// that are quiet, and whom they let through (docs/reference/extensions.md, D-9). It is the client's one rule.

import { ReadStatesApi } from "../api/read_states.js";

const DEFAULTS = { channel: "mentions", group: "all", direct: "all", thread: "all" };
const MINUTES = 60;
const DAYS = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
const choices = new WeakMap();

/** What the user has chosen for all places; the same promise for everybody who asks, until it fails. */
export function choicesOf(model) {
  if (!choices.has(model)) choices.set(model, keep(model));
  return choices.get(model);
}

async function keep(model) {
  const kept = {};
  const ask = async () => Object.assign(kept, await new ReadStatesApi(model.api).choices());
  try {
    await ask();
  } catch (error) {
    choices.delete(model);
    throw error;
  }
  model.on("event", ({ type, payload }) => {
    if (type === "NOTIFICATION_SETTINGS" && !payload.placeId) Object.assign(kept, payload);
    if (type === "RESYNC") ask().catch(() => {});
  });
  return kept;
}

/**
 * Whether a message notifies, and of how much it tells: "full", "sender" or "none"; null if it doesn't.
 * @param {import("./model.js").Model} model
 * @param {{message: object, place: object, parentId?: string, calls: boolean}} news as the model emits it
 */
export async function notifies(model, news) {
  if (!model.capabilities["notification-levels"]) return news.calls ? "full" : null;
  const chosen = await choicesOf(model).catch(() => ({}));
  const isOn = reaches(model, news, chosen) && (!isQuiet(chosen) || isUrgent(model, news, chosen));
  return isOn ? (chosen.preview ?? "full") : null;
}

/** How much a reminder that is due tells, which one has asked for: null while all is quiet. */
export async function reminds(model) {
  if (!model.capabilities["notification-levels"]) return "full";
  const chosen = await choicesOf(model).catch(() => ({}));
  return isQuiet(chosen) ? null : (chosen.preview ?? "full");
}

/** Whether the levels let it through: a reply by that of threads, unless its place has a level of its own. */
function reaches(model, { message, place, parentId }, { defaults }) {
  const { unread } = model;
  const { level = "default", kind, ignoreChannelMentions } = unread.state(place.id) ?? {};
  if (unread.isMuted(place.id) || level === "nothing") return false;
  const byDefault = { ...DEFAULTS, ...defaults };
  const asked = parentId ? byDefault.thread : level === "default" ? byDefault[kind ?? place.kind] : level;
  const isHere = message.mentions?.includes("@here") && !ignoreChannelMentions;
  return asked === "all" || (asked !== "nothing" && (isHere || model.isMention(message)));
}

function isQuiet({ pausedUntil, quietHours }) {
  return pausedUntil > Date.now() || (quietHours && isWithin(quietHours, Date.now()));
}

/** Whether it comes through while it is quiet: of who was let through, directly or naming the user. */
function isUrgent(model, { message, place, parentId }, { urgentFrom = [] }) {
  if (!urgentFrom.includes(message.author.id)) return false;
  if (!parentId && model.unread.state(place.id)?.kind === "direct") return true;
  return model.capabilities.mentions ? message.mentions?.includes(model.me.id) : model.isMention(message);
}

/**
 * Whether a time is within quiet hours; those that pass midnight belong to the day they begin on.
 * @param {{tz: string, days: number[], from: string, to: string}} hours
 * @param {number} now epoch milliseconds
 */
export function isWithin({ tz, days, from, to }, now) {
  const look = { timeZone: tz, weekday: "short", hour: "2-digit", minute: "2-digit", hourCycle: "h23" };
  const found = new Intl.DateTimeFormat("en", look).formatToParts(now);
  const part = Object.fromEntries(found.map(({ type, value }) => [type, value]));
  const today = DAYS.indexOf(part.weekday) + 1;
  const minute = minutes(`${part.hour}:${part.minute}`);
  const [begin, end] = [minutes(from), minutes(to)];
  if (begin < end) return days.includes(today) && minute >= begin && minute < end;
  const yesterday = ((today + 5) % 7) + 1;
  return (days.includes(today) && minute >= begin) || (days.includes(yesterday) && minute < end);
}

function minutes(clock) {
  const [hours, rest] = clock.split(":").map(Number);
  return hours * MINUTES + rest;
}
