// The tokens that one has, with a form for another. What is made is shown once, until somebody has kept it.

import { placesField } from "./places.js";
import { chooser } from "./scopes.js";

const DAY = 24 * 60 * 60 * 1000;
const ENDS = [30, 90, 365];

export function tokens(teamchat, dialog) {
  const { t, api, element, list, row, dateTime, confirm, field, form, checks } = teamchat;
  const listed = list({ label: t("title"), none: t("none") });
  const shown = element("div", { class: "stack" });
  const making = form({
    fields: [
      field({ name: "name", label: t("name"), hint: t("name_hint"), check: checks.given, maxlength: 80 }),
      chooser(teamchat),
      placesField(teamchat),
      field({
        name: "ends",
        label: t("ends"),
        value: "90",
        options: Object.fromEntries([...ENDS.map((count) => [count, t("days", { count })]), ["never", t("never")]]),
      }),
    ],
    action: t("make"),
    send: make,
  });
  read().catch((error) => dialog.say(teamchat.words(error)));
  return element(
    "div",
    { class: "stack" },
    element("p", { class: "soft" }, t("lead")),
    shown,
    listed.node,
    making,
  );

  async function read() {
    const found = await api.get("/me/tokens?limit=200"); // There are no more.
    listed.draw(found.tokens.map(line));
  }

  async function make({ name, scopes, placeIds, ends }) {
    const expiresAt = ends === "never" ? null : Date.now() + Number(ends) * DAY;
    const body = { name, scopes, expiresAt, ...(placeIds && { placeIds }) };
    const ask = () => api.post("/me/tokens", body, { key: api.newKey() });
    await teamchat.showOnce(dialog, { ask, show, done });
    await read();
  }

  function done() {
    shown.replaceChildren();
    making.elements.name.focus();
  }

  function show({ token }, keep) {
    const text = element("input", { class: "input tokens-text", readOnly: true, value: token.token });
    text.setAttribute("aria-label", t("text_of", { name: token.name }));
    const copy = element("button", { class: "button", type: "button" }, t("copy"));
    copy.addEventListener("click", async () => {
      text.select();
      try {
        await navigator.clipboard.writeText(token.token);
        dialog.say(t("copied"));
      } catch {
        dialog.say(t("copy_yourself"));
      }
    });
    teamchat.replace(shown, element("p", { class: "note" }, t("shown_once")), text, element("div", {}, copy), keep);
    text.focus();
    text.select();
    dialog.say(t("shown_once"));
  }

  function line({ id, name, scopes: may, expiresAt, lastUsedAt, ip, placeIds }) {
    const isOver = expiresAt !== null && expiresAt <= Date.now();
    const used = lastUsedAt === null ? t("unused") : t("used", { time: dateTime(lastUsedAt), ip });
    const end = expiresAt === null ? t("lasts") : t(isOver ? "ended" : "until", { time: dateTime(expiresAt) });
    return row({
      id,
      title: name,
      tags: [isOver && t("over"), placeIds && t("limited", { count: placeIds.length })],
      detail: [may.map((one) => t(`scope_${one}`)).join(", "), end, used].join(" · "),
      actions: [{ label: t("revoke_named", { name }), text: t("revoke"), act: () => revoke(id, name) }],
    });
  }

  async function revoke(id, name) {
    await confirm({
      title: t("revoke_title", { name }),
      lead: t("revoke_lead"),
      action: t("revoke"),
      act: () => api.delete(api.path`/me/tokens/${id}`),
    });
    await read();
  }
}
