"""OIDC: sign-in at a provider that speaks OpenID Connect (capability oidc, extension M).

The suite loads this by an entry point; the server never does.  The provider is the suite's own: each scenario
starts a server of its own at it, so what is asked here needs a suite that can start servers, and one that is
described with a provider of OpenID Connect, so that it announces the capability.
"""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import trio
from joserfc import jwk, jwt

from teamchat_conformance.checks.browser import addresses_of, arrived, denied, told
from teamchat_conformance.checks.configuration._area import Started, started
from teamchat_conformance.checks.signing_in import belongs_to, ended
from teamchat_conformance.endpoints import Endpoint
from teamchat_conformance.expect import require
from teamchat_conformance.fixtures.listening import listening
from teamchat_conformance.fixtures.provider_http import Received, Reply, serve
from teamchat_conformance.launch import HOST, free_port
from teamchat_conformance.registry import Area
from teamchat_conformance.verdicts import Miss

if TYPE_CHECKING:
    from teamchat_conformance.checks.browser import Browser
    from teamchat_conformance.expect import Answered
    from teamchat_conformance.run import Run

_ID, _GONE = "company", "gone"
_CLIENT = "client-of-the-suite"
_LOGOUT = "http://schemas.openid.net/event/backchannel-logout"
_SECONDS = 300
_KEPT_SECONDS = 61.0  # an unknown key is asked for at most once a minute

area = Area(
    "OIDC",
    "Sign-in with OpenID Connect",
    capability="oidc",
    endpoints=(
        Endpoint("POST", "/auth/oauth/:providerId/backchannel-logout", "open", kind="text", known={}),
    ),
)
_FOUND = "discovery at start and daily (issuer must equal)"
_CHECKED = "ID token checked (signature by JWKS with `alg` of the discovery, iss, aud, exp, nonce), PKCE"
_ENDED = "back-channel logout (ends sessions and streams at once)"
_NEW_KEY = "an unknown `kid` fetches the keys anew"
_DOWN = "a provider that is down at start does not stop the server: its button is not shown"
_OTHER = "another `sub` with the same email is another person: refused where the email is linked to the first"
for _id, _text, _words in (
    ("OIDC-START-01", "A sign-in begins where the discovery says, with state, nonce and a challenge", _FOUND),
    ("OIDC-START-02", "A provider that is down keeps no server from starting; it has no button", _DOWN),
    ("OIDC-TOKEN-01", "An ID token signs in whom it names", _CHECKED),
    ("OIDC-TOKEN-02", "One of another issuer, audience, nonce or time signs nobody in", _CHECKED),
    ("OIDC-TOKEN-03", "One that the provider's keys have not signed signs nobody in", _CHECKED),
    ("OIDC-KEYS-01", "After the provider has exchanged its keys, its tokens are good", _NEW_KEY),
    ("OIDC-WHO-01", "Another person with an email that is linked is refused", _OTHER),
    ("OIDC-END-01", "A logout at the provider ends the session, and nobody else's word does", _ENDED),
):
    area.required(_id, "M", _text, "launch", *(["slow"] if _id == "OIDC-KEYS-01" else []), words=[_words])


