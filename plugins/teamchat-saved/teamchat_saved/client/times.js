// When to be reminded: the choices that are offered, and a day and time of one's own, both by the clock of this device.

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const MORNING = 9; // o'clock
const MONDAY = 1;
const WEEK = 7;

/** The choices at a moment, soonest first: the key of its words, and the moment. */
export function choices(now = Date.now()) {
  const toMonday = (MONDAY - new Date(now).getDay() + WEEK) % WEEK || WEEK;
  return [
    { key: "in_minutes", at: now + 20 * MINUTE },
    { key: "in_an_hour", at: now + HOUR },
    { key: "in_hours", at: now + 3 * HOUR },
    { key: "tomorrow", at: morning(now, 1) },
    toMonday > 1 && { key: "monday", at: morning(now, toMonday) },
  ].filter(Boolean);
}

/** A moment as a field for day and time has it. */
export function toField(ms) {
  return ms === null ? "" : new Date(ms - new Date(ms).getTimezoneOffset() * MINUTE).toISOString().slice(0, 16);
}

/** What such a field has, as epoch milliseconds; null where it is empty. */
export function fromField(value) {
  return value ? new Date(value).getTime() : null;
}

function morning(now, days) {
  const day = new Date(now);
  return new Date(day.getFullYear(), day.getMonth(), day.getDate() + days, MORNING).getTime();
}
