// One's second factors: those that there are, another one, and taking one away.

import { path } from "../../api/api.js";
import { element, replace } from "../../lib/dom.js";
import { day, t } from "../../lib/strings.js";
import { signInAnew } from "../anew.js";
import { form } from "../form.js";
import { show } from "../problems.js";
import { draw, row, rows } from "../rows.js";
import { settingUp } from "../second_factor.js";
import { codeField, wantsCode } from "../sign_in/second_factor.js";

/** The section. */
export function secondFactor(ctx, dialog) {
  const list = rows(t("factor.yours"));
  const left = element("p", { class: "soft" });
  const place = element("div", {});
  const problem = element("p", { class: "note note-danger", hidden: true });
  const { hold } = dialog;
  const anew = () => signInAnew(ctx.session, "second-factor");
  read();
  return [element("p", { class: "soft" }, t("factor.explained")), list, left, problem, place];

  async function read() {
    const { hasOne } = (await readList()) ?? {};
    if (hasOne !== undefined) replace(place, settingUp(ctx, { hasOne, anew, hold, confirmed: readList, done: read }));
  }

  async function readList() {
    try {
      const { secondFactors, recoveryCodesLeft, isRequired } = await ctx.api.send("GET", "/me/second-factors");
      const mayRemove = !isRequired || secondFactors.length > 1;
      draw(list, secondFactors.map((one) => line(one, mayRemove)), t("factor.none"));
      replace(left, secondFactors.length > 0 && t("factor.left", { count: recoveryCodesLeft }));
      problem.hidden = true;
      return { hasOne: secondFactors.length > 0 };
    } catch (error) {
      show(problem, error);
      return null;
    }
  }

  function line({ id, createdAt, lastUsedAt }, mayRemove) {
    const title = t("factor.totp");
    const detail = [
      t("factor.since", { day: day(createdAt) }),
      lastUsedAt && t("factor.used", { day: day(lastUsedAt) }),
    ];
    const label = t("factor.remove_label", { day: day(createdAt) });
    return row({
      id,
      title,
      detail: detail.filter(Boolean).join(" · "),
      actions: mayRemove ? [{ label, text: t("factor.remove"), act: () => dialog.mayLeave() && remove(id) }] : [],
    });
  }

  async function remove(id, values) {
    const send = (body) => ctx.api.send("DELETE", path`/me/second-factors/${id}`, { body });
    const act = async (body = {}) => {
      await send(body);
      dialog.say(t("factor.removed"));
      await read();
    };
    try {
      await act(values);
    } catch (error) {
      if (!wantsCode(error)) return show(problem, error);
      const explain = (refused) => wantsCode(refused) && { field: "code", text: refused.message };
      const code = codeField(t("factor.remove_code"));
      replace(place, form({ fields: [code], action: t("factor.remove"), kind: "plain", send: act, explain }));
      code.input.focus();
    }
    return undefined;
  }
}
