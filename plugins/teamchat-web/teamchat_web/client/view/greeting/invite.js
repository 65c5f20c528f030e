// How others come in: the address of the server, and adding people, as the server lets them.

import { element } from "../../lib/dom.js";
import { t } from "../../lib/strings.js";
import { copyable } from "../copyable.js";
import { openDialog } from "../dialog.js";
import { admin } from "../sidebar.js";

/** Open the dialog. */
export function openInvite(ctx) {
  const { href } = new URL(".", document.baseURI);
  const way = wayIn(ctx.config);
  const add = element("button", { class: "button button-primary", type: "button" }, t("greeting.add_people"));
  const dialog = openDialog(
    ctx,
    { title: t("greeting.invite") },
    element(
      "div",
      { class: "dialog-body stack" },
      element("p", {}, t(`greeting.by_${way}`)),
      copyable(t("greeting.address"), href),
    ),
    element("div", { class: "dialog-foot" }, add),
  );
  add.addEventListener("click", () => {
    dialog.close();
    admin(ctx, "users");
  });
}

/** Who may come in, and what they are given (interface, part 5). */
function wayIn({ AUTH_MODE, HAS_EMAIL, IS_INVITE_REQUIRED }) {
  if (IS_INVITE_REQUIRED === false) return "address";
  if (AUTH_MODE !== "password") return "email";
  return HAS_EMAIL ? "mail" : "password";
}
