// Setting up a second factor, step by step: the secret for an app, its first code, and recovery codes, shown once.

import { path } from "../api/api.js";
import { element, replace } from "../lib/dom.js";
import { t } from "../lib/strings.js";
import { copyable } from "./copyable.js";
import { checks, field, form } from "./form.js";
import { needsSheets } from "./sheet.js";
import { codeField } from "./sign_in/second_factor.js";

needsSheets("account");

const ADDRESS = "/me/second-factors";

/**
 * The steps, in a box.
 * @param {object} ctx
 * @param {{done: function(): void, confirmed?: function(): void, hasOne?: boolean}} about `confirmed` is called when
 *   it is on, `done` when the recovery codes were kept; with `hasOne` a code is asked for where the password is
 */
export function settingUp(ctx, { done, confirmed = () => {}, hasOne = false }) {
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

  /** One has signed in a while ago: the password once more, and a code where there is a factor. */
  function ask() {
    const fields = [again(), hasOne && codeField()].filter(Boolean);
    const explain = ({ status, message }) => status === 403 && { field: fields.at(-1).name, text: message };
    show(form({ fields, action: t("factor.begin"), send: async (values) => secret(await begin(values)), explain }));
  }

  function secret({ id, secret: words, uri, qrCode }) {
    const confirm = form({
      fields: [codeField(t("factor.code_hint"))],
      action: t("factor.confirm"),
      send: async ({ code }) =>
        kept((await ctx.api.send("PUT", path`/me/second-factors/${id}`, { body: { code } })).recoveryCodes),
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

  function kept(codes) {
    const finish = element("button", { class: "button button-primary", type: "button" }, t("factor.kept"));
    finish.addEventListener("click", done);
    show(
      element("p", { class: "note", role: "status" }, t("factor.is_on")),
      element("p", {}, t("factor.recovery_lead")),
      copyable(t("factor.recovery"), codes.join("\n")),
      element("div", {}, finish),
    );
    confirmed();
  }
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
