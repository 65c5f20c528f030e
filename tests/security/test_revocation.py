"""Access that has been taken back is gone at once, and the live streams of it within two seconds."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import h11
import pytest
import trio

from teamchat.accounts import sessions
from teamchat.testing import Events, listening
from tests.security.world import JSON, MAILS, Victim, assert_problem, attacked

EMAIL, PASSWORD = "grace@example.org", "the password of grace"
END_SECONDS = 2.0


@dataclass
class Session:
    """A session of Grace's, with its live stream."""

    pair: JSON
    stream: Events

    @property
    def access(self) -> str:
        return str(self.pair["accessToken"])

    @property
    def refresh(self) -> str:
        return str(self.pair["refreshToken"])


@dataclass
class Scene:
    """An admin, and Grace with two sessions; everybody listens."""

    victim: Victim
    admin: str
    admins_stream: Events
    user_id: str
    sessions: list[Session] = field(default_factory=list)

    async def ok(self, method: str, path: str, body: Any, token: str) -> JSON:
        return await self.victim.ok(method, path, body, token)


@asynccontextmanager
async def scene(directory: Path) -> AsyncIterator[Scene]:
    auth = {"maxActiveSessions": 2}
    async with attacked(directory, auth=auth, email=MAILS) as victim, AsyncExitStack() as stack:
        admin = (await victim.login())["accessToken"]
        user_id = await victim.add(admin, EMAIL, PASSWORD)
        admins_stream = await stack.enter_async_context(listening(victim.client(admin)))
        made = Scene(victim, admin, admins_stream, user_id)
        for _ in range(2):
            pair = await victim.login(EMAIL, PASSWORD)
            stream = await stack.enter_async_context(listening(victim.client(pair["accessToken"])))
            made.sessions.append(Session(pair, stream))
        yield made


Act = Callable[[Scene], Awaitable[None]]


async def logs_out(scene: Scene) -> None:
    first = scene.sessions[0]
    await scene.ok("POST", "/auth/logout", {"refreshToken": first.refresh}, first.access)


async def is_revoked_from_another_session(scene: Scene) -> None:
    first, second = scene.sessions
    listed = await scene.ok("GET", "/auth/sessions", None, first.access)
    [own] = [one["id"] for one in listed["sessions"] if one["isCurrentSession"]]
    await scene.ok("DELETE", "/auth/sessions", {"sessionId": own}, second.access)


async def all_others_are_revoked(scene: Scene) -> None:
    second = scene.sessions[1]
    await scene.ok("DELETE", "/auth/sessions", {"refreshToken": second.refresh}, second.access)


async def all_are_revoked(scene: Scene) -> None:
    await scene.ok("DELETE", "/auth/sessions", {}, scene.sessions[1].access)


async def signs_in_beyond_the_limit(scene: Scene) -> None:
    await scene.victim.login(EMAIL, PASSWORD)


async def uses_a_stolen_refresh_token(scene: Scene) -> None:
    body = {"refreshToken": scene.sessions[0].refresh}
    await scene.ok("POST", "/auth/refresh", body, "")
    assert_problem(await scene.victim.call("POST", "/auth/refresh", body), 401)


async def is_given_a_new_password(scene: Scene) -> None:
    body = {"password": "another long password"}
    await scene.ok("POST", f"/users/{scene.user_id}/reset-password", body, scene.admin)


async def sets_a_new_password_by_mail(scene: Scene) -> None:
    await scene.ok("POST", "/auth/request-password-reset", {"email": EMAIL}, "")
    token = await scene.victim.link(EMAIL, "reset")
    body = {"email": EMAIL, "token": token, "password": "another long password"}
    await scene.ok("POST", "/auth/setup-password", body, "")


async def is_removed(scene: Scene) -> None:
    await scene.ok("DELETE", f"/users/{scene.user_id}", None, scene.admin)


async def leaves(scene: Scene) -> None:
    await scene.ok("POST", "/users/exit", None, scene.sessions[0].access)


ONE: dict[str, Act] = {
    act.__name__: act
    for act in (
        logs_out,
        is_revoked_from_another_session,
        all_others_are_revoked,
        signs_in_beyond_the_limit,
        uses_a_stolen_refresh_token,
    )
}
BOTH: dict[str, Act] = {
    act.__name__: act
    for act in (
        all_are_revoked,
        is_given_a_new_password,
        sets_a_new_password_by_mail,
        is_removed,
        leaves,
    )
}


