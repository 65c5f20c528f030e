// One's own password: whether it must be changed before anything else, and changing it (decision D-43).
// Loaded when it is needed, which is seldom.

/** What must be done first: true for the password, or "second-factor"; false where it can't be asked. */
export async function isDue(http, session) {
  try {
    const { mustChangePassword, mustSetUpSecondFactor } = await me(http, session);
    return mustChangePassword || (mustSetUpSecondFactor && "second-factor") || false;
  } catch {
    return false; // The next refusal asks again.
  }
}

/**
 * Change the password. A 401 is about the present password or about the access token; another request tells
 * which, so that a wrong password is sent once alone: each counts against the limit.
 */
export async function change(http, session, password, newPassword) {
  const put = (token) => http.send("PUT", "/auth/password", { body: { password, newPassword }, token });
  const token = await session.token();
  try {
    await put(token);
  } catch (error) {
    if (error.status !== 401) throw error;
    const renewed = await goodToken(http, session, token);
    if (renewed === token) throw error;
    await put(renewed);
  }
  session.free();
}

/** A token that the server takes: the same one, if it does. */
async function goodToken(http, session, token) {
  try {
    await me(http, session);
    return token;
  } catch (error) {
    if (error.status !== 401) throw error;
    return session.replace(token);
  }
}

async function me(http, session) {
  return http.send("GET", "/auth/me", { token: await session.token() });
}
