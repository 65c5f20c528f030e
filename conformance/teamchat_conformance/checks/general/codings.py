"""GEN-HTTP-26, -27: in which codings answers come, and what tells one from another."""

from __future__ import annotations

from typing import TYPE_CHECKING

from teamchat_conformance.checks.general._area import area
from teamchat_conformance.checks.steps import messages_at
from teamchat_conformance.expect import require

if TYPE_CHECKING:
    from teamchat_conformance.expect import Answered
    from teamchat_conformance.run import Run

area.recommended(
    "GEN-HTTP-26", "RFC 9110 §12.5.3", "An answer is in no coding but one that was asked for, or in none"
)
area.recommended(
    "GEN-HTTP-27", "RFC 9110 §8.8.3, §12.5.5", "Answers in several codings say so, and share no ETag"
)

_TAKEN = {
    "": (),
    "identity": (),
    "gzip": ("gzip",),
    "X-GZIP": ("gzip", "x-gzip"),
    "zstd": ("zstd",),
    "zstd;q=0.2, gzip;q=0.9": ("zstd", "gzip"),
    "gzip;q=0, zstd": ("zstd",),
    "zstd; q=0.000, gzip ;q=1.000": ("gzip",),
    "*;q=0": (),
    "*;q=0, gzip": ("gzip",),
    "identity;q=0, gzip": ("gzip",),
    "identity;q=0": (),
    "unknown, also-unknown;q=0.5": (),
}
"""The codings that the suite can read, of those that a request takes."""
_MESSAGES = 8
_WORDS = "so that it is worth to make less of it, " * 5


@area.scenario("GEN-HTTP-26", "GEN-HTTP-27")
async def codings_of_answers(run: Run) -> None:
    channel = await run.channel()
    for _ in range(_MESSAGES):
        await run.post(run.u, channel, run.text(_WORDS))
    target = messages_at(channel)
    with run.verdict("GEN-HTTP-26") as finding:
        plain = await run.u.get(target, headers={"Accept-Encoding": "identity"})
        messages, found = plain.expect(200).json["messages"], {}
        for accepted, codings in _TAKEN.items():
            headers = {"Accept-Encoding": accepted}
            answer = (await run.u.get(target, headers=headers)).expect(200, accept=(406,))
            found[accepted] = coding = _coding(answer)
            if coding not in ("identity", *codings):
                raise answer.miss(f"{accepted!r} was accepted, and {coding} came")
            if answer.status == 200:
                require(answer.json["messages"] == messages, f"another page came in {coding}")
            head = await run.u.ask("HEAD", target, headers=headers)
            require(_coding(head) == coding, f"HEAD tells of {_coding(head)}, where GET answers in {coding}")
        finding.value = found
    with run.verdict("GEN-HTTP-27"):
        for place in (target, "/"):
            await _are_told_apart(run, place)


async def _are_told_apart(run: Run, target: str) -> None:
    answers = [
        await run.u.get(target, headers={"Accept-Encoding": accepted})
        for accepted in ("identity", "gzip", "zstd")
    ]
    by_coding = {_coding(answer): answer for answer in answers if answer.status == 200}
    for coding, answer in by_coding.items():
        varies = (answer.header("vary") or "").lower()
        require(len(by_coding) < 2 or "accept-encoding" in varies, f"{target} in {coding} has Vary: {varies}")
        tag = answer.header("etag")
        if tag is None:
            continue
        for accepted, other in by_coding.items():
            headers = {"Accept-Encoding": accepted, "If-None-Match": tag}
            again = await run.u.get(target, headers=headers)
            if accepted == coding:
                again.expect(304, accept=(200,))
            elif not tag.startswith("W/"):
                require(other.header("etag") != tag, f"{target} has one ETag in {coding} and in {accepted}")
                again.expect(200)


def _coding(answer: Answered) -> str:
    return (answer.header("content-encoding") or "identity").lower()
