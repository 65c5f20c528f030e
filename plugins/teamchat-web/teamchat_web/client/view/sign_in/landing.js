// What the address says of a sign-in. It leaves the address before anything else happens, so that no history and
// no bookmark holds a token.
//
// A link can be anybody's, and so can the tokens in it: those that answer no sign-in which began in this browser
// are asked about first.

const LEFT = "left";
const AWAY_MS = 600_000; // So long a sign-in at a provider takes at most (decision D-20).

/** The mode of a landing whose token is a ticket, which a code makes good. */
export const TICKET = "second-factor";

/** Keep in mind that a sign-in at a provider begins in this browser. */
export function noteLeaving(kept) {
  kept.set(LEFT, Date.now());
}

/** What the address says of a sign-in, taken out of it; `unasked` holds tokens that are to be asked about. */
export function takeLanding(kept) {
  const { searchParams, hash, pathname } = new URL(location.href);
  if (![...searchParams].length) return {};
  history.replaceState(null, "", pathname + hash);
  const get = (name) => searchParams.get(name) ?? undefined;
  const tokens = searchParams.has("access_token") && {
    accessToken: get("access_token"),
    refreshToken: get("refresh_token"),
    earlierAccessEnded: get("earlier_access_ended") === "true",
  };
  return {
    token: get("token") ?? get("second_factor"),
    email: get("email"),
    mode: searchParams.has("second_factor") ? TICKET : get("mode"),
    oauthError: get("oauth_error"),
    ...(wasLeft(kept) ? tokens : { unasked: tokens }),
  };
}

/** Whether a sign-in at a provider began here, not long ago; that is so once. */
function wasLeft(kept) {
  const away = Date.now() - kept.get(LEFT, 0);
  kept.delete(LEFT);
  return away >= 0 && away < AWAY_MS;
}
