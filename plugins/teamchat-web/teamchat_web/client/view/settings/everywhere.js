// What notifies one on all devices: levels for each kind of place, words that count as mentions, a pause, quiet hours
// and how much a notification shows (docs/reference/extensions.md, D-9, E-7). What is chosen from a list is kept at
// once; what is typed, by its button.

import { element } from "../../lib/dom.js";
import "../../lib/more_strings.js";
import { dateTime, t } from "../../lib/strings.js";
import { field, form } from "../form.js";
import { words } from "../notices.js";

const KINDS = ["channel", "group", "direct", "thread"];
const LEVELS = ["all", "mentions", "nothing"];
const PREVIEWS = ["full", "sender", "none"];
const HOUR_MS = 3_600_000;
const PAUSES = { hour: HOUR_MS, day: 24 * HOUR_MS, week: 168 * HOUR_MS };
const MOST_WORDS = 20;
const LENGTHS = [2, 64];
const MONDAY = Date.UTC(2024, 0, 1);
const DAY_MS = 86_400_000;
const WEEK = [1, 2, 3, 4, 5, 6, 7];

/**
 * Make it.
 * @param {object} ctx
 * @param {object} dialog that it stands in
 * @param {import("../../api/read_states.js").ReadStatesApi} api
 * @param {object} chosen what is chosen now
 * @returns {Node[]}
 */
export function everywhere(ctx, dialog, api, chosen) {
  const choose = async (changes) => {
    Object.assign(chosen, await api.choose(changes));
    dialog.say(t("common.saved"));
  };
  /** A list of which the choice is kept at once; what is refused is told, and not shown as chosen. */
  const list = (name, label, options, value, changes) => {
    const made = field({ name, label, options, value });
    let last = value;
    made.input.addEventListener("change", async () => {
      try {
        await choose(changes(made.value));
        last = made.value;
      } catch (error) {
        made.input.value = last;
        made.tell(words(error));
      }
    });
    return made.node;
  };
  const labels = (keys, says) => Object.fromEntries(keys.map((key) => [key, says(key)]));
  const levels = labels(LEVELS, (one) => t(`levels.level_${one}`));
  const previews = labels(PREVIEWS, (one) => t(`settings.preview_${one}`));
  const level = (kind) =>
    list(kind, t(`settings.level_${kind}`), levels, chosen.defaults[kind], (value) => ({
      defaults: { [kind]: value },
    }));
  const { pausedUntil } = chosen;
  const until = pausedUntil ? { until: t("levels.mute_until", { time: dateTime(pausedUntil) }) } : {};
  const pauses = { no: t("settings.pause_no"), ...until, ...labels(Object.keys(PAUSES), (one) => t(`levels.mute_${one}`)) };
  return [
    element("hr", {}),
    group(t("settings.levels"), t("settings.everywhere"), KINDS.map(level)),
    keywords(choose, chosen),
    list("pause", t("settings.pause"), pauses, pausedUntil ? "until" : "no", (value) => ({
      pausedUntil: value === "until" ? chosen.pausedUntil : value === "no" ? null : Date.now() + PAUSES[value],
    })),
    quietHours(choose, chosen),
    list("preview", t("settings.preview"), previews, chosen.preview, (preview) => ({ preview })),
  ];
}

function group(title, hint, ...parts) {
  const legend = element("legend", {}, title);
  return element("fieldset", { class: "form" }, legend, hint && element("p", { class: "hint soft" }, hint), parts);
}

function keywords(choose, chosen) {
  const [least, most] = LENGTHS;
  const list = (text) => [...new Set(text.split(/[,\n]/).map((word) => word.trim()).filter(Boolean))];
  const check = (text) => {
    const all = list(text);
    const wrong = all.find((word) => [...word].length < least || [...word].length > most);
    if (wrong) return t("settings.keyword_length", { word: wrong, least, most });
    return all.length > MOST_WORDS ? t("settings.keywords_most", { count: MOST_WORDS }) : null;
  };
  const about = { name: "keywords", label: t("settings.keywords"), hint: t("settings.keywords_hint"), check };
  return form({
    fields: [field({ ...about, value: chosen.keywords.join(", "), autocomplete: "off" })],
    action: t("common.save"),
    kind: "line",
    send: (values) => choose({ keywords: list(values.keywords) }),
    explain: ({ status, message }) => status === 400 && { field: "keywords", text: message },
  });
}

/** From when to when on which days, in the time zone of this device; where no day is chosen there are none. */
function quietHours(choose, chosen) {
  const { days = [], from = "19:00", to = "08:00", tz } = chosen.quietHours ?? {};
  const own = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const checked = new Map(WEEK.map((day) => [day, element("input", { type: "checkbox", checked: days.includes(day) })]));
  const box = ([day, input]) => element("label", { class: "check" }, input, element("span", {}, dayName(day)));
  const isAnyDay = () => WEEK.some((day) => checked.get(day).checked);
  const given = (value) => (isAnyDay() && !value ? t("problem.missing") : null);
  const other = (value, values) => (isAnyDay() && value === values.from ? t("settings.quiet_same") : null);
  const fields = [
    field({ name: "from", label: t("settings.quiet_from"), value: from, type: "time", check: given }),
    field({
      name: "to",
      label: t("settings.quiet_to"),
      value: to,
      type: "time",
      check: (value, values) => given(value) ?? other(value, values),
    }),
  ];
  const send = async (values) => {
    const some = WEEK.filter((day) => checked.get(day).checked);
    await choose({ quietHours: some.length ? { tz: own, days: some, ...values } : null });
  };
  const zone = tz && tz !== own ? t("settings.quiet_other_zone", { tz, own }) : t("settings.quiet_hint", { own });
  const made = form({ fields, action: t("common.save"), kind: "line", send });
  return group(t("settings.quiet"), zone, element("div", { class: "days" }, [...checked].map(box)), made);
}

function dayName(day) {
  const look = { weekday: "short", timeZone: "UTC" };
  return new Intl.DateTimeFormat(document.documentElement.lang, look).format(MONDAY + (day - 1) * DAY_MS);
}
