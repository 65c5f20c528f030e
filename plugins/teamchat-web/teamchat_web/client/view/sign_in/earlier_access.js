// What a sign-in ended that proved an address for the first time (decision D-40).

import "../../lib/more_strings.js";
import { t } from "../../lib/strings.js";

/** Whoever had this account without a proof of its address has lost it now; it stays until it is closed. */
export function tell(ctx) {
  ctx.toast(t("sign_in.earlier_access_ended"), { kind: "danger" });
}
