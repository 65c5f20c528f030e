// The audit log: who did what, newest first, a page at a time (extension L-4). Nothing of it can be changed.

import { element } from "../../lib/dom.js";
import { dateTime, t } from "../../lib/strings.js";
import { field } from "../form.js";
import { show } from "../problems.js";
import { draw, row, rows } from "../rows.js";

const KINDS = ["user", "session", "channel", "member", "webhook", "token"];

/** The section. */
export function audit(ctx, dialog) {
  const list = rows(t("admin.audit"));
  const problem = element("p", { class: "note note-danger", hidden: true });
  const more = element("button", { class: "button", type: "button", hidden: true }, t("admin.audit_more"));
  const kinds = KINDS.map((one) => [one, t(`admin.audit_${one}`)]);
  const options = { "": t("admin.audit_all"), ...Object.fromEntries(kinds) };
  const kind = field({ name: "kind", label: t("admin.audit_kind"), options });
  let found = [];
  let next = null;
  let asked = 0;
  kind.input.addEventListener("change", () => read());
  more.addEventListener("click", () => read(next));
  read();
  return [kind.node, problem, list, more];

  /** Read what is older than an entry; without one, begin anew. */
  async function read(before = null) {
    const mine = ++asked;
    try {
      const page = await ctx.api.audit({ before, action: kind.value });
      if (mine !== asked || dialog.signal.aborted) return;
      problem.hidden = true;
      found = before ? [...found, ...page.entries] : page.entries;
      next = page.next;
      more.hidden = next === null;
      draw(list, found.map((one) => line(ctx, one)), t("admin.audit_none"));
    } catch (error) {
      if (mine === asked && !dialog.signal.aborted) show(problem, error);
    }
  }
}

function line({ model }, { id, at, actorId, ip, action, targetId, details }) {
  const named = (one) => model.userName(one) ?? model.channels.get(one)?.name ?? one;
  const told = Object.entries(details).map(([name, value]) => `${name}: ${[value].flat().map(shown).join(", ")}`);
  const actor = actorId ? named(actorId) : t("admin.audit_nobody");
  const words = [dateTime(at), ip, targetId && targetId !== actorId && named(targetId), ...told];
  return row({ id, title: actor, tags: [action], detail: words.filter(Boolean).join(" · ") });

  function shown(value) {
    return typeof value === "string" ? named(value) : JSON.stringify(value);
  }
}
