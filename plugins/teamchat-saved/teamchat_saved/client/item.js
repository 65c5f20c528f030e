// What is kept beside one message: when to be reminded of it, and a note. A press on a choice of times is all it takes;
// a note that was typed goes along with whatever is pressed. What was not touched stays as another device has made it.

import { choices, fromField, toField } from "./times.js";

/**
 * Open the dialog about a message that is saved.
 * @param {object} teamchat
 * @param {import("./saved.js").Saved} saved
 * @param {{id: string}} message
 * @param {{hasReminders: boolean, say: function(string): void}} how `say` tells what was done
 */
export function openItem(teamchat, saved, message, { hasReminders, say }) {
  const { t, element, field, form } = teamchat;
  const item = saved.of(message);
  const before = isAhead(item) ? toField(item.remindAt) : "";
  const note = field({ name: "note", label: t("note"), rows: "2", maxlength: "500", value: item.note });
  const at = field({
    name: "at",
    label: t("at"),
    hint: t("at_hint"),
    type: "datetime-local",
    value: before,
    check: (value) => {
      if (at.input.validity.badInput) return t("at_incomplete");
      return value && value !== before && fromField(value) <= Date.now() ? t("at_past") : null;
    },
  });

  async function keep(beside) {
    const isNoted = note.value !== item.note;
    if (isNoted) beside.note = note.value;
    if (Object.keys(beside).length) await saved.keep(message, beside);
    dialog.close();
    if (beside.remindAt) say(t("will_remind", { time: when(teamchat, beside.remindAt) }));
    else say(t(beside.remindAt === null ? "no_reminder" : "kept"));
  }

  async function remove() {
    if (!(await drop(teamchat, saved, message))) return;
    dialog.close();
    say(t("removed"));
  }

  const button = (words, kind, act) => {
    const press = () => act().catch((error) => dialog.say(teamchat.words(error)));
    return element("button", { type: "button", class: `button ${kind}`, on: { click: press } }, words);
  };
  const quick = choices().map(({ key, at: then }) =>
    button(t(key, { time: teamchat.time(then) }), "button-small", () => keep({ remindAt: choice(key) })),
  );
  const entered = form({
    fields: hasReminders ? [at, note] : [note],
    action: t("keep"),
    send: () => keep(hasReminders && at.value !== before ? { remindAt: fromField(at.value) } : {}),
  });
  const group = { class: "saved-choices", role: "group", "aria-label": t("remind") };
  const dialog = teamchat.dialog(
    { title: t("about") },
    element(
      "div",
      { class: "dialog-body saved-about" },
      hasReminders && element("div", group, quick),
      entered,
      element(
        "div",
        { class: "saved-foot" },
        before && button(t("clear"), "", () => keep({ remindAt: null })),
        button(t("done"), "", remove),
      ),
    ),
  );
  (hasReminders ? quick[0] : note.input).focus();
  const end = saved.onChange(() => saved.of(message) || dialog.close());
  dialog.node.addEventListener("close", end);
}

/** Keep a message no longer; one with a note only after asking. Returns whether it was done. */
export async function drop(teamchat, saved, message) {
  const { t, confirm } = teamchat;
  const act = () => saved.drop(message);
  if (saved.of(message)?.note) {
    return confirm({ title: t("remove_title"), lead: t("remove_lead"), action: t("remove"), act });
  }
  await act();
  return true;
}

/** Whether there will be a reminder; one that is past was told. */
export function isAhead({ remindAt }) {
  return remindAt !== null && remindAt > Date.now();
}

/** A moment in few words: the time alone where it is today. */
export function when({ time, dateTime }, ms) {
  return new Date(ms).toDateString() === new Date().toDateString() ? time(ms) : dateTime(ms);
}

/** The moment of a choice as it is pressed, which may be long after it was offered. */
function choice(wanted) {
  const all = choices();
  return (all.find(({ key }) => key === wanted) ?? all.at(-1)).at;
}
