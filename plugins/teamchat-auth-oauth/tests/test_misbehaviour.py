"""Whatever a provider does, a sign-in ends in time, in a redirect, and in nothing else."""

from __future__ import annotations

import json
import logging
import tracemalloc
from contextlib import suppress
from functools import partial
from typing import Any

import httpx2
import pytest
import trio
from teamchat_auth_oauth.client import Client
from teamchat_auth_oauth.providers import configured
from teamchat_auth_oauth.sign_in import PATIENCE_SECONDS
from teamchat_auth_oauth.states import Proofs
from trio.testing import MockClock

from teamchat.errors import OAuthFailed
from teamchat.model import now_ms
from teamchat.settings import OAuthSettings, Settings
from teamchat.testing import DEADLINE, Provider, Reply
from teamchat.web.outgoing import MOST_BYTES, BoundedTransport

from .conftest import World, custom, no_preset, told

HTML = {"Content-Type": "text/html"}
FAILED = {"oauth_error": "provider_error"}
TOKEN = {"access_token": "SENT-token", "token_type": "Bearer"}
_DEEP = b"[" * 100_000


def answer(**fields: Any) -> Reply:
    return Reply(body=json.dumps(fields).encode())


ANYWHERE = {
    "500": Reply(500, b"SENT"),
    "503 in HTML": Reply(503, b"<html>SENT</html>", HTML),
    "200 in HTML": Reply(200, b"<html>SENT</html>", HTML),
    "404": Reply(404, b'{"message": "SENT"}'),
    "no body": Reply(204),
    "an empty body": Reply(200),
    "a list": Reply(body=b'["SENT"]'),
    "null": Reply(body=b"null"),
    "deep JSON": Reply(body=_DEEP),
    "invalid UTF-8": Reply(body=b'{"sub": "\xff"}'),
    "a redirect": Reply(302, b"", {"Location": "http://127.0.0.1:1/inside"}),
    "a redirect with an answer": Reply(302, json.dumps(TOKEN).encode(), {"Location": "/userinfo"}),
    "too large": Reply(body=b'"' + b"." * MOST_BYTES + b'"'),
    "no end": Reply(body=b"{", is_endless=True),
    "compressed": Reply(body=b"\x1f\x8b", headers={"Content-Encoding": "gzip"}),
}
SLOWER = {"silence": Reply(hangs=True), "a drip": Reply(body=b" " * 10_000, drips=0.01)}
AT_THE_TOKENS = {
    "no access token": answer(token_type="Bearer"),
    "an access token that is none": answer(access_token=1),
    "an access token that is empty": answer(access_token=""),
    "an access token for no header": answer(access_token="a\r\nb: c"),
    "an access token in Unicode": answer(access_token="é" * 20),
    "another type of token": answer(access_token="SENT", token_type="mac"),
    "a type that is none": answer(access_token="SENT", token_type=1),
    "a lifetime that is none": answer(access_token="SENT", expires_in="SENT"),
    "an error with an answer": answer(error="SENT", **TOKEN),
    "an error that is none": answer(error={"SENT": 1}),
    "an answer with 400": Reply(400, json.dumps(TOKEN).encode()),
    "an ID token that is none": answer(**TOKEN, id_token="SENT"),
}


async def ends(world: World, path: str, reply: Reply) -> dict[str, str]:
    """Sign in at a provider that answers thus."""
    world.idp.instead[path] = reply
    browser = world.browser()
    callback = world.idp.approve(await browser.begin())
    with trio.fail_after(DEADLINE):
        end = await browser.get(callback)
    assert "SENT" not in str(end)
    assert world.idp.hits(path) == 1
    return told(end)


async def runs_out(world: World, clock: MockClock, path: str, reply: Reply) -> dict[str, str]:
    """Sign in at a provider that is too slow; no time passes before it was asked, on a busy machine too."""

    async def move_on() -> None:
        while not world.idp.hits(path):
            await trio.lowlevel.checkpoint()
        clock.jump(PATIENCE_SECONDS)
        clock.autojump_threshold = 0.05  # Were that not enough, `ends` is not to wait for ever.

    async with trio.open_nursery() as nursery:
        nursery.start_soon(move_on)
        return await ends(world, path, reply)


@pytest.mark.slow
@pytest.mark.parametrize("name", ANYWHERE)
async def test_at_the_token_endpoint(world: World, name: str) -> None:
    assert await ends(world, "/token", ANYWHERE[name]) == FAILED
    assert world.idp.hits("/userinfo") == 0
    assert await world.count("users") == 1


@pytest.mark.parametrize("name", AT_THE_TOKENS)
async def test_with_tokens_that_are_none(world: World, name: str) -> None:
    assert await ends(world, "/token", AT_THE_TOKENS[name]) == FAILED
    assert world.idp.hits("/userinfo") == 0


@pytest.mark.slow
@pytest.mark.parametrize("name", ANYWHERE)
async def test_at_the_profile(world: World, name: str) -> None:
    assert await ends(world, "/userinfo", ANYWHERE[name]) == FAILED
    assert await world.count("users") == 1
    assert await world.count("sessions") == 0


