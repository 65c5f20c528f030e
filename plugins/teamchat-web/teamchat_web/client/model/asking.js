// What events leave open, asked of the server: a channel as one sees it, who is in a group, who is an admin.

import { Rooms } from "../api/rooms.js";
import { isUnknown } from "./rooms.js";

const asked = new WeakMap();

/** Take up a channel as the server has it, anew if it changed meanwhile. */
export async function askChannel(api, directory, id) {
  const rooms = new Rooms(api);
  for (;;) {
    const known = directory.channels.get(id);
    if (!known) return;
    const channel = await rooms.channel(id);
    if (directory.channels.get(id) === known) return directory.take(channel);
  }
}

/** Learn who is in each group of which that isn't known, one after the other. */
export async function askPeople(api, directory) {
  const rooms = new Rooms(api);
  for (let id; (id = unknown(directory)); ) {
    const known = directory.channels.get(id);
    asked.set(known, true);
    const members = await rooms.allMembers(id);
    const people = members.map(({ userId }) => userId);
    const isSame = directory.channels.get(id) === known;
    if (isSame) directory.take({ ...known, people, memberCount: people.length });
  }
}

function unknown({ channels }) {
  const isOpen = (channel) => isUnknown(channel) && !asked.has(channel);
  return [...channels.values()].find(isOpen)?.id;
}

/** Take up who is an admin: somebody is one now, or no longer. */
export async function askRoles(api, directory) {
  const [me, users] = await Promise.all([api.me(), api.users()]);
  directory.setRoles(me, users);
}

/** Take up what changed about a user; who does not say what it was has to be asked. */
export async function askUser(api, directory, { id, userName, ...more }) {
  const user = directory.users.get(id);
  if (!user) return;
  directory.setUser({ ...user, userName, ...more });
  if (user.userName === userName && !Object.keys(more).length) await askRoles(api, directory);
}
