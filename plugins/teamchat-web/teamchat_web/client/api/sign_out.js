// Signing out: loaded when somebody does.

/**
 * End the session at the server. One that was begun at a provider of identities ends there too (extension M).
 * @param {import("./http.js").Http} http
 * @param {import("./session.js").Session} session
 * @param {string} [reason] why, as the session says it when it is forgotten; by default, having signed out
 * @returns {Promise<void>} rejects if the server can't be reached or has ended the session already
 */
export async function signOut(http, session, reason) {
  const token = await session.token();
  const { refreshToken } = session;
  const { capabilities } = await http.send("GET", "/capabilities").catch(() => ({}));
  if (capabilities?.oidc) {
    const { logoutUrl } = await http.send("POST", "/auth/oauth/logout", { token });
    if (!isAddress(logoutUrl)) return;
    session.forget(reason);
    location.assign(logoutUrl); // There the browser ends the provider's session.
    return;
  }
  await http.send("POST", "/auth/logout", { token, body: refreshToken ? { refreshToken } : {} });
}

function isAddress(url) {
  return URL.canParse(url) && ["https:", "http:"].includes(new URL(url).protocol);
}
