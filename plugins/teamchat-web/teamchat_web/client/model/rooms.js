// What events say of a channel, a group or notes, put on what is known of it (extensions B and C). What
// differs by who is told (`isMember`, `role`) is not in them, and in those of the core nothing but a name.

/** A channel that is there from now on. Who is told of a private one is in it. */
export function appeared(told, myId) {
  if (told.isPrivate === undefined) return told;
  const isMine = told.createdBy === myId;
  const isMember = told.isPrivate || told.isDefault || isMine;
  return { ...told, isMember, role: isMember && (isMine && !told.kind ? "manager" : "member") };
}

/** A channel that is another now. What the event leaves out is no longer so. */
export function changed(known, told) {
  if (told.isPrivate === undefined) return { ...known, ...told };
  const { createdAt, isMember = false, role, people, lastMessageAt } = known ?? {};
  return { createdAt, role, people, lastMessageAt, ...told, isMember: told.isPrivate || isMember };
}

/** Whether an event leaves it open what a channel is for oneself, so that the server has to be asked. */
export function isUncertain(known, told, myId) {
  if (told.isPrivate === undefined) return false;
  if (!known) return !told.isPrivate && told.createdBy === myId;
  return known.isDefault !== told.isDefault || known.kind !== told.kind;
}

/** Members were added; oneself too, perhaps. The count in the event that let one see it has them already. */
export function joined(channel, members, myId) {
  const own = members.find(({ userId }) => userId === myId);
  const memberCount = channel.memberCount + (own && channel.isPrivate ? 0 : members.length);
  const people = channel.people && [...new Set([...channel.people, ...members.map(({ userId }) => userId)])];
  return { ...channel, memberCount, people, ...(own && { isMember: true, role: own.role }) };
}

/** A member is one no longer. */
export function left(channel, userId, myId) {
  const own = userId === myId && { isMember: false, role: undefined };
  const people = channel.people?.filter((one) => one !== userId);
  return { ...channel, memberCount: channel.memberCount - 1, people, ...own };
}

/** Why one may not post in a channel: it is "archived", or "managers" alone do; empty where one may. */
export function closedBy({ isArchived, postPolicy, role } = {}, { isAdmin }) {
  if (isArchived) return "archived";
  return postPolicy === "managers" && role !== "manager" && !isAdmin ? "managers" : "";
}

/** Whether it is a group of people who are not known, or no longer. */
export function isUnknown({ kind, people, memberCount }) {
  return kind === "group" && people?.length !== memberCount;
}
