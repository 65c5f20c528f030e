// Reacting: adding a reaction and taking it back, and the ones a person uses most. The row below a message
// is the message's own.
import { part } from "../lib/parts.js";
import { words } from "./notices.js";

const RECENT = 8;
const FIRST = ["👍", "✅", "😄", "❤️", "🎉", "👀", "🙏", "🚀"];

/** The reactions this person used last, newest first, filled up with common ones. */
export function recentReactions(ctx) {
  return [...new Set([...ctx.kept.get("reactions", []), ...FIRST])].slice(0, RECENT);
}

/**
 * Adds or takes back one's own reaction; remembers it for the next time. Where that is not possible it shows who
 * has reacted.
 */
export async function toggle(ctx, item, reaction) {
  if (isArchived(ctx, item)) return showPeople(ctx, item);
  ctx.kept.set("reactions", [...new Set([reaction, ...recentReactions(ctx)])].slice(0, RECENT));
  try {
    return await ctx.model.toggleReaction(item, reaction);
  } catch (error) {
    return ctx.toast(words(error), { kind: "danger" });
  }
}

/** Whether nothing changes any more where a message stands. */
export function isArchived({ model }, { place }) {
  return Boolean(model.channels.get(place.id)?.isArchived);
}

/** Shows who reacted with what. */
export async function showPeople(ctx, item) {
  (await part(import("./reaction_people.js"))).openReactionPeople(ctx, item);
}

/** Opens the picker beside `anchor` and toggles what is chosen. */
export async function pickReaction(ctx, item, anchor) {
  const { openPicker } = await part(import("./picker.js"));
  openPicker(ctx, anchor, (reaction) => toggle(ctx, item, reaction));
}
