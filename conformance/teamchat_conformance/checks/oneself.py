"""ME: what one is told of oneself (extensions, part A, GET /me).

It has no capability of its own; what it tells of is what membership and the others add.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from teamchat_conformance.checks.places import about, one_of
from teamchat_conformance.endpoints import Endpoint
from teamchat_conformance.expect import array, boolean, require, text
from teamchat_conformance.registry import Area

if TYPE_CHECKING:
    from teamchat_conformance.run import Run

_AT = "/me"
area = Area(
    "ME",
    "Oneself",
    capability="membership",
    endpoints=(Endpoint("GET", _AT, known=dict.fromkeys(["user", "role", "may", "asOf", "hasPassword"])),),
)
_ROW = "| GET | /me | access token |"
area.required(
    "ME-GET-01",
    "A, B",
    "It holds user, role, may and asOf",
    words=[_ROW, '/me is `{"user", "role", "may", "asOf"}`'],
)
area.required(
    "ME-GET-02",
    "A",
    "user is as GET /auth/me tells",
    words=["user (as `/auth/me`, plus optional fields of L)"],
)
area.required(
    "ME-GET-03",
    "A",
    "role is admin for admins and user for users",
    words=["`role`, `may`: array of what this user may do"],
)
area.required("ME-GET-04", "A", "Without a token it is 401", words=[_ROW])
area.required(
    "ME-GET-05",
    "X-7",
    "A stream opened with its asOf goes on exactly there",
    words=["a stream opened with `lastEventId=<asOf>` continues exactly there"],
)


@area.scenario("ME-GET-01", "ME-GET-02", "ME-GET-03", "ME-GET-04", "ME-GET-05")
async def who_am_i(run: Run) -> None:
    shape = {
        "user": {"id": text, "userName": text, "isAdmin": boolean},
        "role": text,
        "may": array(text),
        "asOf": text,
    }
    for who, role in ((run.u, "user"), (run.a, "admin")):
        answer = await who.get(_AT)
        with run.verdict("ME-GET-01"):
            position = answer.shape(shape)["asOf"]
            require(position.isdecimal(), f"asOf is {position!r}, and should be a decimal number")
        with run.verdict("ME-GET-02"):
            user = answer.shape({"user": {"id": text}})["user"]
            known = (await who.get("/auth/me")).ok()["user"]
            found = {key: user.get(key) for key in known}
            require(found == known, f"it tells {found}, and GET /auth/me {known}")
        with run.verdict("ME-GET-03"):
            answer.shape({"role": one_of(role)})
    with run.verdict("ME-GET-04"):
        (await run.n.get(_AT)).error(401)
    channel = await run.channel()
    with run.verdict("ME-GET-05"):
        before = (await run.post(run.u, channel))["id"]
        position = (await run.u.get(_AT)).ok()["asOf"]
        after = (await run.post(run.u, channel))["id"]
        async with run.listen(run.u, query=f"lastEventId={position}") as observer:
            await run.fence(observer)
            require(not about(observer, before), "what came before asOf was told")
            require(len(about(observer, after)) == 1, "what came after asOf was not told once")
