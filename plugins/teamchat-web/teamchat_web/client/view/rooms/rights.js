// What one may do in a room (docs/reference/extensions.md, B and C), so that nothing is offered that the server
// would refuse. It judges all the same.

const MANAGER = "manager";

/**
 * @param {object} model
 * @param {object} room a Channel, as the model has it
 * @returns {object} booleans by name
 */
export function rightsIn(model, room) {
  const { isPrivate = false, isArchived = false, isMember = false, invitePolicy, memberCount } = room;
  const kind = room.kind ?? "channel";
  const { isAdmin } = model.me;
  const isChannel = kind === "channel";
  const manages = isChannel && (isAdmin || room.role === MANAGER);
  const mayInvite = isMember && (!isPrivate || invitePolicy !== "managers");
  return {
    manage: manages,
    describe: manages || !isChannel,
    add: !isArchived && kind !== "notes" && (manages || mayInvite),
    join: isChannel && !isPrivate && !isMember && !isArchived,
    leave: isMember && kind !== "notes" && !(kind === "group" && memberCount === 1),
    makePrivate: manages && !isPrivate && Boolean(model.capabilities["private-channels"]),
    makePublic: isChannel && isPrivate && isAdmin,
    archive: manages && Boolean(model.capabilities.archive),
    destroy: isChannel && isAdmin,
    convert: kind === "group",
  };
}

/** What may be done with a member: managers remove members, admins managers too; each lowers themself. */
export function rightsOver(model, room, member) {
  const { manage } = rightsIn(model, room);
  const isMe = member.userId === model.me.id;
  const isManager = member.role === MANAGER;
  return {
    raise: manage && !isManager,
    lower: manage && isManager && (isMe || model.me.isAdmin),
    remove: manage && !isMe && (!isManager || model.me.isAdmin),
  };
}
