// What one says of oneself: picture, full name, title, pronouns, time zone, and the status. The server tells everybody.

import { element, replace } from "../../lib/dom.js";
import { t } from "../../lib/strings.js";
import { base64 } from "../../model/prepare.js";
import { field, form } from "../form.js";
import { words } from "../notices.js";
import { avatar } from "../people.js";

const MOST_BYTES = 2 * 1024 * 1024;
const SIDE = 512;
const HOUR_MS = 3_600_000;
const LASTING = { "": null, 1: HOUR_MS, 4: 4 * HOUR_MS, 24: 24 * HOUR_MS, 168: 168 * HOUR_MS };

/** The parts of the section of the profile. */
export function about(ctx, dialog) {
  return [picture(ctx, dialog), profile(ctx, dialog), element("hr", {}), status(ctx, dialog)];
}

function own({ model }) {
  return model.users.get(model.me.id) ?? model.me;
}

async function send(ctx, method, address, body) {
  const { user } = await ctx.api.send(method, address, body ? { body } : {});
  const gone = { fullName: null, title: null, pronouns: null, timezone: null, locale: null };
  ctx.model.directory.setUser({ ...own(ctx), ...gone, avatarVersion: null, status: null, ...user });
}

function picture(ctx, dialog) {
  const input = element("input", { type: "file", accept: "image/png,image/jpeg,image/webp", hidden: true });
  const choose = element("button", { class: "button", type: "button" }, t("about.picture"));
  const remove = element("button", { class: "button", type: "button" }, t("about.picture_remove"));
  const box = element("div", { class: "about-picture" });
  const act = async (done) => {
    try {
      await done();
      dialog.say(t("common.saved"));
    } catch (error) {
      dialog.say(words(error));
    }
    draw();
  };
  choose.addEventListener("click", () => input.click());
  remove.addEventListener("click", () => act(() => send(ctx, "DELETE", "/me/avatar")));
  input.addEventListener("change", () => {
    const [file] = input.files;
    input.value = "";
    if (file) act(async () => send(ctx, "PUT", "/me/avatar", { image: await base64(await small(file)) }));
  });
  draw();
  return box;

  function draw() {
    const me = own(ctx);
    replace(box, avatar(me), choose, me.avatarVersion && remove, input);
  }
}

/** A picture that the server takes: what is too large, or of another kind, is drawn anew, a square of its middle. */
async function small(file) {
  if (file.size <= MOST_BYTES && /^image\/(png|jpeg|webp)$/.test(file.type)) return file;
  const drawn = await createImageBitmap(file);
  const side = Math.min(drawn.width, drawn.height);
  const canvas = element("canvas", { width: SIDE, height: SIDE });
  const from = [(drawn.width - side) / 2, (drawn.height - side) / 2, side, side];
  canvas.getContext("2d").drawImage(drawn, ...from, 0, 0, SIDE, SIDE);
  return new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
}

function profile(ctx, dialog) {
  const me = own(ctx);
  const { timeZone } = Intl.DateTimeFormat().resolvedOptions();
  const line = (name, more) =>
    field({ name, label: t(`about.${name}`), value: me[name] ?? "", maxlength: "100", ...more });
  return form({
    fields: [
      line("fullName", { autocomplete: "name" }),
      line("title", { autocomplete: "organization-title" }),
      line("pronouns"),
      line("timezone", { hint: t("about.timezone_hint", { zone: timeZone }) }),
    ],
    action: t("about.save"),
    kind: "plain",
    send: async (values) => {
      await send(ctx, "PUT", "/me/profile", values);
      dialog.say(t("common.saved"));
    },
    explain: ({ status: code, message }) =>
      code === 400 && { field: message.startsWith("timezone") ? "timezone" : "fullName", text: message },
  });
}

function status(ctx, dialog) {
  const { status: now } = own(ctx);
  const lasting = Object.fromEntries(Object.keys(LASTING).map((hours) => [hours, t(`about.until_${hours || "open"}`)]));
  const emoji = field({ name: "emoji", label: t("about.status_emoji"), value: now?.emoji ?? "", maxlength: "16" });
  const text = field({ name: "text", label: t("about.status"), value: now?.text ?? "", maxlength: "100" });
  return form({
    fields: [emoji, text, field({ name: "lasting", label: t("about.until"), options: lasting })],
    action: t("about.status_set"),
    kind: "plain",
    send: async (values) => {
      const lasts = LASTING[values.lasting];
      const until = lasts ? { until: Date.now() + lasts } : {};
      const body = { emoji: values.emoji, text: values.text, ...until };
      if (values.emoji || values.text) await send(ctx, "PUT", "/me/status", body);
      else await send(ctx, "DELETE", "/me/status");
      dialog.say(t("common.saved"));
    },
    explain: ({ status: code, message }) => code === 400 && { field: "text", text: message },
  });
}
