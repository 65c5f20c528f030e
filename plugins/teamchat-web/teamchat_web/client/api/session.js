// Being signed in: the access token, fresh whenever it is asked for, and the refresh token behind it.
//
// All tabs share one session. A refresh token is spent by one tab at a time, and the others take what that
// one got; a spent one used twice would end the session. Only the server's word ends a session (it refused
// the refresh token), never a network that is down, or a proxy that answers for the server. In dev mode
// there is no refresh token and an email signs in: that replaces a token which expires, and never one that
// the server refused, for whoever was signed out or removed there must not come back by themselves.
//
// Where a password must be changed before anything else (decision D-43), "ended" with the reason "password"
// ends the chat though the tokens stay, and "freed" says that it has been changed, in whichever tab.
// It is the same where a second factor must be set up first.

import { Emitter } from "../lib/emitter.js";
import { exclusively } from "../lib/tabs.js";
import { Unreachable } from "./http.js";

const EARLY_MS = 30_000; // A token is refreshed so long before it expires, or at half of a short life.
const RETRIES_MS = [500, 1500, 3000]; // Within the ten seconds in which a lost answer is given again.
const LAG_MS = 500; // What another tab has kept can come here later than the turn that it gave back.
const KEY = "session";
const LOCK = "teamchat-session";

/** There is no session, or no longer. */
export class SignedOut extends Error {}

export class Session extends Emitter {
  #http;
  #kept;
  #refreshing;
  #checking;

  /**
   * @param {import("./http.js").Http} http
   * @param {import("../lib/kept.js").Kept} kept shared by all tabs
   */
  constructor(http, kept) {
    super();
    this.#http = http;
    this.#kept = kept;
    let userId, isDue;
    const note = () => ([userId, isDue] = [this.userId, this.mustChangePassword]);
    note();
    kept.onChange((key) => {
      if (key !== null && key !== KEY) return;
      const [before, wasDue] = [userId, isDue];
      note();
      if (before && userId !== before) this.emit("ended", { reason: "elsewhere" });
      else if (!before && userId) this.emit("began");
      else if (isDue && !wasDue) this.emit("ended", { reason: "password" });
      else if (wasDue && !isDue) this.emit("freed");
    });
    for (const type of ["began", "ended", "freed"]) this.on(type, note);
  }

  get isSignedIn() {
    return this.#tokens !== null;
  }

  /** The id of who is signed in, as the access token says; null if nobody is. */
  get userId() {
    const tokens = this.#tokens;
    return tokens && (claims(tokens.accessToken).sub ?? "unknown");
  }

  /** The refresh token, to tell this session from the user's others; null in dev mode. */
  get refreshToken() {
    return this.#tokens?.refreshToken ?? null;
  }

  /** The user's email, as the access token says. */
  get email() {
    return claims(this.#tokens?.accessToken).email ?? "";
  }

  /** What must be done first, as far as is known: true for the password, or "second-factor". */
  get mustChangePassword() {
    return this.#tokens?.mustChangePassword;
  }

  get #tokens() {
    return this.#kept.get(KEY);
  }

  /** Begin with what a sign-in answered. */
  begin({ accessToken, refreshToken = null, mustChangePassword = false }) {
    this.#keep(accessToken, refreshToken, mustChangePassword);
    this.emit("began");
  }

  /** What was due has been done: the session goes on. */
  free() {
    this.#setDue(false);
  }

