"""USER-ME: one changes one's own name, and nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from teamchat_conformance.checks.steps import NOT_TEXT, each_bad, item, message, no_failure, summary
from teamchat_conformance.checks.users._area import area
from teamchat_conformance.expect import require
from teamchat_conformance.fixtures.texts import NAMES

if TYPE_CHECKING:
    from teamchat_conformance.actors import Actor
    from teamchat_conformance.expect import Answered
    from teamchat_conformance.run import Run

area.required(
    "USER-ME-01", "§4 Users", "PUT /users/me answers the user with the new name and all else as it was"
)
area.required("USER-ME-02", "§2 User", "The answer omits createdAt")
area.required("USER-ME-03", "§2 User", "The new name shows in GET /auth/me and GET /users")
area.required("USER-ME-04", "§7", "No name, an empty one, or one that is no text is refused with 400")
area.recommended("USER-ME-05", "D-04", "A blank name is refused; white space around a name is taken off")
area.recommended("USER-ME-06", "D-21", "Another user's name is refused, in any letter case")
area.recommended("USER-ME-07", "D-04", "A name has 1 to 64 characters; more are refused with 400")
area.required("USER-ME-08", "§4 Users", "No other field of a user can be changed this way")
area.required("USER-ME-09", "§2 User", "Messages posted afterwards bear the new name")
area.recorded("USER-ME-10", "§2 Message", "Which name messages bear that were posted before")
area.recommended("USER-ME-11", "D-04", "Names in any script come back as they were given")


async def _rename(who: Actor, name: Any) -> Answered:
    return await who.put("/users/me", {"userName": name})


area.recommended("USER-ME-12", "D-41", "A name with a character that nobody sees is refused with 400")
area.recommended("USER-ME-13", "D-41", "A run of white space within a name counts as one space")
area.recommended("USER-ME-14", "D-41", "A name that can't be told from another user's is refused with 400")

_UNSEEN = "\u200b\u2060\ufeff\u00ad\u034f\ufe0f\U000e0041"
_LOOKALIKES = str.maketrans("caeop", "\u0441\u0430\u0435\u043e\u0440")
"""Letters and those of Cyrillic that look like them (UTS 39)."""


@area.scenario("USER-ME-01", "USER-ME-02", "USER-ME-03", "USER-ME-09", "USER-ME-10")
async def a_new_name(run: Run) -> None:
    someone = await run.new_user()
    channel = await run.channel()
    before = await run.post(someone, channel)
    was = (await someone.get("/auth/me")).ok()["user"]
    name = run.text("renamed")
    answer = await _rename(someone, name)
    with run.verdict("USER-ME-01"):
        answer.expect(200).shape({"user": {**was, "userName": name}})
    with run.verdict("USER-ME-02"):
        require("createdAt" not in answer.ok()["user"], "PUT /users/me tells createdAt")
    answer.expect(200)
    with run.verdict("USER-ME-03"):
        (await someone.get("/auth/me")).expect(200).shape({"user": {**was, "userName": name}})
        found = await item(run.v, "/users", "users", someone.user_id)
        require(found["userName"] == name, f"GET /users still has the name {found['userName']!r}")
    with run.verdict("USER-ME-09"):
        after = await run.post(someone, channel)
        listed = await message(run.v, channel, after["id"])
        for one in (after, listed):
            require(one["author"]["userName"] == name, "a message posted afterwards bears another name")
    old = await message(run.v, channel, before["id"])
    run.record("USER-ME-10", "the new name" if old["author"]["userName"] == name else "the old name")


@area.scenario("USER-ME-04", "USER-ME-05", "USER-ME-06", "USER-ME-07", "USER-ME-08", "USER-ME-11")
async def names_good_and_bad(run: Run) -> None:
    someone = await run.new_user()
    was = (await someone.get("/auth/me")).ok()

    async def same() -> None:
        require((await someone.get("/auth/me")).ok() == was, "something changed though it was refused")

    with run.verdict("USER-ME-04"):
        bodies: list[Any] = [{}, {"name": "x"}, {"userName": ""}, *({"userName": one} for one in NOT_TEXT)]
        await each_bad(lambda body: someone.put("/users/me", body), bodies)
        await same()
    with run.verdict("USER-ME-08"):
        extra = {"isAdmin": True, "email": run.email(), "id": "x", "role": "admin", "passwordHash": "x"}
        body = {"userName": was["user"]["userName"], **extra}
        (await someone.put("/users/me", body)).expect(200, accept=(400,))
        await same()
    with run.verdict("USER-ME-06"):
        for name in (run.v.user_name, run.v.user_name.upper()):
            (await _rename(someone, name)).error(400)
        await same()
    was = (await someone.get("/auth/me")).ok()
    with run.verdict("USER-ME-05"):
        (await _rename(someone, "   ")).error(400)
        await same()
        name = run.text()
        (await _rename(someone, f"  {name}  ")).expect(200).shape({"user": {"userName": name}})
    with run.verdict("USER-ME-07") as finding:
        start = f"{run.id}-"
        told = {n: await _rename(someone, (start + "x" * n)[:n]) for n in (64, 65, 256, 10_000)}
        finding.value = {str(length): summary(no_failure(answer)) for length, answer in told.items()}
        told[64].expect(200)
        for length in (65, 256, 10_000):
            told[length].error(400)
    with run.verdict("USER-ME-11"):
        for sample in NAMES.values():
            name = f"{run.id} {sample}"
            (await _rename(someone, name)).expect(200).shape({"user": {"userName": name}})
            (await someone.get("/auth/me")).expect(200).shape({"user": {"userName": name}})


@area.scenario("USER-ME-12", "USER-ME-13", "USER-ME-14")
async def names_that_deceive(run: Run) -> None:
    someone, other = await run.new_user(), await run.new_user()
    with run.verdict("USER-ME-12"):
        for unseen in _UNSEEN:
            answer = await _rename(someone, run.text(f"a{unseen}b"))
            if answer.status != 400:
                raise answer.miss(f"expected 400 for a name with U+{ord(unseen):04X}")
    with run.verdict("USER-ME-13"):
        name = run.text("two words")
        answer = await _rename(someone, name.replace(" words", " \u2003  words"))
        answer.expect(200).shape({"user": {"userName": name}})
    with run.verdict("USER-ME-14"):
        name = run.text("a cape")
        (await _rename(other, name)).expect(200)
        marked, _, word = name.rpartition(" ")
        for lookalike in (f"{marked} {word.translate(_LOOKALIKES)}", f"{marked} \u0441ape"):
            (await _rename(someone, lookalike)).error(400)
