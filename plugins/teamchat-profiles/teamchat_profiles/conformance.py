"""PROF: who people are (capability profiles, extension L-3).

The suite loads this by an entry point; the server never does.
"""

from __future__ import annotations

import base64
import struct
import zlib
from time import time
from typing import TYPE_CHECKING, Any

from teamchat_conformance.checks.steps import at, item, soon
from teamchat_conformance.endpoints import Endpoint
from teamchat_conformance.expect import require
from teamchat_conformance.registry import Area

if TYPE_CHECKING:
    from teamchat_conformance.actors import Actor
    from teamchat_conformance.run import Run

SPEC = "L-3"
_FIELDS = ("fullName", "title", "pronouns", "timezone", "locale", "avatarVersion", "status")
_USER = {"user": dict.fromkeys(["id", "userName", "email", "isAdmin", *_FIELDS])}
_ROW = "fullName, title, pronouns, timezone, locale (each ≤ 100) → user"

area = Area(
    "PROF",
    "Profiles",
    capability="profiles",
    endpoints=(
        Endpoint("PUT", "/me/profile", known=_USER),
        Endpoint("PUT", "/me/status", known=_USER),
        Endpoint("DELETE", "/me/status", known=_USER),
        Endpoint("PUT", "/me/avatar", known=_USER),
        Endpoint("DELETE", "/me/avatar", known=_USER),
        Endpoint("GET", "/users/:id/avatar", kind="image"),
    ),
    fields=frozenset(_FIELDS) | {"emoji", "text", "until"},
)
area.required("PROF-PUT-01", SPEC, "What one says of oneself stands in GET /users", words=[_ROW])
area.required("PROF-PUT-02", SPEC, "A field of more than 100 characters is refused with 400", words=[_ROW])
area.required("PROF-TOLD-01", "L-7", "Everybody is told UPDATE_USER with it", words=["`status`, `isBot`"])
area.required("PROF-STAT-01", SPEC, "A status has what was set, and is gone when it is taken away",
              words=["emoji, text (≤ 100), until → user"])  # fmt: skip
area.required("PROF-STAT-02", SPEC, "A status ends at its time",
              words=["emoji, text (≤ 100), until → user"])  # fmt: skip
area.required("PROF-STAT-03", SPEC, "A status of more than 100 characters is refused with 400",
              words=["emoji, text (≤ 100), until → user"])  # fmt: skip
area.required("PROF-FACE-01", SPEC, "A picture is served in 64, 128 and 512 pixels, with an ETag",
              words=["query size (64, 128, 512); ETag"])  # fmt: skip
area.required(
    "PROF-FACE-02", SPEC, "Without a picture there is none (404)", words=["query size (64, 128, 512)"]
)
area.required("PROF-FACE-03", SPEC, "What is no picture is refused with 400",
              words=["JPG/PNG/WebP; re-encoded to 512 px"])  # fmt: skip
area.required(
    "PROF-FACE-05", SPEC, "A picture that its user takes away is gone", words=["| PUT, DELETE | /me/avatar |"]
)
area.required(
    "PROF-FACE-06", SPEC, "A picture of more than 2 MiB is refused with 400", words=["image (≤ 2 MiB"]
)
area.recommended("PROF-FACE-04", SPEC, "Asked for by its ETag it is 304, and another picture is 200")


async def _shown(run: Run, user: Actor) -> dict[str, Any]:
    return await item(run.u, "/users", "users", user.user_id)


def _picture(side: int = 256) -> str:
    """Return a picture of grey stripes, in PNG (RFC 2083)."""
    row = b"\0" + bytes(number % 256 for number in range(side))
    chunks = (
        (b"IHDR", struct.pack(">IIBBBBB", side, side, 8, 0, 0, 0, 0)),
        (b"IDAT", zlib.compress(row * side)),
        (b"IEND", b""),
    )
    written = b"\x89PNG\r\n\x1a\n"
    for kind, data in chunks:
        written += struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    return base64.b64encode(written).decode()


