// Writing to several people at once, which opens their group, and to oneself alone.

import { Rooms } from "../../api/rooms.js";
import { element } from "../../lib/dom.js";
import "../../lib/more_strings.js";
import { t } from "../../lib/strings.js";
import { openDialog } from "../dialog.js";
import { form } from "../form.js";
import { words } from "../notices.js";
import { peopleField } from "./people_field.js";

const MOST_OTHERS = 8;

/** Open the dialog; one person who is chosen is written to directly. */
export function openNewGroup(ctx) {
  const people = peopleField(ctx, {
    name: "people",
    label: t("making.group_people"),
    hint: t("making.group_hint"),
    most: MOST_OTHERS,
    check: (ids) => (ids.length ? null : t("making.group_nobody")),
  });
  const made = form({
    fields: [people],
    action: t("making.group_open"),
    send: async ({ people: ids }) => {
      const place = ids.length > 1 ? await groupOf(ctx, ids) : await ctx.model.openConversation(ids[0]);
      dialog.close();
      ctx.router.go(place);
    },
  });
  const dialog = openDialog(ctx, { title: t("making.group_title") }, element("div", { class: "dialog-body" }, made));
  people.input.focus();
}

/** Go to one's notes, which are made with the first visit. */
export async function goToNotes(ctx) {
  try {
    ctx.router.go(taken(ctx, await new Rooms(ctx.api).openNotes()));
  } catch (error) {
    ctx.toast(words(error), { kind: "danger" });
  }
}

async function groupOf(ctx, ids) {
  return taken(ctx, await new Rooms(ctx.api).openGroup(ids));
}

function taken({ model }, { channel }) {
  model.directory.take(channel);
  return model.place(channel.id);
}
