// The tokens of a bot, in a dialog of their own. What is made is shown once, until somebody has kept it.

const DAY = 24 * 60 * 60 * 1000;
const ENDS = [90, 365];
const SCOPES = ["read", "write", "files", "events", "manage"];
const USUAL = ["read", "write"];

export function tokens(teamchat, bot) {
  const { t, api, element, list, row, dateTime, confirm, field, form, checks } = teamchat;
  const path = api.path`/bots/${bot.id}/tokens`;
  const listed = list({ label: t("tokens_of", { name: bot.userName }), none: t("tokens_none") });
  const shown = element("div", { class: "stack" });
  const boxes = SCOPES.map((scope) => element("input", { type: "checkbox", name: scope, checked: USUAL.includes(scope) }));
  const making = form({
    fields: [
      field({ name: "name", label: t("token_name"), hint: t("token_hint"), check: checks.given, maxlength: 80 }),
      scopes(),
      field({
        name: "ends",
        label: t("ends"),
        value: "365",
        options: Object.fromEntries([...ENDS.map((count) => [count, t("days", { count })]), ["never", t("never")]]),
      }),
    ],
    action: t("token_make"),
    send: make,
  });
  const dialog = teamchat.dialog(
    { title: t("tokens_of", { name: bot.userName }), isLasting: true },
    element("div", { class: "dialog-body stack" }, element("p", { class: "soft" }, t("tokens_lead")), shown, listed.node, making),
  );
  read().catch((error) => dialog.say(teamchat.words(error)));

  /** What a token may do, as a field of the form. */
  function scopes() {
    const problem = element("p", { class: "error", id: "bots-scopes-error", hidden: true });
    const labels = boxes.map((box) => {
      const words = element("span", {}, element("b", {}, t(`scope_${box.name}`)), ` – ${t(`about_${box.name}`)}`);
      return element("label", { class: "bots-scope" }, box, words);
    });
    const legend = element("legend", {}, t("scopes"));
    const node = element("fieldset", { class: "bots-scopes", "aria-describedby": problem.id }, legend, ...labels, problem);
    const tell = (text) => {
      problem.hidden = !text;
      problem.textContent = text ?? "";
    };
    node.addEventListener("change", () => tell(null));
    return {
      node,
      input: boxes[0],
      name: "scopes",
      tell,
      get value() {
        return boxes.filter((box) => box.checked).map((box) => box.name);
      },
      check: (values) => (values.scopes.length ? null : t("scopes_missing")),
    };
  }

  async function read() {
    const found = await api.get(`${path}?limit=200`); // There are no more.
    listed.draw(found.tokens.map(line));
  }

  async function make({ name, scopes: may, ends }) {
    const expiresAt = ends === "never" ? null : Date.now() + Number(ends) * DAY;
    const ask = () => api.post(path, { name, scopes: may, expiresAt }, { key: api.newKey() });
    await teamchat.showOnce(dialog, { ask, show, done });
    await read();
  }

  function done() {
    shown.replaceChildren();
    making.elements.name.focus();
  }

  function show({ token }, keep) {
    const text = element("input", { class: "input bots-token", readOnly: true, value: token.token });
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

  function line({ id, name, scopes: may, expiresAt, lastUsedAt, ip }) {
    const isOver = expiresAt !== null && expiresAt <= Date.now();
    const used = lastUsedAt === null ? t("unused") : t("used", { time: dateTime(lastUsedAt), ip });
    const end = expiresAt === null ? t("lasts") : t(isOver ? "ended" : "until", { time: dateTime(expiresAt) });
    return row({
      id,
      title: name,
      tags: [isOver && t("over")],
      detail: [may.map((one) => t(`scope_${one}`)).join(", "), end, used].join(" · "),
      actions: [{ label: t("revoke_named", { name }), text: t("revoke"), act: () => revoke(id, name) }],
    });
  }

  async function revoke(id, name) {
    await confirm({
      title: t("revoke_title", { name }),
      lead: t("revoke_lead"),
      action: t("revoke"),
      act: () => api.delete(`${path}/${encodeURIComponent(id)}`),
    });
    await read();
  }
}
