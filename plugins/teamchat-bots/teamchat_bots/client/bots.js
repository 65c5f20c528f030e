// The bots that one looks after, with a form for another.

import { tokens } from "./tokens.js";

export function bots(teamchat, dialog) {
  const { t, api, element, list, row, day, confirm, field, form, checks } = teamchat;
  const listed = list({ label: t("title"), none: t("none") });
  const name = (value = "") => field({ name: "userName", label: t("name"), value, check: checks.given, maxlength: 64 });
  const making = form({ fields: [name()], action: t("make"), send: make });
  teamchat.load(() => read().catch((error) => dialog.say(teamchat.words(error))));
  return element("div", { class: "stack" }, element("p", { class: "soft" }, t("lead")), making, listed.node);

  async function read() {
    if (dialog.signal.aborted) return;
    const found = [];
    for (let next = ""; next !== null; ) {
      const page = await api.get(`/bots?limit=200${next && `&cursor=${encodeURIComponent(next)}`}`);
      found.push(...page.bots);
      next = page.next;
    }
    listed.draw(found.map(line));
  }

  async function make({ userName }) {
    const { bot } = await api.post("/bots", { userName }, { key: api.newKey() });
    making.reset();
    await read();
    dialog.say(t("made", { name: bot.userName }));
    tokens(teamchat, bot);
  }

  function line(bot) {
    const { id, userName, ownerId, createdAt, isDeactivated } = bot;
    const called = { name: userName };
    const owner = teamchat.userName(ownerId) ?? t("somebody");
    return row({
      id,
      title: userName,
      tags: [isDeactivated && t("deactivated")],
      detail: t("made_by", { name: owner, day: day(createdAt) }),
      actions: [
        !isDeactivated && { label: t("tokens_of", called), text: t("tokens"), act: () => tokens(teamchat, bot) },
        { icon: "edit", label: t("rename_named", called), act: () => rename(bot) },
        teamchat.me.isAdmin && {
          icon: isDeactivated ? "check" : "lock",
          label: t(isDeactivated ? "activate_named" : "deactivate_named", called),
          act: () => (isDeactivated ? activate : deactivate)(bot),
        },
        { icon: "trash", label: t("remove_named", called), act: () => remove(bot) },
      ].filter(Boolean),
    });
  }

  function rename({ id, userName }) {
    const change = form({
      fields: [name(userName)],
      action: t("rename"),
      send: async (values) => {
        await api.put(api.path`/bots/${id}`, values);
        asked.close();
        await read();
      },
    });
    const body = element("div", { class: "dialog-body" }, change);
    const asked = teamchat.dialog({ title: t("rename_named", { name: userName }) }, body);
    change.elements.userName.select();
  }

  async function deactivate({ id, userName }) {
    await confirm({
      title: t("deactivate_title", { name: userName }),
      lead: t("deactivate_lead"),
      action: t("deactivate"),
      act: () => api.post(api.path`/users/${id}/deactivate`),
    });
    await read();
  }

  async function activate({ id }) {
    await api.post(api.path`/users/${id}/activate`);
    await read();
  }

  async function remove({ id, userName }) {
    await confirm({
      title: t("remove_title", { name: userName }),
      lead: t("remove_lead"),
      action: t("remove"),
      act: () => api.delete(api.path`/bots/${id}`),
    });
    await read();
  }
}
