// The server's refusals of what is done with rooms and people, in the page's language.

import { t } from "../../lib/strings.js";
import { words } from "../notices.js";

const SENTENCES = [
  [/last admin/, "rooms.last_admin"],
  [/last manager/, "rooms.last_manager"],
  [/last one in it/, "rooms.last_in_group"],
  [/with this name exists/, "admin.channel_taken"],
  [/stays there: history/, "rooms.group_history"],
  [/channel is archived/, "rooms.is_archived"],
  [/A group is of/, "rooms.group_full"],
  [/Only a manager|Only managers|Only an admin|Only members/, "rooms.not_allowed"],
  [/No such user/, "rooms.no_user"],
  [/chat\.adminsMayEnter/, "rooms.no_entering"],
];

/** @param {Error} error */
export function explained(error) {
  const known = [400, 403, 404].includes(error.status) && SENTENCES.find(([sign]) => sign.test(error.message));
  return known ? t(known[1]) : words(error);
}
