"""SECOND: a second factor at sign-in (capability second-factor, extension M-1 and M-2).

The suite loads this by an entry point; the server never does.
"""

from __future__ import annotations

import base64
import time
from typing import TYPE_CHECKING, Any

from teamchat_conformance.checks.steps import unknown
from teamchat_conformance.endpoints import Endpoint, Field
from teamchat_conformance.expect import array, integer, optional, require, text
from teamchat_conformance.registry import Area
from teamchat_second_factor import totp

if TYPE_CHECKING:
    from teamchat_conformance.actors import Actor
    from teamchat_conformance.expect import Answered
    from teamchat_conformance.run import Run

_FACTORS = "/me/second-factors"
_SHOWN: dict[str, Any] = {"id": text, "type": text, "createdAt": integer, "lastUsedAt": optional(integer)}
_OWN = {
    "secondFactors": dict.fromkeys(_SHOWN),
    "recoveryCodesLeft": None,
    "isRequired": None,
    "next": None,
}
_TOKENS = dict.fromkeys(["accessToken", "refreshToken", "exp", "tokenType"])

area = Area(
    "SECOND",
    "Second factor",
    capability="second-factor",
    endpoints=(
        Endpoint("GET", _FACTORS, known=_OWN),
        Endpoint(
            "POST",
            _FACTORS,
            fields=(Field("type"),),
            known=dict.fromkeys(["id", "secret", "uri", "qrCode"]),
        ),
        Endpoint(
            "PUT",
            f"{_FACTORS}/:factorId",
            fields=(Field("code"),),
            known={"recoveryCodes": None, "success": None},
        ),
        Endpoint("DELETE", f"{_FACTORS}/:factorId", known={"success": None}),
        Endpoint(
            "POST", "/auth/second-factor", "open", fields=(Field("ticket"), Field("code")), known=_TOKENS
        ),
    ),
)
_ROW = "| GET, POST, DELETE | /me/second-factors | type `totp` → secret, uri; confirm by PUT {code}"
_SETTLED = "PUT /me/second-factors/:id {code} confirms and answers `recoveryCodes` once"
_ONCE = "RFC 6238, ±1 step, each step once, 10 recovery codes hashed"
_REFUSED = 'Factor needed and missing or wrong: 401 with `WWW-Authenticate: SecondFactor methods="totp'
for _id, _spec, _text, _words in (
    ("SECOND-SET-01", "M", "A secret in Base32 and its otpauth address are given", _ROW),
    ("SECOND-SET-02", "M", "A wrong code confirms nothing (400)", _SETTLED),
    ("SECOND-SET-03", "M", "The first code confirms it, and gives ten recovery codes", _SETTLED),
    (
        "SECOND-SET-04",
        "X-13",
        "A repeated Idempotency-Key gives no second secret (409)",
        "Save on POSTs that show a secret, X-13 holds; there a repeated key is 409",
    ),
    ("SECOND-LIST-01", "M", "It is listed for its user, and for nobody else", _ROW),
    ("SECOND-LIST-02", "X-11", "Its pages of one hold each once", "answer `next`"),
    (
        "SECOND-HIDE-01",
        "X-3",
        "One of somebody else's is 404, as one that never was",
        "answer equals that for an id",
    ),
    ("SECOND-GONE-01", "M", "One that its user removes is gone", _ROW),
):
    area.required(_id, _spec, _text, words=[_words])
for _id, _spec, _text, _words in (
    ("SECOND-IN-01", "M-1", "Without a code the right password is 401, with SecondFactor", _REFUSED),
    (
        "SECOND-IN-02",
        "M-2",
        "A wrong password is 401 without it",
        "tells only those who had the password right",
    ),
    ("SECOND-IN-03", "M", "A code signs in, and does so once", _ONCE),
    ("SECOND-IN-04", "M", "A recovery code signs in, and does so once", _ONCE),
):
    area.required(_id, _spec, _text, "pw", words=[_words])


class _App:
    """An app with a secret: each step's code is given once, and those of one step ahead as well."""

    def __init__(self, secret: str) -> None:
        self._secret = base64.b32decode(secret)
        self._last = 0

    def code(self) -> str:
        step = max(self._last + 1, totp.step_at(int(time.time() * 1000)) - totp.AROUND)
        self._last = step
        return totp.code_at(self._secret, step)


async def _begun(run: Run, who: Actor) -> tuple[str, _App]:
    begun = (await who.post(_FACTORS, {"type": "totp"})).ok()
    run.recorder.secret(str(begun["secret"]), "secret of a second factor")
    return str(begun["id"]), _App(str(begun["secret"]))


