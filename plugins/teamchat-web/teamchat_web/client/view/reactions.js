// Reactions: the row below a message, and changing one's own. The order is the server's, so it is the
// same for everybody; one's own are pressed.
import { element, icon } from "../lib/dom.js";
import { t } from "../lib/strings.js";
import { words } from "./problems.js";

const RECENT = 8;
const FIRST = ["👍", "✅", "😄", "❤️", "🎉", "👀", "🙏", "🚀"];
const NAMED = 12;

/** The reactions this person used last, newest first, filled up with common ones. */
export function recentReactions(ctx) {
  return [...new Set([...ctx.kept.get("reactions", []), ...FIRST])].slice(0, RECENT);
}

/** Adds or takes back one's own reaction; remembers it for the next time. */
export async function toggle(ctx, item, reaction) {
  ctx.kept.set("reactions", [...new Set([reaction, ...recentReactions(ctx)])].slice(0, RECENT));
  try {
    await ctx.model.toggleReaction(item, reaction);
  } catch (error) {
    ctx.toast(words(error), { kind: "danger" });
  }
}

/** Opens the picker beside `anchor` and toggles what is chosen. */
export async function pickReaction(ctx, item, anchor) {
  const { openPicker } = await import("./picker.js");
  openPicker(ctx, anchor, (reaction) => toggle(ctx, item, reaction));
}

/** The row of a message, or null if nobody has reacted. */
export function reactionsRow(ctx, item) {
  const all = Object.entries(item.reactions ?? {}).filter(([, users]) => users.length);
  if (!all.length) return null;
  return element(
    "div",
    { class: "reactions", role: "group", "aria-label": t("reactions.label") },
    all.map(([reaction, users]) => button(ctx, item, reaction, users)),
    element(
      "button",
      {
        type: "button",
        class: "reaction",
        tabindex: "-1",
        "aria-label": t("reactions.add"),
        on: { click: (event) => pickReaction(ctx, item, event.currentTarget) },
      },
      icon("smile"),
    ),
  );
}

function button(ctx, item, reaction, users) {
  const named = users
    .slice(0, NAMED)
    .map((id) => ctx.model.userName(id))
    .join(", ");
  const who = users.length > NAMED ? `${named} …` : named;
  return element(
    "button",
    {
      type: "button",
      class: "reaction",
      title: who,
      "aria-pressed": String(users.includes(ctx.model.me.id)),
      "aria-label": t("reactions.by", { reaction, count: users.length, names: who }),
      on: { click: () => toggle(ctx, item, reaction) },
    },
    element("span", {}, reaction),
    element("span", {}, String(users.length)),
  );
}