@dataclass
class _Issuer:
    """A provider whose tokens a scenario makes as it likes."""

    port: int
    secret: str
    keys: list[Any] = field(default_factory=lambda: [_new_key()])
    tokens: dict[str, str] = field(default_factory=dict)

    @property
    def base(self) -> str:
        return f"http://{HOST}:{self.port}"

    def sign(self, claims: dict[str, Any], key: Any = None) -> str:
        """Sign a token; a claim of None is left out."""
        key = key or self.keys[0]
        claims = {name: value for name, value in claims.items() if value is not None}
        head = {"alg": "HS256" if key.key_type == "oct" else "RS256", "kid": key.kid}
        return str(jwt.encode(head, claims, key, algorithms=[head["alg"]]))

    def id_token(self, email: str, asked: str, key: Any = None, **over: Any) -> str:
        """Return an ID token of who has an email, for the nonce that was asked for.

        `over` are claims in place of the right ones.
        """
        now = int(time.time())
        claims = {
            "iss": self.base,
            "aud": _CLIENT,
            "sub": f"subject of {email}",
            "nonce": asked,
            "iat": now,
            "exp": now + _SECONDS,
            "email": email,
            "email_verified": True,
        }
        return self.sign(claims | over, key)

    def logout_token(self, email: str, key: Any = None) -> str:
        """Say that who has an email has logged out."""
        now = int(time.time())
        claims = {
            "iss": self.base,
            "aud": _CLIENT,
            "sub": f"subject of {email}",
            "iat": now,
            "exp": now + _SECONDS,
            "jti": secrets.token_hex(8),
            "events": {_LOGOUT: {}},
        }
        return self.sign(claims, key)

    async def answer(self, received: Received) -> Reply:
        await trio.lowlevel.checkpoint()
        documents: dict[str, Any] = {
            "/.well-known/openid-configuration": {
                "issuer": self.base,
                **{f"{name}_endpoint": f"{self.base}/{name}" for name in ("authorization", "token")},
                "jwks_uri": f"{self.base}/keys",
                "response_types_supported": ["code"],
                "subject_types_supported": ["public"],
                "id_token_signing_alg_values_supported": ["RS256"],
            },
            "/keys": {"keys": [one.as_dict(private=False) for one in self.keys]},
        }
        if received.path == "/token" and received.form.get("code", "") in self.tokens:
            id_token = self.tokens.pop(received.form["code"])
            documents["/token"] = {
                "access_token": secrets.token_hex(8),
                "token_type": "Bearer",
                "id_token": id_token,
            }
        document = documents.get(received.path)
        if document is None:
            return Reply(404, b'{"error":"not_found"}')
        return Reply(200, json.dumps(document).encode())


def _new_key() -> Any:
    return jwk.RSAKey.generate_key(2048, {"kid": secrets.token_hex(4)})


@asynccontextmanager
async def _at_an_issuer(run: Run) -> AsyncIterator[tuple[_Issuer, Started]]:
    """Start a server, open to anybody, at a provider that is there and one that is not."""
    issuer = _Issuer(free_port(), run.recorder.secret(secrets.token_hex(16), "client secret"))
    described = {"clientId": _CLIENT, "clientSecret": issuer.secret}
    keys = {
        "auth.isInviteRequired": False,
        "oauth.oidc": [
            {"id": _ID, "name": "Company", "issuer": issuer.base, **described},
            {"id": _GONE, "name": "Gone", "issuer": f"http://{HOST}:{free_port()}", **described},
        ],
    }
    async with (
        listening(f"{HOST}:{issuer.port}", partial(serve, answer=issuer.answer)),
        started(run, keys, mode="password") as own,
    ):
        yield issuer, own


def _browser(run: Run) -> Browser:
    browser = addresses_of(run).browser(1, is_fresh=True)
    if browser is None:
        raise Miss("the limit on sign-ins leaves no more; give several client addresses")
    return browser


async def _come_in(run: Run, issuer: _Issuer, email: str, key: Any = None, **over: Any) -> Answered:
    """Go from the button to the application, with an ID token in which `over` are other claims."""
    browser = _browser(run)
    asked = told(await browser.start(_ID))
    code = secrets.token_hex(8)
    issuer.tokens[code] = issuer.id_token(email, asked.get("nonce", ""), key, **over)
    return await browser.callback(_ID, {"code": code, "state": asked.get("state", "")})