async def _confirmed(run: Run, who: Actor, id_: str, app: _App) -> list[str]:
    codes = (await who.put(f"{_FACTORS}/{id_}", {"code": app.code()})).ok()["recoveryCodes"]
    return [run.recorder.secret(str(code), "recovery code") for code in codes]


async def _listed(who: Actor) -> list[str]:
    answer = (await who.get(_FACTORS)).ok()["secondFactors"]
    return [str(one["id"]) for one in answer]


@area.scenario(
    "SECOND-SET-01",
    "SECOND-SET-02",
    "SECOND-SET-03",
    "SECOND-SET-04",
    "SECOND-LIST-01",
    "SECOND-HIDE-01",
    "SECOND-GONE-01",
)
async def a_factor_is_set_up_and_taken_away(run: Run) -> None:
    """Set a factor up as somebody new, and try it as somebody else."""
    one, other = await run.new_user(), await run.new_user()
    with run.verdict("SECOND-SET-01"):
        begun = (await one.post(_FACTORS, {"type": "totp"})).shape({"id": text, "secret": text, "uri": text})
        run.recorder.secret(str(begun["secret"]), "secret of a second factor")
        require(len(base64.b32decode(str(begun["secret"]))) >= 16, "the secret is short")
        require(str(begun["uri"]).startswith("otpauth://totp/"), f"the address is {begun['uri']!r}")
    with run.verdict("SECOND-SET-04"):
        key = {"Idempotency-Key": run.text("key")}
        for status in (200, 409):
            (await one.post(_FACTORS, {"type": "totp"}, headers=key)).expect(status)
    id_, app = await _begun(run, one)
    with run.verdict("SECOND-SET-02"):
        (await one.put(f"{_FACTORS}/{id_}", {"code": "12345"})).error(400)
        require(await _listed(one) == [], "it is listed, and was not confirmed")
    with run.verdict("SECOND-HIDE-01"):
        for address in (f"{_FACTORS}/{id_}", f"{_FACTORS}/{unknown(run)}"):
            (await other.put(address, {"code": "123456"})).error(404)
            (await other.delete(address)).error(404)
    with run.verdict("SECOND-SET-03"):
        codes = await _confirmed(run, one, id_, app)
        require(len(set(codes)) == 10, f"there are {len(set(codes))}")
    with run.verdict("SECOND-LIST-01"):
        (await one.get(_FACTORS)).shape({"secondFactors": array(_SHOWN)})
        require(await _listed(one) == [id_], "it is not listed")
        require(await _listed(other) == [], "another user's list holds it")
    with run.verdict("SECOND-GONE-01"):
        (await one.delete(f"{_FACTORS}/{id_}")).expect(200)
        require(await _listed(one) == [], "it was removed, and is listed")


@area.scenario("SECOND-LIST-02")
async def factors_are_listed_in_pages(run: Run) -> None:
    """Set two factors up, and read them one by one."""
    who = await run.new_user()
    made = []
    for _ in range(2):
        id_, app = await _begun(run, who)
        await _confirmed(run, who, id_, app)
        made.append(id_)
    with run.verdict("SECOND-LIST-02"):
        require(len(await _listed(who)) == 2, "the two are not listed")
        first = (await who.get(f"{_FACTORS}?limit=1")).ok()
        last = (await who.get(f"{_FACTORS}?limit=1&cursor={first['next']}")).ok()
        found = [one["id"] for page in (first, last) for one in page["secondFactors"]]
        require(sorted(found) == sorted(made), f"the pages hold {found}")
        require(last["next"] is None, "there is a page after the last")


@area.scenario("SECOND-IN-01", "SECOND-IN-02", "SECOND-IN-03", "SECOND-IN-04")
async def signing_in_takes_a_code(run: Run) -> None:
    """Sign in with a password, with and without codes."""
    who = await run.new_user()
    id_, app = await _begun(run, who)
    codes = await _confirmed(run, who, id_, app)

    async def sign_in(code: str | None = None, password: str = who.password) -> Answered:
        body = {"email": who.email, "password": password} | ({} if code is None else {"code": code})
        return await run.n.post("/auth/password-login", body)

    with run.verdict("SECOND-IN-01"):
        challenge = (await sign_in()).error(401).header("www-authenticate") or ""
        require(challenge.startswith("SecondFactor") and "totp" in challenge, f"it says {challenge!r}")
    with run.verdict("SECOND-IN-02"):
        challenge = (await sign_in(password="not this one")).error(401).header("www-authenticate") or ""  # noqa: S106
        require("SecondFactor" not in challenge, "who has the password wrong is told")
    for id_, code in (("SECOND-IN-03", app.code()), ("SECOND-IN-04", codes[0])):
        with run.verdict(id_):
            (await sign_in(code)).expect(200)
            (await sign_in(code)).error(401)
