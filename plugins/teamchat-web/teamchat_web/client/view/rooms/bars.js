// The bar above the field one writes in, or in its place: the channel is not one's own yet, it is archived, or only
// managers write there.

import { element, icon, replace } from "../../lib/dom.js";
import "../../lib/more_icons.js";
import "../../lib/more_strings.js";
import { t } from "../../lib/strings.js";
import { closedBy } from "../../model/rooms.js";
import { needsSheets } from "../sheet.js";
import { why } from "./closed.js";
import { unarchive } from "./manage.js";
import { join } from "./membership.js";
import { titleOf } from "./names.js";
import { rightsIn } from "./rights.js";

needsSheets("rooms");

/** Keep the bar as long as the room, or with `isThread` one of its threads, is shown in `holder`. */
export function keepBar(ctx, holder, id, isThread = false) {
  const { model, signal } = ctx;
  const field = holder.querySelector("form.composer");
  const note = holder.querySelector(":scope > .offline"); // The shell's, where there is nothing to write in.
  if (signal.aborted || !(field ?? note) || !model.channels.has(id)) return;
  const bar = element("section", { class: "room-bar", hidden: true, tabindex: "-1", "aria-label": t("rooms.bar") });
  let shown = null;
  if (note) note.replaceWith(bar);
  else field.before(bar);
  const draw = () => {
    const room = model.channels.get(id);
    if (!room) return;
    const kind = kindOf(model, room, isThread);
    holder.classList.toggle("is-archived", Boolean(room.isArchived));
    const says = `${kind} ${titleOf(ctx, room)} ${rightsIn(model, room).archive}`;
    if (says === shown) return;
    shown = says;
    const held = [bar, field].some((one) => one?.contains(document.activeElement));
    bar.hidden = !kind;
    if (field) field.hidden = kind === "closed";
    replace(bar, kind && BARS[kind](ctx, room));
    if (!held) return;
    (kind === "closed" ? bar : field?.querySelector("textarea"))?.focus(); // Not what a stray Enter would press.
  };
  for (const type of ["channels", "me"]) model.on(type, draw, signal);
  draw();
}

function kindOf(model, room, isThread) {
  const { join: mayJoin } = rightsIn(model, room);
  const isClosed = isThread ? room.isArchived : Boolean(closedBy(room, model.me)); // Replies are everybody's.
  if (isClosed) return "closed";
  return mayJoin && !isThread ? "preview" : null;
}

const BARS = {
  preview: (ctx, room) => [
    element("p", {}, t("rooms.preview", { name: titleOf(ctx, room) })),
    action("button-primary", t("rooms.join"), () => join(ctx, room)),
  ],
  closed: (ctx, room) => [
    icon(room.isArchived ? "clock" : "thread"),
    element("p", {}, why(closedBy(room, ctx.model.me))),
    room.isArchived &&
      rightsIn(ctx.model, room).archive &&
      action("", t("rooms.unarchive"), () => unarchive(ctx, room, (words) => ctx.toast(words))),
  ],
};

function action(look, label, act) {
  return element("button", { type: "button", class: `button button-small ${look}`, on: { click: act } }, label);
}
