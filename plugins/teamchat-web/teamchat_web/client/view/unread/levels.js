// What notifies one in a place, in a dialog: its level, whether it is muted and for how long, and whether what names
// everybody there counts.

import { element } from "../../lib/dom.js";
import "../../lib/more_strings.js";
import { dateTime, t } from "../../lib/strings.js";
import { openDialog } from "../dialog.js";
import { words } from "../notices.js";
import { needsSheets } from "../sheet.js";

needsSheets("overlays");

const LEVELS = ["default", "all", "mentions", "nothing"];
const HOUR_MS = 3_600_000;
const MUTES = { hour: HOUR_MS, day: 24 * HOUR_MS, week: 168 * HOUR_MS };

/** Open the dialog. */
export function openLevels(ctx, { id, label }) {
  const { model } = ctx;
  const state = () => model.unread.state(id) ?? {};
  const said = element("p", { class: "soft", role: "status" });
  const change = async (changes) => {
    try {
      await model.readStates.notify(id, changes);
      said.textContent = t("common.saved");
    } catch (error) {
      ctx.toast(words(error), { kind: "danger" });
    }
    draw();
  };
  const level = select(t("levels.level"), LEVELS.map((one) => [one, t(`levels.level_${one}`)]), (value) =>
    change({ level: value }),
  );
  const mute = select(t("levels.mute"), [], (value) => change(muting(value)));
  const box = element("input", { type: "checkbox" });
  box.addEventListener("change", () => change({ ignoreChannelMentions: box.checked }));
  const ignore = element("label", { class: "check" }, box, element("span", {}, t("levels.ignore")));

  function draw() {
    const { level: chosen = "default", mutedUntil, ignoreChannelMentions = false } = state();
    level.input.value = chosen;
    const isMuted = model.unread.isMuted(id);
    const until = isMuted && mutedUntil ? [["until", t("levels.mute_until", { time: dateTime(mutedUntil) })]] : [];
    const all = [["no", t("levels.mute_no")], ...until];
    for (const one of [...Object.keys(MUTES), "always"]) all.push([one, t(`levels.mute_${one}`)]);
    mute.input.replaceChildren(...all.map(([value, text]) => element("option", { value }, text)));
    mute.input.value = !isMuted ? "no" : mutedUntil ? "until" : "always";
    box.checked = ignoreChannelMentions;
  }

  const end = new AbortController();
  const body = element("div", { class: "dialog-body form" }, level.node, mute.node, ignore, said);
  const dialog = openDialog(ctx, { title: t("levels.title", { name: label }) }, body);
  dialog.node.addEventListener("close", () => end.abort());
  const signal = AbortSignal.any([ctx.signal, end.signal]);
  model.unread.on("changed", ({ placeId }) => placeId === id && draw(), signal);
  draw();
}

function muting(value) {
  if (value === "no") return { isMuted: false };
  if (value === "always") return { isMuted: true, mutedUntil: null };
  return value === "until" ? {} : { mutedUntil: Date.now() + MUTES[value] };
}

function select(label, options, choose) {
  const input = element("select", {}, options.map(([value, text]) => element("option", { value }, text)));
  input.addEventListener("change", () => choose(input.value));
  return { input, node: element("label", { class: "field" }, element("span", {}, label), input) };
}
