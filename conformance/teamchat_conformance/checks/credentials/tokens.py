"""AUTH-TOK: which tokens open the door, where they may stand, and what they tell.

A forged token is made from a real one with exactly one thing changed.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import trio

from teamchat_conformance.checks.credentials._area import area
from teamchat_conformance.checks.steps import messages_at
from teamchat_conformance.expect import require
from teamchat_conformance.rawhttp import head, raw
from teamchat_conformance.verdicts import Miss

if TYPE_CHECKING:
    from teamchat_conformance.run import Run

area.required("AUTH-TOK-01", "§7", "A random text is no token")
area.required("AUTH-TOK-02", "§7", "A token with another signature is refused")
area.required("AUTH-TOK-03", "§7", "A token with another claim under the old signature is refused")
area.required("AUTH-TOK-04", "§7", "A token that claims to need no signature is refused")
area.recommended("AUTH-TOK-05", "D-10", "No weak or well-known secret signs tokens")
area.required("AUTH-TOK-06", "§2 Tokens", "An access token ends with its lifetime", "short")
area.required("AUTH-TOK-07", "§7", "Another scheme than Bearer, or Bearer without a token, is refused")
area.recommended("AUTH-TOK-08", "RFC 9110 §11.1", "The scheme may be written in lower case")
area.recorded("AUTH-TOK-09", "§7", "What comes of odd spaces, junk after the token, and two headers")
area.required("AUTH-TOK-10", "§5 rule 16", "A webhook's token is no access token")
area.required("AUTH-TOK-11", "§2 Tokens", "A refresh token is no access token", "notdev")
area.required("AUTH-TOK-12", "§2 Tokens", "A magic link token is no access token", "magic", "mail")
area.required("AUTH-TOK-13", "§4", "Nothing but the event stream takes a token from the query")
area.required("AUTH-TOK-14", "§2 Tokens", "An access token is a JWT")
area.recommended(
    "AUTH-TOK-15", "D-09", "A token has iss, sub, sid, iat, exp and jti, and is signed with HS256"
)
area.required("AUTH-TOK-16", "§2 User", "No password, hash or refresh token stands in a token")
area.recommended("AUTH-TOK-17", "RFC 9110 §11.6.1", "A 401 says in WWW-Authenticate how to get in")
area.required("AUTH-TOK-18", "D-22", "A removed user's token is refused at once")
area.recommended("AUTH-TOK-19", "D-09", "Tokens of two sign-ins of one user work side by side")
area.recommended("AUTH-TOK-20", "§7", "A token of 100 kB is refused, and does no harm")

_WEAK = (
    "", "secret", "changeme", "change-me", "password", "jwt-secret", "jwtSecret", "JWT_SECRET", "your-secret",
    "your-jwt-secret", "your-secret-key", "your-256-bit-secret", "supersecret", "default", "test", "dev",
    "key", "teamchat", "mikrochat", "development-secret-do-not-use-in-production",
)  # fmt: skip
_DOORS = ("/auth/me", "/channels", "/events")


def _encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _decoded(part: str) -> dict[str, Any]:
    try:
        told = json.loads(base64.b64decode(part + "=" * (-len(part) % 4), altchars=b"-_", validate=True))
    except ValueError:
        raise Miss("a part of the access token is no base64url of JSON") from None
    require(isinstance(told, dict), "a part of the access token is no JSON object")
    return dict(told)


def _json(value: Any) -> str:
    return _encoded(json.dumps(value, separators=(",", ":")).encode())


def _parts(token: str | None) -> list[str]:
    parts = (token or "").split(".")
    require(len(parts) == 3 and all(parts), "an access token is not three parts with dots between them")
    return parts


def _signed(head: str, payload: str, secret: str) -> str:
    mac = hmac.new(secret.encode(), f"{head}.{payload}".encode(), hashlib.sha256).digest()
    return f"{head}.{payload}.{_encoded(mac)}"


def _with_other_claims(token: str | None) -> Iterator[str]:
    head, payload, signature = _parts(token)
    claims = _decoded(payload)
    for name, value in claims.items():
        other = value + 3_600 if isinstance(value, int) and not isinstance(value, bool) else f"{value}x"
        yield f"{head}.{_json({**claims, name: other})}.{signature}"


async def _refuses(run: Run, tokens: Sequence[str], target: str = "/auth/me") -> None:
    for token in tokens:
        (await run.n.get(target, token=token)).error(401)


@area.scenario("AUTH-TOK-01", "AUTH-TOK-02", "AUTH-TOK-03", "AUTH-TOK-04", "AUTH-TOK-05", "AUTH-TOK-17")
async def forged_tokens_open_no_door(run: Run) -> None:
    await run.u.keep_good()
    with run.verdict("AUTH-TOK-01"):
        for door in _DOORS:
            await _refuses(run, ["garbage", "a.b.c", "0" * 64], door)
    with run.verdict("AUTH-TOK-17"):
        for answer in (await run.n.get("/channels"), await run.n.get("/channels", token="garbage")):
            if answer.expect(401).header("www-authenticate") is None:
                raise answer.miss("expected WWW-Authenticate")
    head, payload, signature = _parts(run.u.token)  # AUTH-TOK-14 tells of a token that has none
    with run.verdict("AUTH-TOK-02"):
        await _refuses(run, [f"{head}.{payload}.{'A' if signature[0] != 'A' else 'B'}{signature[1:]}"])
        await _refuses(run, [f"{head}.{payload}.", f"{head}.{payload}", f"{head}.{payload}.{signature[:-4]}"])
    with run.verdict("AUTH-TOK-03"):
        await _refuses(run, list(_with_other_claims(run.u.token)))
    with run.verdict("AUTH-TOK-04"):
        heads = [_json({"alg": alg, "typ": "JWT"}) for alg in ("none", "None", "NONE", "nOnE")]
        await _refuses(run, [f"{head}.{payload}.{end}" for head in heads for end in ("", signature)])
    with run.verdict("AUTH-TOK-05"):
        await _refuses(run, [_signed(_json({"alg": "HS256", "typ": "JWT"}), payload, one) for one in _WEAK])


@area.scenario("AUTH-TOK-07", "AUTH-TOK-08", "AUTH-TOK-09", "AUTH-TOK-13", "AUTH-TOK-20")
async def where_a_token_stands(run: Run) -> None:
    await run.u.keep_good()
    token = str(run.u.token)
    with run.verdict("AUTH-TOK-07"):
        for value in ("Basic dTpw", f"Basic {token}", f"Token {token}", token, "Bearer"):
            (await run.n.get("/auth/me", headers={"Authorization": value})).error(401)
        async with raw(run) as connection:
            sent = head("GET", f"{connection.prefix}/auth/me", ("Authorization", "Bearer "))
            (await connection.told("GET", "/auth/me", sent)).error(401)
    with run.verdict("AUTH-TOK-08"):
        (await run.n.get("/auth/me", headers={"Authorization": f"bearer {token}"})).expect(200)
    odd = {
        "two spaces": [("Authorization", f"Bearer  {token}")],
        "junk after it": [("Authorization", f"Bearer {token} junk")],
        "two headers": [("Authorization", f"Bearer {token}"), ("Authorization", "Bearer garbage")],
        "two headers, the good one last": [
            ("Authorization", "Bearer garbage"),
            ("Authorization", f"Bearer {token}"),
        ],
    }
    told = {what: (await run.n.get("/auth/me", headers=given)).status for what, given in odd.items()}
    run.record("AUTH-TOK-09", told)
    with run.verdict("AUTH-TOK-13"):
        for name in ("token", "access_token"):
            (await run.n.get(f"/channels?{name}={token}")).error(401)
    with run.verdict("AUTH-TOK-20"):
        (await run.n.get("/auth/me", token="x" * 100_000)).expect(401, accept=(400, 413, 431))
        (await run.u.get("/auth/me")).expect(200)


@area.scenario("AUTH-TOK-10")
async def a_webhook_is_no_user(run: Run) -> None:
    channel = await run.channel()
    token = (await run.webhook(channel))["token"]
    with run.verdict("AUTH-TOK-10"):
        (await run.n.get("/auth/me", token=token)).error(401)
        (await run.n.get(messages_at(channel), token=token)).error(401)
        (await run.n.post(messages_at(channel), {"content": run.text()}, token=token)).error(401)
        require((await run.u.get(messages_at(channel))).ok()["messages"] == [], "a webhook's token posted")


@area.scenario("AUTH-TOK-11")
async def a_refresh_token_is_no_access_token(run: Run) -> None:
    someone = await run.new_user()
    with run.verdict("AUTH-TOK-11"):
        require(someone.refresh_token, "sign-in gave no refresh token")
        (await run.n.get("/auth/me", token=someone.refresh_token)).error(401)


@area.scenario("AUTH-TOK-12", needs=["magic", "mail"])
async def a_link_is_no_access_token(run: Run) -> None:
    someone = await run.new_user()
    token = await run.sign_in.magic_token(someone.email)
    with run.verdict("AUTH-TOK-12"):
        (await run.n.get("/auth/me", token=token)).error(401)


@area.scenario("AUTH-TOK-14", "AUTH-TOK-15", "AUTH-TOK-16")
async def what_a_token_tells(run: Run) -> None:
    with run.verdict("AUTH-TOK-14"):
        head, payload, _ = _parts(run.u.token)
        require("alg" in _decoded(head), "the header of an access token has no alg")
        _decoded(payload)
    head, payload, _ = _parts(run.u.token)
    claims = _decoded(payload)
    with run.verdict("AUTH-TOK-15") as finding:
        finding.value = {"header": _decoded(head), "claims": sorted(claims)}
        missing = sorted({"iss", "sub", "sid", "iat", "exp", "jti"} - claims.keys())
        require(not missing, f"an access token has no {', '.join(missing)}")
        require(_decoded(head).get("alg") == "HS256", f"a token is signed with {_decoded(head).get('alg')}")
        require(claims["sub"] == run.u.user_id, "sub is not the user's id")
    with run.verdict("AUTH-TOK-16"):
        told = json.dumps(claims)
        for secret in (run.u.password, run.u.refresh_token):
            require(not secret or secret not in told, "an access token tells a secret of its user")
        named = [name for name in claims if "password" in name.lower() or "hash" in name.lower()]
        require(not named, f"an access token has a claim {', '.join(named)}")


@area.scenario("AUTH-TOK-18", "AUTH-TOK-19")
async def tokens_live_with_their_user(run: Run) -> None:
    someone = await run.new_user()
    first = someone.token
    await run.sign_in.again(someone)
    with run.verdict("AUTH-TOK-19"):
        require(first != someone.token, "two sign-ins gave the same token")
        for token in (first, someone.token):
            (await run.n.get("/auth/me", token=token)).expect(200).shape({"user": {"id": someone.user_id}})
    channel = await run.channel()
    (await run.a.delete(f"/users/{someone.user_id}")).expect(200)
    with run.verdict("AUTH-TOK-18"):
        for token in (first, someone.token):
            await _refuses(run, [str(token)])
            await _refuses(run, [str(token)], "/channels")
            answer = await run.n.post(messages_at(channel), {"content": run.text()}, token=token)
            answer.error(401)


@area.scenario("AUTH-TOK-06", needs=["short"])
async def access_ends_with_its_lifetime(run: Run) -> None:
    someone = await run.new_user()
    token = someone.token
    ends = trio.current_time() + run.instance.auth.access_seconds + 2
    (await run.n.get("/auth/me", token=token)).expect(200)
    await trio.sleep_until(ends)
    with run.verdict("AUTH-TOK-06"):
        (await run.n.get("/auth/me", token=token)).error(401)
