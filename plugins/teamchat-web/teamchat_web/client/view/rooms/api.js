// The requests of this folder.

import { Rooms } from "../../api/rooms.js";

/** The endpoints of rooms, as the user. */
export function roomsApi({ api }) {
  return new Rooms(api);
}
