// Midnight: where the page stays open, what was today is yesterday. What names a day is drawn anew then; after a
// sleep, once the machine is awake or somebody looks.

const LOOK_MS = 60_000;

/** Have it drawn anew, until the session ends. */
export function followDays({ model, signal }) {
  let today = dateOf(Date.now());
  const look = () => {
    const before = today;
    today = dateOf(Date.now());
    if (today === before) return;
    model.timelines.forEach(tell);
    model.emit("day");
  };
  const timer = setInterval(look, LOOK_MS);
  document.addEventListener("visibilitychange", look, { signal });
  signal.addEventListener("abort", () => clearInterval(timer));
}

/** The first message of each day has it above. */
function tell(timeline) {
  const { items } = timeline;
  const dates = items.map(({ createdAt }) => dateOf(createdAt));
  for (const [at, item] of items.entries()) {
    if (dates[at] !== dates[at - 1]) timeline.emit("changed", { item });
  }
}

function dateOf(ms) {
  return new Date(ms).toDateString();
}
