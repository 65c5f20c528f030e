"""GEN-HTTP-09 to -13, -22, -23: paths and methods that are not the interface's, and headers of answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from teamchat_conformance.checks.general._area import area
from teamchat_conformance.checks.steps import messages_at
from teamchat_conformance.expect import require
from teamchat_conformance.verdicts import note

if TYPE_CHECKING:
    from teamchat_conformance.expect import Answered
    from teamchat_conformance.run import Run

area.recommended("GEN-HTTP-09", "D-01", "A path that the interface does not have answers 404, with an error")
area.recommended("GEN-HTTP-10", "D-01", "A method that a path does not have answers 405, with an error")
area.recommended("GEN-HTTP-11", "D-07", "HEAD answers as GET does, without the body")
area.recorded("GEN-HTTP-12", "§4", "What comes of slashes too many and other letter case in a path")
area.recommended("GEN-HTTP-13", "D-06", "A preflight needs no token, and credentials go with no wildcard")
area.recorded("GEN-HTTP-22", "§9", "Where a version stands, if anywhere")
area.recorded("GEN-HTTP-23", "RFC 9111", "What answers say about caching, sniffing, framing and the server")

_TOLD = (
    "cache-control", "x-content-type-options", "x-frame-options", "content-security-policy",
    "referrer-policy", "strict-transport-security", "server", "x-powered-by", "etag", "vary",
)  # fmt: skip


@area.scenario("GEN-HTTP-09", "GEN-HTTP-10")
async def what_is_not_there(run: Run) -> None:
    with run.verdict("GEN-HTTP-09"):
        for target in ("/nothing-here", "/channels/x/nothing", "/users/me/x", f"/{run.id}/a/b/c/d"):
            (await run.u.get(target)).error(404)
    with run.verdict("GEN-HTTP-10"):
        for method, target in (("PATCH", "/channels"), ("PUT", "/health"), ("POST", "/events")):
            answer = (await run.u.ask(method, target)).error(405, accept=(404,))
            if answer.status == 405 and answer.header("allow") is None:
                note(f"{method} {target}: 405 without Allow (RFC 9110 §15.5.6)")


@area.scenario("GEN-HTTP-11")
async def heads_without_bodies(run: Run) -> None:
    channel = await run.channel()
    with run.verdict("GEN-HTTP-11"):
        for target in ("/health", "/channels", "/users", "/auth/me", messages_at(channel)):
            got, headed = await run.u.get(target), await run.u.ask("HEAD", target)
            headed.expect(200)
            require(headed.body == b"", f"HEAD {target} has a body")
            require(headed.media_type == got.media_type, f"HEAD {target} is {headed.media_type}")
        (await run.n.ask("HEAD", "/channels")).expect(401)


@area.scenario("GEN-HTTP-12")
async def paths_written_otherwise(run: Run) -> None:
    written = (
        "/channels/",
        "//channels",
        "/Channels",
        "/CHANNELS",
        "/./channels",
        "/channels;x=1",
        "/channels?",
    )
    run.record("GEN-HTTP-12", {one: (await run.u.get(one)).status for one in written})


@area.scenario("GEN-HTTP-13")
async def preflights(run: Run) -> None:
    app = run.instance.auth.app_url.rstrip("/")
    asked = [
        ("Access-Control-Request-Method", "GET"),
        ("Access-Control-Request-Headers", "authorization, content-type"),
    ]
    with run.verdict("GEN-HTTP-13") as finding:
        told = {}
        for origin in (app or "http://localhost:3000", "https://elsewhere.example"):
            for target in ("/channels", "/events"):
                answer = await run.n.ask("OPTIONS", target, headers=[("Origin", origin), *asked])
                told[f"{target} {origin}"] = [answer.status, answer.header("access-control-allow-origin")]
                _judge(answer, is_own=origin == app)
        finding.value = told


def _judge(answer: Answered, is_own: bool) -> None:
    allowed = answer.header("access-control-allow-origin")
    if answer.status >= 500 or answer.status == 401:
        raise answer.miss("expected an answer without authentication")
    if allowed == "*" and answer.header("access-control-allow-credentials") == "true":
        raise answer.miss("every origin may send credentials")
    if is_own and not allowed:
        raise answer.miss("the application's own origin is not allowed")


@area.scenario("GEN-HTTP-22", "GEN-HTTP-23")
async def headers_of_answers(run: Run) -> None:
    channel = await run.channel()
    answers = [await run.u.get(target) for target in ("/channels", "/auth/me", messages_at(channel))]
    versions = {name: value for one in answers for name, value in one.headers if "version" in name}
    run.record("GEN-HTTP-22", versions)
    run.record("GEN-HTTP-23", {one.target: {name: one.header(name) for name in _TOLD} for one in answers})
