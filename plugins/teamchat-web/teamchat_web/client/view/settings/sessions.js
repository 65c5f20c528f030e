// Where one is signed in, and signing out there (decision D-13).

import { Account } from "../../api/account.js";
import { element } from "../../lib/dom.js";
import { dateTime, t } from "../../lib/strings.js";
import { show } from "../problems.js";
import { draw, row, rows } from "../rows.js";
import { device } from "./devices.js";

/** The section. */
export function sessions(ctx, dialog) {
  const account = new Account(ctx.api, ctx.session);
  const list = rows(t("settings.sessions"));
  const problem = element("p", { class: "note note-danger", hidden: true });
  const button = { class: "button", type: "button", hidden: true };
  const others = element("button", button, t("settings.others_end"));
  others.addEventListener("click", () => attempt(endOthers));
  attempt();
  return [list, problem, element("div", {}, others)];

  async function attempt(change = null) {
    try {
      const said = await change?.();
      const found = await account.sessions();
      draw(list, found.map(line));
      others.hidden = found.every((one) => one.isCurrentSession);
      problem.hidden = true;
      if (said) dialog.say(said);
    } catch (error) {
      show(problem, error);
    }
  }

  async function endOthers() {
    const { revoked } = await account.endOtherSessions();
    return t("settings.others_ended", { count: revoked });
  }

  async function end(id) {
    await account.endSession(id);
    return t("settings.session_ended");
  }

  function line({ id, lastUsedAt, ip, userAgent, isCurrentSession }) {
    const title = device(userAgent);
    const act = () => attempt(() => end(id));
    const label = t("settings.session_end_named", { name: title });
    return row({
      id,
      title,
      tags: [isCurrentSession && t("settings.session_current")],
      detail: t("settings.session_seen", { time: dateTime(lastUsedAt), ip }),
      actions: isCurrentSession ? [] : [{ label, text: t("settings.session_end"), act }],
    });
  }
}