  /** Something was forbidden: find out whether that is because something else must be done first. */
  checkPassword() {
    if (this.mustChangePassword) return;
    this.#checking ??= import("./own_password.js")
      .then(({ isDue }) => isDue(this.#http, this))
      .then((is) => is && this.#setDue(is))
      .finally(() => (this.#checking = undefined));
  }

  #setDue(due) {
    const tokens = this.#tokens;
    if (!tokens || !tokens.mustChangePassword === !due) return;
    this.#kept.set(KEY, { ...tokens, mustChangePassword: due });
    if (due) this.emit("ended", { reason: "password" });
    else this.emit("freed");
  }

  /**
   * An access token that still works for a while.
   * @returns {Promise<string>} rejects with `SignedOut`, or with `Unreachable` if a fresh one can't be had
   */
  async token() {
    const tokens = this.#tokens;
    if (!tokens) throw new SignedOut();
    if (Date.now() < tokens.refreshAt) return tokens.accessToken;
    return this.#renew(tokens.accessToken);
  }

  /** A token in place of one that the server refused; rejects as `token` does. */
  replace(refused) {
    const { accessToken, refreshToken, expiresAt } = this.#tokens ?? {};
    if (accessToken === refused && !refreshToken && Date.now() < expiresAt) this.forget("expired");
    return this.#renew(refused);
  }

  /** Sign out, at the server if it can be reached. Who does it to sign in "anew" keeps their drafts. */
  async end(reason) {
    if (!this.#tokens) return;
    // What fails has ended already, or it ends when its refresh token expires.
    await import("./sign_out.js").then(({ signOut }) => signOut(this.#http, this, reason)).catch(() => {});
    this.forget(reason);
  }

  /** Forget the session here. */
  forget(reason = "signed-out") {
    if (!this.#tokens) return;
    this.#kept.delete(KEY);
    this.emit("ended", { reason });
  }

  #renew(stale) {
    this.#refreshing ??= exclusively(LOCK, async (isAfterAnother) => {
      if (isAfterAnother && this.#tokens?.accessToken === stale) await this.#kept.changed(KEY, LAG_MS);
      return this.#refresh(stale);
    }).finally(() => {
      this.#refreshing = undefined;
    });
    return this.#refreshing;
  }

  async #refresh(stale) {
    const tokens = this.#tokens;
    if (!tokens) throw new SignedOut();
    if (tokens.accessToken !== stale) return tokens.accessToken; // Another tab was here first.
    let pair;
    try {
      pair = await this.#ask(tokens);
    } catch (error) {
      const isRefused = error.isPassing === false; // With a refresh token 401 alone is the server's word.
      if (error.status === 401 || (isRefused && !tokens.refreshToken)) {
        this.forget("expired");
        throw new SignedOut();
      }
      if (Date.now() < tokens.expiresAt) return tokens.accessToken;
      throw isRefused ? new Unreachable(error) : error; // Something in between answered.
    }
    if (!pair.accessToken) throw new Unreachable(); // A page of something in between.
    if (!this.#tokens) throw new SignedOut(); // It was ended meanwhile, and stays so.
    this.#keep(pair.accessToken, pair.refreshToken ?? null);
    return pair.accessToken;
  }

  async #ask({ refreshToken, accessToken }) {
    for (const wait of [...RETRIES_MS, null]) {
      try {
        if (refreshToken) return await this.#http.send("POST", "/auth/refresh", { body: { refreshToken } });
        const { email } = claims(accessToken); // Dev mode hands out no refresh token: an email is enough.
        const { token } = await this.#http.send("POST", "/auth/dev-login", { body: { email } });
        return { accessToken: token };
      } catch (error) {
        if (!(error instanceof Unreachable) || wait === null) throw error;
        await new Promise((resolve) => setTimeout(resolve, wait));
      }
    }
  }

  #keep(accessToken, refreshToken, mustChangePassword = this.mustChangePassword) {
    const { iat, exp } = claims(accessToken);
    const life = (exp - iat) * 1000 || 2 * EARLY_MS; // By this clock, whatever the server's says.
    const expiresAt = Date.now() + life;
    const refreshAt = expiresAt - Math.min(EARLY_MS, life / 2);
    this.#kept.set(KEY, { accessToken, refreshToken, expiresAt, refreshAt, mustChangePassword });
  }
}

/** What an access token says of itself (a JWT's payload); nothing if it can't be read. */
function claims(token) {
  try {
    const payload = atob(token.split(".")[1].replace(/-/g, "+").replace(/_/g, "/"));
    const bytes = Uint8Array.from(payload, (char) => char.charCodeAt(0));
    return JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    return {};
  }
}
