"""NEG-TYPE: JSON of the wrong type in every field of every body, by the table of endpoints."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from teamchat_conformance.checks.estate import Estate
from teamchat_conformance.checks.hostile._area import ALIVE, area, still_alive
from teamchat_conformance.checks.steps import items
from teamchat_conformance.endpoints import ENDPOINTS, Endpoint
from teamchat_conformance.expect import require
from teamchat_conformance.fixtures.corpus import NOT_PASSWORDS, NOT_STRINGS
from teamchat_conformance.fixtures.images import encoded, png
from teamchat_conformance.verdicts import note

if TYPE_CHECKING:
    from teamchat_conformance.actors import Actor
    from teamchat_conformance.run import Run

area.required("NEG-TYPE-01", "§7", "Content that is no text is refused with 400, wherever it is sent")
area.required("NEG-TYPE-02", "§7", "A name that is no text is refused with 400, whatever it is to name")
area.required("NEG-TYPE-03", "§7", "A reaction that is no text is refused with 400")
area.required("NEG-TYPE-04", "§7", "A targetUserId or channelId that is no text is refused")
area.required("NEG-TYPE-05", "§7", "A userName that is no text is refused with 400")
area.required("NEG-TYPE-06", "§7", "An email that is no text signs nobody in")
area.required("NEG-TYPE-07", "§7", "A password that is no text is refused, and set for nobody", "pw")
area.required("NEG-TYPE-08", "§7", "A refreshToken that is no text is refused", "notdev")
area.required("NEG-TYPE-09", "§7", "A filename, image or thumbnail that is no text is refused with 400")
area.required("NEG-TYPE-10", "§4 Users", "A role that is no text makes nobody an admin")

_SIGN_IN = "/auth/"
_ALWAYS_SUCCEED = ("/auth/login", "/auth/request-password-reset")
"""What answers the same whatever the email is (part 4, Sign-in endpoints)."""


def _with(field: str, *, sign_in: bool = False) -> Iterator[Endpoint]:
    """Yield the endpoints that have a field in their bodies: of signing in, or all others."""
    for one in ENDPOINTS:
        if any(field == known.name for known in one.fields) and one.path.startswith(_SIGN_IN) == sign_in:
            yield one


class _Wrong:
    """Sends wrong types to whoever may be asked, and requires that they are refused."""

    def __init__(self, run: Run, estate: Estate) -> None:
        self.run, self.estate = run, estate

    async def refused(
        self,
        field: str,
        values: Sequence[Any] = NOT_STRINGS,
        *,
        accept: tuple[int, ...] = (),
        sign_in: bool = False,
        **rest: Any,
    ) -> None:
        """Require that a field of a wrong type is refused, at every endpoint that has it."""
        for one in _with(field, sign_in=sign_in):
            if self.run.has(*one.needs) and one.path != "/auth/logout":
                for value in values:
                    await self._refused(one, field, value, accept, rest)

    async def _refused(
        self, one: Endpoint, field: str, value: Any, accept: tuple[int, ...], rest: dict[str, Any]
    ) -> None:
        body = {**self.estate.body(one), **rest, field: value}
        answer = await self.estate.rightly(one, body)
        is_optional = field not in one.required_fields
        if value is None and is_optional and answer.status == 200:
            return
        if one.path in _ALWAYS_SUCCEED and answer.status == 200:
            require(not {"accessToken", "token"} & answer.json.keys(), f"{one.path} gave a token")
            note(f"{one.path} takes what is no email, and says what it always does")
            return
        answer.error(400, accept=accept)


async def _wrong(run: Run) -> _Wrong:
    return _Wrong(run, await Estate.apart(run))


@area.scenario("NEG-TYPE-01", "NEG-TYPE-02", "NEG-TYPE-03", "NEG-TYPE-04", "NEG-TYPE-05", ALIVE)
async def texts_that_are_none(run: Run) -> None:
    wrong = await _wrong(run)
    name = (await run.a.get("/server/settings")).ok().get("name")
    for id, fields in (
        ("NEG-TYPE-01", ["content"]),
        ("NEG-TYPE-02", ["name"]),
        ("NEG-TYPE-03", ["reaction"]),
        ("NEG-TYPE-04", ["targetUserId", "channelId"]),
        ("NEG-TYPE-05", ["userName"]),
    ):
        with run.verdict(id):
            before = await wrong.estate.picture()
            for field in fields:
                await wrong.refused(field, accept=(404,) if id == "NEG-TYPE-04" else ())
            await wrong.estate.require_unchanged(before)
    if run.spoiled.has_settings():
        await run.a.put("/server/settings", {"name": name})
    await still_alive(run)


@area.scenario("NEG-TYPE-06", "NEG-TYPE-07", "NEG-TYPE-10", ALIVE)
async def credentials_that_are_none(run: Run) -> None:
    wrong = await _wrong(run)
    with run.verdict("NEG-TYPE-06"):
        before = await wrong.estate.picture()
        await wrong.refused("email", sign_in=True, accept=(401,))
        await wrong.estate.require_unchanged(before)
    with run.verdict("NEG-TYPE-07"):
        token = {"token": "0" * 64}
        someone = await run.new_user()
        await wrong.refused(
            "password", NOT_PASSWORDS, sign_in=True, accept=(401,), email=someone.email, **token
        )
        await wrong.refused("password", NOT_PASSWORDS)
        await run.sign_in.session(someone.email, someone.password)
    with run.verdict("NEG-TYPE-10"):
        for value in NOT_STRINGS:
            await _no_admin(run, value)
    await still_alive(run)


async def _no_admin(run: Run, role: Any) -> None:
    email = run.email()
    answer = (await run.a.post("/users/add", {"email": email, "role": role})).expect(400, accept=(200,))
    found = [one for one in await items(run.a, "/users", "users") if one.get("email") == email]
    require(not any(one.get("isAdmin") for one in found), f"the role {role!r} makes an admin")
    require(answer.status == 200 or not found, f"the role {role!r} was refused, and made a user")
    for one in found:
        (await run.a.delete(f"/users/{one['id']}")).expect(200)


@area.scenario("NEG-TYPE-08", ALIVE, needs=["notdev"])
async def refresh_tokens_that_are_none(run: Run) -> None:
    wrong = await _wrong(run)
    someone: Actor = await run.new_user()
    with run.verdict("NEG-TYPE-08"):
        await wrong.refused("refreshToken", sign_in=True, accept=(401,))
        for value in NOT_STRINGS:
            (await someone.post("/auth/logout", {"refreshToken": value})).error(400, accept=(401,))
        (await someone.get("/auth/me")).expect(200)
    await still_alive(run)


@area.scenario("NEG-TYPE-09", ALIVE)
async def images_that_are_none(run: Run) -> None:
    wrong = await _wrong(run)
    with run.verdict("NEG-TYPE-09"):
        for field in ("filename", "image", "thumbnail"):
            await wrong.refused(field, image=encoded(png()))
    await still_alive(run)
