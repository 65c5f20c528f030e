// Setting up a second factor, step by step: the secret for an app, its first code, and recovery codes, shown once.

import { path } from "../api/api.js";
import { element, replace } from "../lib/dom.js";
import { t } from "../lib/strings.js";
import { signInAnew } from "./anew.js";
import { copyable } from "./copyable.js";
import { checks, field, form } from "./form.js";
import { showOnce } from "./once.js";
import { mayHavePassword } from "./own_password.js";
import { needsSheets } from "./sheet.js";
import { codeField, wantsCode } from "./sign_in/second_factor.js";

needsSheets("account");

const ADDRESS = "/me/second-factors";

/**
 * The steps, in a box.
 * @param {object} ctx
 * @param {{done: function(): void, hold: function(?function(): void): void, confirmed?: function(): void,
 *   anew?: function(): void, hasOne?: boolean}} about `confirmed` is called when it is on, `done` when the recovery
 *   codes were kept, `anew` to sign in anew; `hold` as a dialog has it, while they could be lost; with `hasOne` a
 *   code is asked for where the password is
 */
export function settingUp(
  ctx,
  { done, hold, confirmed = () => {}, anew = () => signInAnew(ctx.session), hasOne = false },
) {
  const box = element("div", { class: "stack second-factor" });
  const begin = (values = {}) => ctx.api.send("POST", ADDRESS, { body: { type: "totp", ...values } });
  const show = (...nodes) => {
    replace(box, nodes);
    (box.querySelector("input") ?? box.querySelector("button"))?.focus();
  };
  draw();
  return box;

  function draw() {
    const start = form({
      fields: [],
      action: t("factor.begin"),
      send: async () => {
        try {
          secret(await begin());
        } catch (error) {
          if (error.status !== 403) throw error;
          ask();
        }
      },
    });
    replace(box, start);
  }

  /** One has signed in a while ago: the password once more, and a code where there is a factor; or sign in anew. */
  function ask() {
    const button = element("button", { class: "button", type: "button", on: { click: anew } }, t("factor.sign_in_anew"));
    if (!mayHavePassword(ctx)) return show(element("p", {}, t("factor.again_anew")), button);
    const send = async (values) => secret(await begin(values));
    return show(
      form({ fields: [again(), hasOne && codeField()].filter(Boolean), action: t("factor.begin"), send, explain: refused }),
      element("p", { class: "soft" }, t("factor.or_anew")),
      button,
    );
  }

  function secret({ id, secret: words, uri, qrCode }) {
    const confirm = form({
      fields: [codeField(t("factor.code_hint"))],
      action: t("factor.confirm"),
      send: ({ code }) =>
        showOnce(
          { hold },
          {
            ask: () => ctx.api.send("PUT", path`/me/second-factors/${id}`, { body: { code } }),
            show: codes,
            done,
            action: t("factor.kept"),
            reminder: t("factor.keep_first"),
          },
        ),
      explain: ({ status }) => status === 400 && { field: "code", text: t("factor.wrong") },
    });
    const open = element("a", { href: uri }, t("factor.open_app"));
    show(
      element("p", {}, t("factor.scan")),
      qrCode && picture(qrCode),
      copyable(t("factor.secret"), words.replace(/(.{4})(?=.)/g, "$1 ")),
      element("p", { class: "soft" }, open),
      confirm,
    );
  }

  function codes({ recoveryCodes }, keep) {
    show(
      element("p", { class: "note", role: "status" }, t("factor.is_on")),
      element("p", {}, t("factor.recovery_lead")),
      copyable(t("factor.recovery"), recoveryCodes.join("\n")),
      keep,
    );
    confirmed();
  }
}

/** The server's sentence, beside the field that it is about: the code, where the answer asks for a second factor. */
function refused(error) {
  return error.status === 403 && { field: wantsCode(error) ? "code" : "password", text: error.message };
}

/** The password, once more. */
function again() {
  return field({
    name: "password",
    label: t("common.password"),
    hint: t("factor.again"),
    type: "password",
    autocomplete: "current-password",
    check: checks.given,
  });
}

/** A QR code; what is drawn is the server's, and shown as an image it can do nothing. */
function picture(svg) {
  const address = URL.createObjectURL(new Blob([svg], { type: "image/svg+xml" }));
  const loaded = () => URL.revokeObjectURL(address);
  return element("img", { class: "qr-code", src: address, alt: t("factor.qr"), on: { load: loaded } });
}