@area.scenario("PROF-PUT-01", "PROF-PUT-02", "PROF-TOLD-01", "PROF-STAT-01")
async def somebody_says_who_they_are(run: Run) -> None:
    someone = await run.new_user(name="who has a profile")
    fields = {"fullName": "Augusta Ada King", "title": "Analyst", "pronouns": "she", "locale": "en-GB"}
    fields |= {"timezone": "Europe/London"}
    async with run.listen(run.w) as observer:
        answered = (await someone.put("/me/profile", fields)).ok()["user"]
        with run.verdict("PROF-PUT-01"):
            require(fields.items() <= answered.items(), "the answer is without it")
            require(fields.items() <= (await _shown(run, someone)).items(), "GET /users is without it")
        with run.verdict("PROF-TOLD-01"):
            told = (await observer.expect("UPDATE_USER", id=someone.user_id)).payload
            require(fields.items() <= told.items(), "the event is without it")
    with run.verdict("PROF-PUT-02"):
        (await someone.put("/me/profile", {"title": "a" * 100})).expect(200)
        (await someone.put("/me/profile", {"title": "a" * 101})).error(400)
    with run.verdict("PROF-STAT-01"):
        set_ = {"emoji": "🌴", "text": "away"}
        (await someone.put("/me/status", set_)).expect(200)
        require((await _shown(run, someone)).get("status") == set_, "it is not there as it was set")
        (await someone.delete("/me/status")).expect(200)
        require(not (await _shown(run, someone)).get("status"), "it is there still")


@area.scenario("PROF-STAT-02", "PROF-STAT-03")
async def a_status_ends(run: Run) -> None:
    someone = await run.new_user(name="who is away for a moment")
    with run.verdict("PROF-STAT-03"):
        (await someone.put("/me/status", {"text": "a" * 100})).expect(200)
        (await someone.delete("/me/status")).expect(200)
        (await someone.put("/me/status", {"text": "a" * 101})).error(400)
        require(not (await _shown(run, someone)).get("status"), "it was refused, and is there")
    with run.verdict("PROF-STAT-02"):
        until = int(time() * 1000) + 2_000
        (await someone.put("/me/status", {"text": "away", "until": until})).expect(200)
        status = (await _shown(run, someone)).get("status") or {"until": until}
        require(status.get("until") == until, "it does not tell until when")

        async def is_over() -> bool:
            return not (await _shown(run, someone)).get("status")

        await soon(is_over, run.wait(20), "its time is over, and it is there")


@area.scenario(*(f"PROF-FACE-{number:02}" for number in range(1, 7)))
async def somebody_shows_a_face(run: Run) -> None:
    someone = await run.new_user(name="who has a picture")
    address = at("users", someone.user_id, "avatar")
    with run.verdict("PROF-FACE-02"):
        (await run.u.get(address)).error(404)
    with run.verdict("PROF-FACE-03"):
        for bad in ("", "AAAA", base64.b64encode(b"\xff\xd8\xff no picture").decode()):
            (await someone.put("/me/avatar", {"image": bad})).error(400)
    (await someone.put("/me/avatar", {"image": _picture()})).expect(200)
    with run.verdict("PROF-FACE-01"):
        answers = [await run.u.get(f"{address}?size={size}") for size in (64, 128, 512)]
        for answer in answers:
            answer.expect(200)
            require(bool(answer.header("etag")), "it has no ETag")
        require(len({answer.body for answer in answers}) == 3, "two sizes are the same picture")
        require(bool((await _shown(run, someone)).get("avatarVersion")), "GET /users has no avatarVersion")
    with run.verdict("PROF-FACE-04"):
        known = {"If-None-Match": (await run.u.get(address)).header("etag") or ""}
        (await run.u.get(address, headers=known)).expect(304)
        (await someone.put("/me/avatar", {"image": _picture(200)})).expect(200)
        (await run.u.get(address, headers=known)).expect(200)
    with run.verdict("PROF-FACE-06"):
        large = base64.b64decode(_picture()).ljust(2 * 1024 * 1024 + 1, b"\0")
        (await someone.put("/me/avatar", {"image": base64.b64encode(large).decode()})).error(400)
    with run.verdict("PROF-FACE-05"):
        (await someone.delete("/me/avatar")).expect(200)
        (await run.u.get(address)).error(404)
        require(not (await _shown(run, someone)).get("avatarVersion"), "avatarVersion is there still")