@area.scenario("OIDC-START-01", "OIDC-START-02", "OIDC-TOKEN-01", "OIDC-WHO-01", needs=("launch",))
async def somebody_comes_in(run: Run) -> None:
    """Sign in, and try as somebody else with the same email."""
    async with _at_an_issuer(run) as (issuer, own):
        with run.verdict("OIDC-START-02"):
            listed = (await own.run.n.get("/auth/oauth/providers")).ok()["providers"]
            require([one["id"] for one in listed] == [_ID], f"the list has {[one['id'] for one in listed]}")
        with run.verdict("OIDC-START-01"):
            answer = await _browser(own.run).start(_ID)
            where, asked = answer.expect(302).header("location") or "", told(answer)
            require(where.startswith(f"{issuer.base}/authorization?"), f"the redirect leads to {where[:200]}")
            missing = {"state", "nonce", "code_challenge"} - asked.keys()
            require(not missing, f"{', '.join(sorted(missing))} is missing")
            require("openid" in asked.get("scope", "").split(), "openid is not asked for")
        email = own.run.email()
        with run.verdict("OIDC-TOKEN-01"):
            await belongs_to(own.run, arrived(own.run, await _come_in(own.run, issuer, email)), email)
        with run.verdict("OIDC-WHO-01"):
            denied(await _come_in(own.run, issuer, email, sub="somebody else"))


@area.scenario("OIDC-KEYS-01", needs=("launch", "slow"), seconds=240.0)
async def the_keys_are_exchanged(run: Run) -> None:
    """Wait as long as a server may keep the keys that it knows, and come back with a token of a new one."""
    async with _at_an_issuer(run) as (issuer, own):
        issuer.keys[:] = [_new_key()]
        await trio.sleep(run.wait(_KEPT_SECONDS))
        email = own.run.email()
        with run.verdict("OIDC-KEYS-01"):
            await belongs_to(own.run, arrived(own.run, await _come_in(own.run, issuer, email)), email)


@area.scenario("OIDC-TOKEN-02", "OIDC-TOKEN-03", needs=("launch",))
async def tokens_that_are_not_believed(run: Run) -> None:
    """Come back with tokens in each of which one thing is wrong."""
    async with _at_an_issuer(run) as (issuer, own):
        past, email = int(time.time()) - 3600, own.run.email()
        with run.verdict("OIDC-TOKEN-02"):
            for claims in (
                {"iss": "https://elsewhere.conformance.test"},
                {"aud": "another client"},
                {"aud": None},
                {"nonce": "another sign-in's"},
                {"nonce": None},
                {"exp": past, "iat": past - _SECONDS},
                {"sub": None},
            ):
                denied(await _come_in(own.run, issuer, email, **claims))
        with run.verdict("OIDC-TOKEN-03"):
            other = jwk.RSAKey.generate_key(2048, {"kid": issuer.keys[0].kid})
            denied(await _come_in(own.run, issuer, email, other))
            shared = jwk.OctKey.import_key(issuer.secret, {"kid": issuer.keys[0].kid})
            denied(await _come_in(own.run, issuer, email, shared))


@area.scenario("OIDC-END-01", needs=("launch",))
async def the_provider_ends_it(run: Run) -> None:
    """Sign in, and have the provider say that one has logged out; somebody else says so first."""
    async with _at_an_issuer(run) as (issuer, own):
        email = own.run.email()
        session = arrived(own.run, await _come_in(own.run, issuer, email))
        with run.verdict("OIDC-END-01"):
            stranger = jwk.RSAKey.generate_key(2048, {"kid": issuer.keys[0].kid})
            (await _log_out(own.run, issuer.logout_token(email, stranger))).expect(400)
            await belongs_to(own.run, session, email)
            (await _log_out(own.run, issuer.logout_token(email))).expect(200)
            (await own.run.n.get("/auth/me", token=session.access)).expect(401)
            await ended(own.run, session)


async def _log_out(run: Run, token: str) -> Answered:
    run.recorder.secret(token, "logout token")
    return await run.n.post(
        f"/auth/oauth/{_ID}/backchannel-logout",
        raw=urlencode({"logout_token": token}).encode(),
        headers={"Content-Type": "application/x-www-form-urlencoded"},
    )
