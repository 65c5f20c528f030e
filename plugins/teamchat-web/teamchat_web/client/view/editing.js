// Editing a message in its place: the text becomes a field, one in a timeline at a time. What was not finished
// is there again when the timeline is.
import { keyOf } from "./chunks.js";
import { composer } from "./composer.js";
import { words } from "./notices.js";

const FINE = matchMedia("(pointer: fine)");

/**
 * Turns a message into a field with its text.
 * @param {object} ctx
 * @param {object} item
 * @param {{chunks: object, anchor: object, redraw: (item) => void, leave?: () => void}} view
 * @param {?{text: string, entities?: object[]}} unfinished an edit that is taken up again; it takes no focus
 */
export function edit(ctx, item, { chunks, anchor, redraw, leave }, unfinished = null) {
  const article = chunks.entry(keyOf(item))?.lastChild;
  if (!article || chunks.locked) return;
  chunks.locked = keyOf(item);
  const { place, parentId } = item;
  const done = () => {
    ctx.model.drafts.set(place, parentId, null, true);
    const hadFocus = field.element.contains(document.activeElement);
    chunks.locked = null;
    redraw(item);
    if (!hadFocus) return;
    // People write on where they write; on phones that would open the keyboard.
    if (FINE.matches && leave) leave();
    else chunks.entry(keyOf(item))?.lastChild.focus({ preventScroll: true });
  };
  const save = async (typed, button) => {
    if (typed.content === item.content) return done();
    button.disabled = true;
    try {
      await ctx.model.edit(item, typed);
      return done();
    } catch (error) {
      button.disabled = false;
      return ctx.toast(words(error), { kind: "danger" });
    }
  };
  const begun = unfinished ?? { text: item.content, entities: item.entities };
  const field = composer(ctx, { place, parentId, item, ...begun, save, done });
  anchor.hold(() => {
    article.querySelector(".tools")?.remove();
    article.querySelector(".message-body").replaceWith(field.element);
  });
  if (unfinished !== null) return;
  field.focus();
  field.element.scrollIntoView({ block: "nearest" });
}

/** Turns one's own last message into a field, if there is one in the timeline. */
export function editLast(ctx, { items }, view) {
  const last = items.findLast(({ state, author }) => !state && author.id === ctx.model.me.id);
  if (last) edit(ctx, last, view);
}

/**
 * Takes up the edit that was not finished here, once its message is there; forgets it if that is gone. Returns
 * whether there is nothing left to take up.
 */
export function takeUp(ctx, { place, parentId, items, hasOlder, hasNewer }, view) {
  const { drafts } = ctx.model;
  const unfinished = drafts.get(place, parentId, true);
  if (!unfinished) return true;
  const item = items.find(({ id }) => id === unfinished.id);
  const isBefore = hasOlder && !(unfinished.id > items[0]?.id);
  const isAfter = hasNewer && !(unfinished.id < items.at(-1)?.id);
  if (item) edit(ctx, item, view, unfinished);
  else if (isBefore || isAfter) return false;
  else drafts.set(place, parentId, null, true);
  return true;
}
