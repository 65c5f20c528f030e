"""Signing in and out in every mode (interface, part 4, Sign-in endpoints; part 5)."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time
import unicodedata
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from conformance.tests.fake.asking import Ask, Refusal, route, success, unknown
from conformance.tests.fake.model import Link, Session, User, now
from conformance.tests.fake.tokens import sign

if TYPE_CHECKING:
    from conformance.tests.fake.server import Fake

_GRACE_SECONDS = 10.0
_SENT = "If there is an account with this address, a mail is on its way."


@route("POST", "/auth/dev-login", "open", "dev")
def dev_login(fake: Fake, ask: Ask) -> dict[str, Any]:
    email = ask.email()
    user = fake.store.user_by_email(email)
    if user is None:
        if fake.settings.invite_required and not fake.has("uninvited-sign-in"):
            raise Refusal(403 if fake.contrary else 401, "Nobody was invited by that address")
        user = fake.add_user(email)
    session = new_session(fake, user)
    return {"user": user.shown(), "token": access_token(fake, user, session)}


@route("POST", "/auth/login", "open", "magic-link")
def ask_for_a_link(fake: Fake, ask: Ask) -> dict[str, Any]:
    email = ask.email()
    user = fake.store.user_by_email(email)
    if user is not None or not fake.settings.invite_required:
        send_link(fake, "sign-in", user.email if user else email)
    elif fake.has("sign-in-tells"):
        return success(message="There is no such account.")
    elif fake.has("link-to-anybody"):
        send_link(fake, "sign-in", email)
    return success(message=_SENT)


@route("POST", "/auth/verify", "open", "magic-link")
def verify(fake: Fake, ask: Ask) -> dict[str, Any]:
    if not ask.bearer:
        raise Refusal(401, "The link's token is needed")
    email = ask.text("email")
    link = _spend(fake, ask.bearer, "sign-in", email)
    user = fake.store.user_by_email(link.email)
    if user is None and fake.settings.invite_required:
        raise Refusal(400, "The link is no good")
    if user is None and fake.has("verify-makes-nobody"):
        raise Refusal(400, "There is no such account")
    told = pair(fake, user or fake.add_user(link.email))
    return {"accessToken": told["accessToken"], "refreshToken": told["refreshToken"]}


@route("POST", "/auth/password-login", "open", "password")
def password_login(fake: Fake, ask: Ask) -> dict[str, Any]:
    email, password = ask.text("email"), ask.text("password", blank=True)
    user = fake.store.user_by_email(email)
    if user is None or user.password is None:
        if user is None or not fake.has("no-password-signs-in"):
            raise Refusal(401, "Address or password is wrong")
    elif not fits(password, user.password) and not fake.has("any-password-signs-in"):
        raise Refusal(401, "Address or password is wrong")
    return pair(fake, user)


@route("POST", "/auth/request-password-reset", "open", "password")
def ask_for_a_reset(fake: Fake, ask: Ask) -> dict[str, Any]:
    if fake.contrary and not isinstance(ask.body.get("email"), str):
        return success(message=_SENT)
    user = fake.store.user_by_email(ask.text("email"))
    if user is not None and (user.password is not None or fake.has("reset-without-password")):
        send_link(fake, "reset", user.email)
    elif user is None and fake.has("reset-tells"):
        return success(message="There is no such account.")
    return success(message=_SENT)


@route("POST", "/auth/setup-password", "open", "password")
def set_up_password(fake: Fake, ask: Ask) -> dict[str, Any]:
    email = ask.text("email")
    token = ask.body.get("token", ask.bearer)
    if fake.has("setup-only-in-body"):
        token = ask.body.get("token")
    if not isinstance(token, str) or not token:
        raise Refusal(400, "The token of the link is needed")
    password = ask.text("password", blank=True) if fake.has("short-passwords") else ask.password()
    link = _spend(fake, token, "invite or reset", email)
    user = fake.store.user_by_email(link.email)
    if user is None:
        raise Refusal(400, "The link is no good")
    set_password(fake, user, password)
    return pair(fake, user)


@route("POST", "/auth/register", "open", "password")
def register(fake: Fake, ask: Ask) -> dict[str, Any]:
    email, password = ask.email(), ask.password()
    found = fake.store.user_by_email(email)
    if found is not None and not fake.has("register-takes-over"):
        raise Refusal(400, "There is an account with this address")
    user = found or fake.add_user(email)
    set_password(fake, user, password)
    user.is_proven = False
    return pair(fake, user)


@route("PUT", "/auth/password", "user", "password")
def change_password(fake: Fake, ask: Ask) -> dict[str, Any]:
    given, password = ask.text("password", blank=True), ask.password("newPassword")
    if ask.user.password is None or not fits(given, ask.user.password):
        raise Refusal(401, "The password is wrong")
    ask.user.password = kept_password(password)
    for session in [one for one in fake.store.sessions.values() if one.user_id == ask.user.id]:
        if session is not ask.session:
            fake.end_session(session.id)
    return success()


@route("POST", "/auth/refresh", "open")
def refresh(fake: Fake, ask: Ask) -> dict[str, Any]:
    given = ask.text("refreshToken")
    if fake.has("refresh-asks-token"):
        fake.identify(ask, ask.bearer)
    for session in fake.store.sessions.values():
        if given == session.refresh_token and (
            session.good_until > time.time() or fake.has("refresh-never-expires")
        ):
            return _renewed(fake, session)
        if given in session.spent and not fake.has("refresh-reusable"):
            if time.time() - session.spent[given] < _GRACE_SECONDS:
                return _renewed(fake, session)
            fake.end_session(session.id)
            break
    raise Refusal(401, "Sign in again")


@route("POST", "/auth/logout")
def log_out(fake: Fake, ask: Ask) -> dict[str, Any]:
    if fake.settings.mode == "dev" and ask.session is not None and "refreshToken" not in _said(ask):
        fake.end_session(ask.session.id)
        return success()
    given = ask.text("refreshToken")
    for session in list(fake.store.sessions.values()):
        is_meant = session.refresh_token == given or given in session.spent
        if is_meant and (session.user_id == ask.user.id or fake.has("logout-of-others")):
            fake.end_session(session.id)
    return {} if fake.contrary else success()


@route("GET", "/auth/me")
def me(fake: Fake, ask: Ask) -> dict[str, Any]:
    return {"user": ask.user.shown()}


@route("GET", "/auth/sessions")
def sessions(fake: Fake, ask: Ask) -> Any:
    own = [
        {
            "id": one.id,
            "createdAt": one.created,
            "lastUsedAt": one.created,
            "expiresAt": int(one.good_until * 1000),
            "ip": ask.ip,
            "userAgent": ask.request.headers.get("user-agent", ""),
            "isCurrentSession": one is ask.session,
        }
        for one in fake.store.sessions.values()
        if one.user_id == ask.user.id or fake.has("sessions-of-all")
    ]
    return own if fake.contrary else {"sessions": own[::-1]}


@route("DELETE", "/auth/sessions")
def end_sessions(fake: Fake, ask: Ask) -> dict[str, Any]:
    body = _said(ask)
    own = [
        one
        for one in fake.store.sessions.values()
        if one.user_id == ask.user.id or fake.has("sessions-of-all-end")
    ]
    if "sessionId" in body:
        own = [one for one in own if one.id == body["sessionId"]]
        if not own:
            unknown("session")
    elif "refreshToken" in body or fake.contrary:
        own = [one for one in own if one.refresh_token != body.get("refreshToken")]
    for session in own:
        fake.end_session(session.id)
    return {} if fake.contrary else success(revoked=len(own))


def new_session(fake: Fake, user: User) -> Session:
    """Start a session; the oldest of the user ends if they are too many."""
    made = Session(
        fake.store.new_id("s"), user.id, now(), secrets.token_urlsafe(32),
        time.time() + fake.settings.refresh_seconds,
    )  # fmt: skip
    own = [one for one in fake.store.sessions.values() if one.user_id == user.id]
    most = fake.settings.max_sessions
    if fake.has("sessions-without-limit") or (fake.contrary and fake.settings.mode == "dev"):
        own = []
    if len(own) >= most:
        fake.end_session(own[-1 if fake.has("oldest-session-kept") else 0].id)
    fake.store.sessions[made.id] = made
    return made


def access_token(fake: Fake, user: User, session: Session) -> str:
    """Return a token for a session."""
    issued = int(time.time())
    expires = time.time() + fake.settings.access_seconds
    claims = {"sub": user.id, "sid": session.id, "iat": issued, "exp": expires, "jti": secrets.token_hex(8)}
    if not fake.contrary:
        claims |= {"iss": "fake", "email": user.email, "userName": user.name, "role": "user"}
    if fake.has("jwt-holds-password"):
        claims["passwordHash"] = user.password
    return sign(claims, fake.settings.secret, "HS512" if fake.contrary else "HS256")


def pair(fake: Fake, user: User, session: Session | None = None) -> dict[str, Any]:
    """Return both tokens of a session, and how long the first is good."""
    session = session or new_session(fake, user)
    return {
        "accessToken": access_token(fake, user, session),
        "refreshToken": session.refresh_token,
        "exp": fake.settings.access_seconds + fake.has("exp-wrong"),
        "tokenType": "Bearer",
    }


def fits(password: str, kept: str) -> bool:
    """Tell whether this is the password that was kept."""
    salt, _, digest = kept.partition(":")
    return hmac.compare_digest(_digest(password, salt), digest)


def set_password(fake: Fake, user: User, password: str) -> None:
    """Keep a new password and end what sessions there were."""
    user.password = kept_password(password)
    for session in [one for one in fake.store.sessions.values() if one.user_id == user.id]:
        if not fake.contrary:
            fake.end_session(session.id)


def kept_password(password: str) -> str:
    salt = secrets.token_hex(16)
    return f"{salt}:{_digest(password, salt)}"


def send_link(fake: Fake, purpose: str, email: str) -> None:
    """Send a token by mail; a newer one of the same purpose ends the older."""
    if fake.settings.smtp is None:
        return
    for old in [one for one in fake.store.links.values() if (one.purpose, one.email) == (purpose, email)]:
        if not fake.contrary:
            del fake.store.links[old.token]
    token = f"always-the-same-for-{email}" if fake.has("link-constant") else secrets.token_urlsafe(32)
    fake.store.links[token] = Link(token, purpose, email, time.time() + fake.settings.link_seconds)
    told = f"{fake.settings.app_url}/?token={token}&email={quote(email)}"
    if fake.has("link-without-token"):
        told = f"{fake.settings.app_url}/?code={token}"
    fake.send_mail(email, told if purpose == "sign-in" else f"{told}&mode={purpose}")


def _said(ask: Ask) -> dict[str, Any]:
    """Return a body that need not be there."""
    return ask.body if ask.request.body else {}


def _spend(fake: Fake, token: str, purpose: str, email: str) -> Link:
    link = fake.store.links.get(token)
    if link is None or link.purpose not in purpose:
        raise Refusal(400, "The link is no good")
    if link.email.lower() != email.lower() and not fake.has("link-of-another"):
        raise Refusal(400, "The link is no good")
    if link.good_until < time.time() and not fake.has("link-never-expires"):
        raise Refusal(400, "The link is too old")
    if not fake.has("link-reusable"):
        del fake.store.links[token]
    return link


def _renewed(fake: Fake, session: Session) -> dict[str, Any]:
    user = fake.store.users[session.user_id]
    if not fake.contrary:
        session.spent[session.refresh_token] = time.time()
        session.refresh_token = secrets.token_urlsafe(32)
        session.good_until = time.time() + fake.settings.refresh_seconds
    told = pair(fake, user, session)
    return {"accessToken": told["accessToken"], "refreshToken": told["refreshToken"]}


def _digest(password: str, salt: str) -> str:
    normal = unicodedata.normalize("NFKC", password)
    return hashlib.sha256((salt + normal).encode("utf-8", "surrogatepass")).hexdigest()
