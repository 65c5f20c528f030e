// A place is gone for the user: nothing of it stays on the screen, whatever showed it. Its view is the shell's to
// replace, and what is kept of it the model's to forget.

/**
 * Take away what is open of a place, what is being read out, and what was notified of.
 * @param {object} ctx
 * @param {{id: string}} gone
 */
export async function withdraw({ router, kept, hush }, { id }) {
  const { place, thread } = router.current;
  const isHere = [place?.id, thread?.place.id].includes(id);
  for (const open of document.querySelectorAll("dialog[open]")) if (isHere) open.close();
  hush();
  if (kept.get("place") === id) kept.delete("place");
  const registration = await navigator.serviceWorker?.getRegistration();
  for (const shown of (await registration?.getNotifications?.()) ?? []) {
    const { hash = "", placeId } = shown.data ?? {}; // A push leads to its message, and says the place beside it.
    if (placeId === id || hash.split("/").includes(encodeURIComponent(id))) shown.close();
  }
}