@pytest.mark.parametrize("path", ["/token", "/userinfo"])
@pytest.mark.parametrize("name", SLOWER)
async def test_who_waits_for_an_answer_waits_ten_seconds(
    world: World, mock_clock: MockClock, name: str, path: str
) -> None:
    assert await runs_out(world, mock_clock, path, SLOWER[name]) == FAILED
    assert trio.current_time() == pytest.approx(PATIENCE_SECONDS, abs=0.1)
    assert await world.count("users") == 1


@pytest.mark.slow
@pytest.mark.parametrize("error", ["invalid_grant", "bad_verification_code"])
@pytest.mark.parametrize("status", [200, 400, 401])
async def test_a_code_that_the_provider_refuses_is_invalid(world: World, error: str, status: int) -> None:
    body = json.dumps({"error": error, "error_description": "SENT"}).encode()
    assert await ends(world, "/token", Reply(status, body)) == {"oauth_error": "invalid_code"}


async def test_a_provider_that_nobody_runs(make: Any, idp: Provider) -> None:
    world = await make(oauth={"custom": [custom(idp, token_url="http://127.0.0.1:1/token")]})
    assert await world.sign_in() == FAILED


async def test_both_answers_share_ten_seconds(idp: Provider, mock_clock: MockClock) -> None:
    mock_clock.autojump_threshold = 0.05  # there are sockets: what is on its way must have time to arrive
    token = b'{"access_token":"a"}'
    idp.instead["/token"] = Reply(body=token, drips=8 / len(token))
    idp.instead["/userinfo"] = Reply(hangs=True)
    [at] = configured(Settings(oauth=OAuthSettings(custom=[custom(idp)])), no_preset)
    client = Client(PATIENCE_SECONDS, now_ms)
    started = trio.current_time()
    with pytest.raises(OAuthFailed, match="provider_error"):
        await client.profile(at, "the code", Proofs("verifier", "nonce"))
    assert trio.current_time() - started == pytest.approx(10, abs=0.1)
    assert idp.hits("/userinfo") == 1


async def test_an_endless_answer_is_never_held(world: World, idp: Provider) -> None:
    await world.sign_in()  # so that what is loaded once is loaded
    idp.requests.clear()
    tracemalloc.start()
    try:
        assert await ends(world, "/userinfo", Reply(is_endless=True)) == FAILED
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 8 * MOST_BYTES


@pytest.mark.parametrize(
    ("status", "piece"),
    [(b"HTTP/1.1 200 OK\r\n", b"X-A: " + b"b" * 1000 + b"\r\n"), (b"HTTP/1.1 200 ", b"b" * 1000)],
    ids=["headers", "a reason"],
)
async def test_a_head_without_an_end_is_never_held(
    status: bytes, piece: bytes, nursery: trio.Nursery, mock_clock: MockClock
) -> None:
    async def serve(stream: trio.SocketStream) -> None:
        with suppress(trio.BrokenResourceError):
            await stream.receive_some(4096)
            await stream.send_all(status)
            while True:
                await stream.send_all(piece)

    [listener] = await nursery.start(partial(trio.serve_tcp, serve, 0, host="127.0.0.1"))
    port = listener.socket.getsockname()[1]
    async with httpx2.AsyncClient(transport=BoundedTransport(httpx2.create_ssl_context())) as client:
        await trio.lowlevel.checkpoint()
        tracemalloc.start()
        try:
            with pytest.raises(httpx2.RemoteProtocolError):
                await client.get(f"http://127.0.0.1:{port}/")
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert peak < 8 * MOST_BYTES


async def test_an_answer_of_exactly_one_mebibyte_is_read(world: World, idp: Provider) -> None:
    profile = json.dumps(idp.profile).encode()
    idp.instead["/userinfo"] = Reply(body=profile.ljust(MOST_BYTES))
    assert "access_token" in await world.sign_in()


async def test_no_proxy_of_the_environment_is_used(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    assert "access_token" in await world.sign_in()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("reply", "detail"),
    [
        (Reply(503, b"SENT"), "HTTP 503"),
        (Reply(400, b'{"error": "invalid_client"}'), "invalid_client"),
        (Reply(400, b'{"error": "SENT"}'), "another error"),
        (Reply(hangs=True), "TooSlowError"),
        (Reply(is_endless=True), "a response of more than 1 MiB"),
    ],
)
async def test_the_log_says_what_was_wrong_and_nothing_that_was_said(
    world: World, mock_clock: MockClock, caplog: pytest.LogCaptureFixture, reply: Reply, detail: str
) -> None:
    caplog.set_level(logging.INFO)
    caplog.clear()  # A database that was made for the test tells of each of its schemas.
    await (runs_out(world, mock_clock, "/token", reply) if reply.hangs else ends(world, "/token", reply))
    lines = [record for record in caplog.records if record.name.startswith("teamchat")]
    line, noted = lines  # What the operator mends, and the failure as every way to sign in tells of it.
    assert noted.getMessage() == "sign-in failed"
    fields = line.teamchat_fields  # type: ignore[attr-defined]
    reason = "provider_error"
    assert fields == {"provider": "acme", "reason": reason, "detail": detail, "ip": "192.0.2.7"}
    assert not any("SENT" in str(one.__dict__) for one in lines)
