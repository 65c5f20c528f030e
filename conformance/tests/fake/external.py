"""Sign-in through an identity provider (interface, part 4, OAuth endpoints; part 5, rules 13 to 15)."""

from __future__ import annotations

import base64
import hashlib
import secrets
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from conformance.tests.fake.asking import Ask, Refusal, redirect, route, unknown
from conformance.tests.fake.outgoing import Failure, fetch_json
from conformance.tests.fake.sign_in import pair
from conformance.tests.fake.wire import Response, as_error

if TYPE_CHECKING:
    from conformance.tests.fake.server import Fake

_STATE_SECONDS = 600.0


@dataclass(frozen=True)
class Provider:
    """One provider, as it is configured."""

    id: str
    name: str
    authorization_url: str
    token_url: str
    user_info_url: str
    client_id: str
    client_secret: str
    redirect_uri: str
    scopes: str


@dataclass(frozen=True)
class State:
    """What is remembered of a start until the browser comes back."""

    provider: str
    ip: str
    verifier: str
    good_until: float


class SignInFailure(Exception):
    """The sign-in has failed; its text goes to the application as ``oauth_error``."""


@route("GET", "/auth/oauth/providers", "open")
def providers(fake: Fake, ask: Ask) -> dict[str, Any]:
    listed = [
        {"id": one.id, "name": one.name, "loginUrl": f"/auth/oauth/{one.id}"}
        for one in fake.settings.providers
    ]
    return {"providers": listed, "count": len(listed) + fake.has("providers-miscounted")}


@route("GET", "/auth/oauth/:providerId", "open")
def start(fake: Fake, ask: Ask) -> Response:
    provider = _the_provider(fake, ask)
    fake.starts[ask.ip] = fake.starts.get(ask.ip, 0) + 1
    if _is_over_the_limit(fake, ask) and not fake.has("oauth-without-limit"):
        return _too_many()
    state, verifier = secrets.token_urlsafe(32), secrets.token_urlsafe(48)
    fake.states[state] = State(provider.id, ask.ip, verifier, time.time() + _STATE_SECONDS)
    challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()
    query = {
        "response_type": "code",
        "client_id": provider.client_id,
        "redirect_uri": provider.redirect_uri,
        "scope": provider.scopes,
        "state": state,
    }
    if not fake.contrary:
        query |= {"code_challenge": challenge, "code_challenge_method": "S256"}
    if fake.has("oauth-without-state"):
        del query["state"]
    return redirect(f"{provider.authorization_url}?{urlencode(query)}")


@route("GET", "/auth/oauth/:providerId/callback", "open")
async def come_back(fake: Fake, ask: Ask) -> Response:
    try:
        told = await _signed_in(fake, ask, _the_provider(fake, ask))
    except SignInFailure as failure:
        if fake.has("oauth-errors-as-json"):
            raise Refusal(400, str(failure)) from None
        told = {"oauth_error": str(failure)}
    return redirect(f"{fake.settings.app_url}/?{urlencode(told)}")


async def _signed_in(fake: Fake, ask: Ask, provider: Provider) -> dict[str, Any]:
    if _is_over_the_limit(fake, ask):
        raise SignInFailure("rate_limit_exceeded")
    state = _spend_state(fake, ask, provider)
    code = ask.request.asked("code")
    if not code:
        raise SignInFailure("missing_code")
    try:
        profile = await _profile(fake, provider, code, state)
    except Failure:
        raise SignInFailure("provider_failed") from None
    email = profile.get("email")
    if (
        not isinstance(email, str)
        or not email
        or (profile.get("email_verified") is False and not fake.contrary)
    ):
        raise SignInFailure("no_email")
    user = fake.store.user_by_email(email)
    if user is None:
        if fake.settings.invite_required and not fake.has("uninvited-sign-in"):
            raise SignInFailure("not_invited")
        user = fake.add_user(email)
    if not user.is_proven and not fake.has("unproven-stays"):
        user.password = None
        for session in [one for one in fake.store.sessions.values() if one.user_id == user.id]:
            fake.end_session(session.id)
    user.is_proven = True
    told = pair(fake, user)
    return {
        "access_token": told["accessToken"],
        "refresh_token": told["refreshToken"],
        "expires_in": told["exp"],
    }


def _spend_state(fake: Fake, ask: Ask, provider: Provider) -> State:
    """Return what is remembered of the start, once."""
    given = ask.request.asked("state") or ""
    found = fake.states.get(given) if fake.has("state-reusable") else fake.states.pop(given, None)
    if found is None and fake.has("state-unchecked"):
        return State(provider.id, ask.ip, "", 0)
    if found is None or found.good_until < time.time() or found.provider != provider.id:
        raise SignInFailure("invalid_state")
    if found.ip != ask.ip and not fake.has("state-of-any-address"):
        raise SignInFailure("invalid_state")
    return found


async def _profile(fake: Fake, provider: Provider, code: str, state: State) -> dict[str, Any]:
    form = {
        "grant_type": "authorization_code",
        "code": code,
        "redirect_uri": provider.redirect_uri,
        "client_id": provider.client_id,
        "client_secret": provider.client_secret,
    }
    if not fake.contrary:
        form["code_verifier"] = state.verifier
    if fake.has("oauth-code-lost"):
        form["code"] = "another code"
    told = await fetch_json("POST", provider.token_url, body=urlencode(form).encode())
    token = told.get("access_token")
    if not isinstance(token, str) or not token:
        raise Failure
    return await fetch_json("GET", provider.user_info_url, token=token)


def _is_over_the_limit(fake: Fake, ask: Ask) -> bool:
    return fake.starts.get(ask.ip, 0) > fake.settings.oauth_limit


def _too_many() -> Response:
    refused = as_error(429, "That was too often; try again later")
    refused.headers["Retry-After"] = "900"
    return refused


def _the_provider(fake: Fake, ask: Ask) -> Provider:
    named = ask.params["providerId"]
    return next((one for one in fake.settings.providers if one.id == named), None) or unknown("provider")
