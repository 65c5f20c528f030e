// What the address says of a sign-in. It leaves the address before anything else happens, so that no history and
// no bookmark holds a token.

/** The mode of a landing whose token is a ticket, which a code makes good. */
export const TICKET = "second-factor";

/** What the address says of a sign-in, taken out of it. */
export function takeLanding() {
  const { searchParams, hash, pathname } = new URL(location.href);
  if (![...searchParams].length) return {};
  history.replaceState(null, "", pathname + hash);
  const get = (name) => searchParams.get(name) ?? undefined;
  return {
    token: get("token") ?? get("second_factor"),
    email: get("email"),
    mode: searchParams.has("second_factor") ? TICKET : get("mode"),
    oauthError: get("oauth_error"),
    accessToken: get("access_token"),
    refreshToken: get("refresh_token"),
    earlierAccessEnded: get("earlier_access_ended") === "true",
  };
}
