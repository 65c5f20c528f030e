// Signing in anew, for what the server does only soon after a sign-in, and coming back to the settings for it.
//
// The way may lead to a provider and back, so what to come back to is kept by the tab (sessionStorage), and for
// a short while: whoever signs in there later has not asked for it.

const KEY = "teamchat/anew";
const MOST_MS = 15 * 60_000;

/**
 * Sign out, to sign in again.
 * @param {import("../api/session.js").Session} session
 * @param {string} [section] of the settings, to come back to
 */
export async function signInAnew(session, section) {
  const { userId } = session;
  if (section) keep({ userId, section, until: Date.now() + MOST_MS });
  await session.end("anew");
}

/** The section of the settings that the user wanted to come back to, this once; or nothing. */
export function cameBackTo({ userId }) {
  const kept = take();
  return kept?.userId === userId && Date.now() < kept.until ? kept.section : undefined;
}

function keep(value) {
  try {
    sessionStorage.setItem(KEY, JSON.stringify(value));
  } catch {} // Without it one comes back to the chat alone.
}

function take() {
  try {
    const text = sessionStorage.getItem(KEY);
    sessionStorage.removeItem(KEY);
    return JSON.parse(text);
  } catch {
    return null;
  }
}
