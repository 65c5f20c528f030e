// Making a channel: what it is called, who sees it, what it is about, and who is in it from the beginning.

import { Rooms } from "../../api/rooms.js";
import { element } from "../../lib/dom.js";
import "../../lib/more_strings.js";
import { t } from "../../lib/strings.js";
import { newId } from "../../lib/tabs.js";
import { learnRights } from "../../model/rights.js";
import { openDialog } from "../dialog.js";
import { checks, field, form } from "../form.js";
import { admin } from "../sidebar.js";
import { peopleField } from "./people_field.js";

const KINDS = { private: "create-private-channels", public: "create-channels" };

/** Open the dialog; on a server of the core the administration, for a name is all there is to say. */
export async function openNewChannel(ctx) {
  const { membership } = await learnRights(ctx);
  if (!membership) return admin(ctx, "channels");
  const kinds = Object.keys(KINDS).filter((kind) => ctx.model.may.includes(KINDS[kind]));
  const options = Object.fromEntries(kinds.map((kind) => [kind, t(`making.kind_${kind}`)]));
  const kind = field({ name: "kind", label: t("making.kind"), options });
  const given = { autocomplete: "off", check: checks.given };
  const name = field({ name: "name", label: t("common.name"), maxlength: "80", ...given });
  const topic = field({ name: "topic", label: t("making.topic"), hint: t("making.topic_hint"), maxlength: "250" });
  const people = peopleField(ctx, { name: "members", label: t("making.people"), hint: t("making.people_hint") });
  const lead = element("p", { class: "soft" });
  const keys = new Map(); // By what was asked for: whoever asks again for the same gets the same channel.
  const made = form({
    fields: [name, kind, topic, people],
    action: t("making.make"),
    send: async (values) => {
      const channel = await make(ctx, { ...values, kind: values.kind || kinds[0] }, keys);
      ctx.model.directory.take(channel);
      dialog.close();
      ctx.router.go({ kind: "channel", id: channel.id });
    },
    explain: ({ status, message }) =>
      status === 400 && {
        field: "name",
        text: message.includes("exists") ? t("admin.channel_taken") : message,
      },
  });
  const show = () => {
    const shown = kind.value || kinds[0];
    people.node.hidden = shown !== "private";
    lead.textContent = t(`making.kind_${shown}_lead`);
  };
  kind.input.addEventListener("change", show);
  kind.node.hidden = kinds.length < 2;
  kind.node.append(lead);
  show();
  const dialog = openDialog(ctx, { title: t("making.new_channel") }, element("div", { class: "dialog-body" }, made));
  name.input.focus();
}

async function make({ api }, { name, kind, topic, members }, keys) {
  const rooms = new Rooms(api);
  const about = topic ? { name, topic } : { name };
  if (kind === "public") return rooms.add(about);
  const wanted = { ...about, members };
  const asked = JSON.stringify(wanted);
  if (!keys.has(asked)) keys.set(asked, newId());
  const { members: _, ...channel } = await rooms.addPrivate(wanted, keys.get(asked));
  return channel;
}
