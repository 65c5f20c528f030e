// Alt and an arrow key: to the place above or below in the sidebar, or to the next that has something unread.

export function goToNeighbour(side, by, isUnread) {
  const links = [...side.querySelectorAll("a")];
  const from = links.findIndex((link) => link.ariaCurrent);
  const row = [...links.slice(from + 1), ...links.slice(0, Math.max(from, 0))];
  if (by < 0) row.reverse();
  row.find((link) => !isUnread || link.classList.contains("unread"))?.click();
}