@pytest.mark.slow
@pytest.mark.parametrize("act", [*ONE.values(), *BOTH.values()], ids=[*ONE, *BOTH])
async def test_access_ends_at_once_and_streams_within_two_seconds_when_grace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, act: Act
) -> None:
    if act is uses_a_stolen_refresh_token:
        monkeypatch.setattr(sessions, "GRACE_MS", -1)  # no retry is taken for honest
    async with scene(tmp_path) as now:
        gone = now.sessions if act in BOTH.values() else now.sessions[:1]
        alive = [one for one in now.sessions if one not in gone]
        await act(now)
        done = trio.current_time()
        for one in gone:
            assert_problem(await now.victim.call("GET", "/auth/me", token=one.access), 401)
            assert_problem(await now.victim.call("HEAD", "/channels", token=one.access), 401, has_body=False)
        channel = (await now.ok("GET", "/channels", None, now.admin))["channels"][0]["id"]
        await now.ok("POST", f"/channels/{channel}/messages", {"content": "just among us"}, now.admin)

        for one in gone:
            with trio.fail_at(done + END_SECONDS):
                assert "NEW_MESSAGE" not in await kinds_until_the_end(one.stream)
            assert_problem(await now.victim.call("GET", f"/events?token={one.access}"), 401)
            refresh = {"refreshToken": one.refresh}
            assert_problem(await now.victim.call("POST", "/auth/refresh", refresh), 401)
        for stream in (now.admins_stream, *(one.stream for one in alive)):
            assert (await stream.until("NEW_MESSAGE"))["content"] == "just among us"
        for one in alive:
            assert (await now.ok("GET", "/auth/me", None, one.access))["user"]["id"] == now.user_id


async def kinds_until_the_end(stream: Events) -> list[str]:
    """Return the types of all events that still come, once the stream has ended."""
    kinds = []
    while True:
        try:
            kinds.append((await stream.next())["type"])
        except (AssertionError, h11.RemoteProtocolError, trio.BrokenResourceError):
            return kinds


@pytest.mark.slow
async def test_c13_in_a_storm_of_requests_none_that_begins_after_the_removal_succeeds(tmp_path: Path) -> None:
    async with scene(tmp_path) as now:
        busy, over = trio.Event(), trio.Event()
        before, after = 0, 0

        async def storm(token: str) -> None:
            nonlocal before, after
            async with now.victim.client(token) as client:
                while after < 200:
                    began_after = over.is_set()
                    answer = await client.get("/auth/me")
                    assert answer.status_code in (200, 401)
                    before += answer.status_code == 200
                    if before > 50:
                        busy.set()
                    after += began_after
                    assert not (began_after and answer.status_code == 200)

        with trio.fail_after(20):
            async with trio.open_nursery() as nursery:
                for session in now.sessions * 5:
                    nursery.start_soon(storm, session.access)
                await busy.wait()
                await is_removed(now)
                over.set()


@pytest.mark.slow
async def test_nobody_ends_a_session_of_somebody_else(tmp_path: Path) -> None:
    async with scene(tmp_path) as now:
        grace = now.sessions[0]
        garbage = await now.victim.call("POST", "/auth/logout", {"refreshToken": "garbage"}, now.admin)
        foreign = await now.victim.call("POST", "/auth/logout", {"refreshToken": grace.refresh}, now.admin)
        assert (foreign.status_code, foreign.content) == (garbage.status_code, garbage.content)
        [session, *_] = (await now.ok("GET", "/auth/sessions", None, grace.access))["sessions"]
        for body, status in (({"sessionId": session["id"]}, 404), ({"refreshToken": grace.refresh}, 400)):
            assert_problem(await now.victim.call("DELETE", "/auth/sessions", body, now.admin), status)
        for one in now.sessions:
            await now.ok("POST", "/auth/refresh", {"refreshToken": one.refresh}, "")


async def test_a_new_account_with_the_email_of_a_removed_one_inherits_nothing(tmp_path: Path) -> None:
    async with scene(tmp_path) as now:
        opened = await now.ok("POST", "/conversations", {"targetUserId": now.user_id}, now.admin)
        await is_removed(now)
        assert await now.victim.add(now.admin, EMAIL, PASSWORD) != now.user_id
        for one in now.sessions:
            assert_problem(await now.victim.call("GET", "/auth/me", token=one.access), 401)
            body = {"refreshToken": one.refresh}
            assert_problem(await now.victim.call("POST", "/auth/refresh", body), 401)
        token = (await now.victim.login(EMAIL, PASSWORD))["accessToken"]
        assert (await now.ok("GET", "/conversations", None, token))["conversations"] == []
        path = f"/conversations/{opened['conversation']['id']}/messages"
        assert_problem(await now.victim.call("GET", path, token=token), 403)


async def test_c12_the_list_of_sessions_tells_no_part_of_a_token(tmp_path: Path) -> None:
    async with scene(tmp_path) as now:
        listed = (await now.ok("GET", "/auth/sessions", None, now.sessions[0].access))["sessions"]
        assert len(listed) == 2
        told = [value for one in listed for value in one.values() if isinstance(value, str)]
        for session in now.sessions:
            for token in (session.refresh, session.access):
                for value in told:
                    pieces = (value[start : start + 8] for start in range(len(value) - 7))
                    assert not any(piece in token for piece in pieces)
