// Who pins in a room, as the server announces it; the server refuses all others.

const MANAGERS = 1;

/** Whether one may pin in a room, and take pins away. */
export function mayPin({ limits, me, roomOf }, { id }) {
  const { type, role } = roomOf(id) ?? {};
  const isOpen = limits.pinPolicy !== MANAGERS || !["public", "private"].includes(type);
  return isOpen || me.isAdmin || role === "manager";
}
