"""NEG-HTTP: heads that say two things at once, and what is left of older HTTP.

A text within a broken request is never taken for a request of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from teamchat_conformance.checks.hostile._area import ALIVE, area, still_alive
from teamchat_conformance.checks.steps import ids, messages, messages_at
from teamchat_conformance.expect import Answered, require
from teamchat_conformance.rawhttp import BROKEN, RawConnection, head, raw
from teamchat_conformance.verdicts import Miss, note

if TYPE_CHECKING:
    from teamchat_conformance.run import Run

area.recommended(
    "NEG-HTTP-01", "RFC 9112 §6.3", "What says two things about its length is refused, or ends it"
)
area.recorded("NEG-HTTP-02", "RFC 9110", "What comes of HTTP/1.0, no Host, absolute targets and Expect")
area.recommended("NEG-HTTP-03", "§4", "A header does not turn one method into another")

_SMUGGLED = b"GET /health HTTP/1.1\r\nHost: smuggled\r\n\r\n"


def _broken(connection: RawConnection) -> dict[str, bytes]:
    """Return requests that are none; the smuggled text stands where one reading sees a second request."""
    path, host = f"{connection.prefix}/auth/refresh", connection.host
    chunks = ("Transfer-Encoding", "chunked")
    ended = b"0\r\n\r\n" + _SMUGGLED
    plain = head("GET", path, host=host)
    return {
        "Content-Length and chunks": head(
            "POST", path, ("Content-Length", str(len(ended))), chunks, host=host
        )
        + ended,
        "two Content-Lengths": head(
            "POST", path, ("Content-Length", "0"), ("Content-Length", "41"), host=host
        )
        + _SMUGGLED,
        "a negative Content-Length": head("POST", path, ("Content-Length", "-1"), host=host) + _SMUGGLED,
        "a signed Content-Length": head("POST", path, ("Content-Length", "+41"), host=host) + _SMUGGLED,
        "a chunk of no size": head("POST", path, chunks, host=host) + b"zz\r\nabc\r\n" + ended,
        "a chunk of a negative size": head("POST", path, chunks, host=host) + b"-1\r\nabc\r\n" + ended,
        "an unknown coding": head("POST", path, ("Transfer-Encoding", "chunked, x"), host=host) + ended,
        "a NUL in a header": head("GET", path, ("X-Broken", "a\0b"), host=host),
        "a space before the colon": head("POST", path, ("Content-Length ", "41"), host=host) + _SMUGGLED,
        "a line folded": plain.replace(b"Host", b"X-Folded: a\r\n b\r\nHost", 1),
        "line feeds alone": plain.replace(b"\r\n", b"\n"),
        "no HTTP": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
    }


async def _is_refused(run: Run, what: str) -> str:
    async with raw(run) as connection:
        sent = _broken(connection)[what]
        answer = await connection.ask(BROKEN, what, sent, seconds=run.wait(3))
        if answer is None:
            return "closed" if connection.has_ended else "no answer"
        require(answer.status < 500 or answer.status == 501, f"{what}: {answer.status}")
        second = await connection.ask(BROKEN, f"{what}, after the answer", b"", seconds=run.wait(0.5))
        require(second is None or not _is_of_health(second), f"{what}: a text within it got an answer")
        return str(answer.status)


def _is_of_health(answer: Answered) -> bool:
    return answer.status == 200 and answer.body.strip().lower() == b"ok"


@area.scenario("NEG-HTTP-01", ALIVE)
async def what_says_two_things(run: Run) -> None:
    async with raw(run) as connection:
        every = list(_broken(connection))
    with run.verdict("NEG-HTTP-01") as finding:
        told = {what: await _is_refused(run, what) for what in every}
        finding.value = told
        odd = [f"{what}: {came}" for what, came in told.items() if came not in ("400", "501", "closed")]
        if odd:
            note(f"neither refused with 400 nor closed, but harmless: {'; '.join(odd)}")
    await still_alive(run)


@area.scenario("NEG-HTTP-02", ALIVE)
async def what_is_left_of_older_http(run: Run) -> None:
    told: dict[str, int | None] = {}
    async with raw(run) as connection:
        path, host = f"{connection.prefix}/health", connection.host
    for what, sent in {
        "HTTP/1.0": head("GET", path, host=host, version="1.0"),
        "HTTP/1.0 without Host": head("GET", path, host="", version="1.0"),
        "HTTP/1.1 without Host": head("GET", path, host=""),
        "two Hosts": head("GET", path, ("Host", "other"), host=host),
        "an absolute target": head("GET", f"http://{host}{path}", host=host),
        "Expect: 100-continue": head("GET", path, ("Expect", "100-continue"), host=host),
        "HTTP/3.0": head("GET", path, host=host, version="3.0"),
    }.items():
        async with raw(run) as connection:
            try:
                answer = await connection.ask(BROKEN, what, sent, seconds=run.wait(3))
            except Miss:
                answer = None
            told[what] = answer.status if answer else None
    run.record("NEG-HTTP-02", told)
    await still_alive(run)


@area.scenario("NEG-HTTP-03", ALIVE)
async def methods_in_headers(run: Run) -> None:
    channel = await run.channel()
    posted = await run.post(run.u, channel)
    with run.verdict("NEG-HTTP-03"):
        for name in ("X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override"):
            for target in (f"/messages/{posted['id']}", f"/messages/{posted['id']}?_method=DELETE"):
                for method in ("GET", "POST"):
                    plain = await run.u.ask(method, target)  # With a capability, a message can be read.
                    answer = await run.u.ask(method, target, headers={name: "DELETE"})
                    require(answer.status == plain.status, f"{method} with {name} is obeyed")
                    require(method == "GET" or answer.status >= 400, f"{method} of a message is obeyed")
            answer = await run.u.get(messages_at(channel), headers={name: "POST"})
            require(ids(answer.expect(200).json["messages"]) == [posted["id"]], "GET did something else")
        require(ids(await messages(run.v, channel)) == [posted["id"]], "a message was deleted by a header")
    await still_alive(run)
