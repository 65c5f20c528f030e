// What is said where nobody can write, or not oneself.

import "../../lib/more_strings.js";
import { t } from "../../lib/strings.js";

/** @param {"archived"|"managers"} reason as `closedBy` tells it */
export function why(reason) {
  return t(reason === "archived" ? "rooms.archived" : "rooms.managers_post");
}
