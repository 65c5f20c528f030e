"""What opens an endpoint instead of an access token ends for requests on their way too (decision D-39).

A webhook's token, a refresh token, a link in a mail or a password is taken away while a request with it is
held up: by its body, in a message filter, or where it waits for the write lock.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Literal, NamedTuple
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.web.client import Client
from tests.web.endpoints import WITH_ANOTHER_TOKEN
from tests.web.held import Sent, held_up
from tests.web.scene import PASSWORD, Scene, Victim, staged

WEEKS = 4 * 7 * 24 * 3600 * 1000


class Opened(NamedTuple):
    """A request that something else than an access token opens. `names` is what the endings are told."""

    path: str
    body: Any
    bearer: str | None = None
    names: str = ""


Ending = Callable[[Scene, Victim, str], Awaitable[object]]


async def their_user_is_removed(scene: Scene, victim: Victim, _: str) -> None:
    await scene.app.accounts.users.remove(scene.admin, victim.caller.user.id)


async def their_session_is_ended(scene: Scene, victim: Victim, _: str) -> None:
    await scene.app.accounts.sessions.end(victim.caller, victim.caller.session_id)


async def their_time_is_over(scene: Scene, victim: Victim, _: str) -> None:
    async with scene.app.storage.write():
        scene.clock.ahead += WEEKS


async def a_newer_link_is_mailed(scene: Scene, victim: Victim, purpose: str) -> None:
    async with scene.app.storage.write() as tx:
        await scene.app.accounts.links.issue_in(tx, purpose, victim.caller.user.email)  # type: ignore[arg-type]


async def they_get_another_password(scene: Scene, victim: Victim, _: str) -> None:
    await scene.app.accounts.users.reset_password(scene.admin, victim.caller.user.id, "another long password")


async def the_webhook_is_deleted(scene: Scene, victim: Victim, webhook: str) -> None:
    await scene.app.chat.webhooks.delete(victim.caller, webhook)


async def the_channel_is_deleted(scene: Scene, victim: Victim, webhook: str) -> None:
    [found] = [one for one in await scene.app.chat.webhooks.list(victim.caller) if one.id == webhook]
    await scene.app.chat.channels.delete(victim.caller, found.channel_id)


async def by_refresh_token(_: Scene, victim: Victim) -> Opened:
    return Opened("/auth/refresh", {"refreshToken": victim.tokens.refresh_token})


async def by_magic_link(scene: Scene, victim: Victim) -> Opened:
    token = await _link(scene, victim, "magic")
    return Opened("/auth/verify", {"email": victim.caller.user.email}, token, "magic")


async def by_password(_: Scene, victim: Victim) -> Opened:
    await victim.password()
    return Opened("/auth/password-login", {"email": victim.caller.user.email, "password": PASSWORD})


async def by_reset_link(scene: Scene, victim: Victim) -> Opened:
    token = await _link(scene, victim, "reset")
    body = {"email": victim.caller.user.email, "password": "my new long password", "token": token}
    return Opened("/auth/setup-password", body, names="reset")


async def by_webhook_token(_: Scene, victim: Victim) -> Opened:
    channel = await victim.channel()
    made = await victim.client.ok("POST", "/webhooks", {"name": "bot", "channelId": channel})
    webhook = made["webhook"]
    return Opened(
        f"/webhooks/{webhook['id']}/messages", {"content": "let me in"}, webhook["token"], webhook["id"]
    )


async def _link(scene: Scene, victim: Victim, purpose: Literal["magic", "reset"]) -> str:
    """Return the token of a link that was mailed to a victim."""
    accounts, email = scene.app.accounts, victim.caller.user.email
    async with scene.app.storage.write() as tx:
        await accounts.links.issue_in(tx, purpose, email)
        [(link_id,)] = await tx.fetch(
            "select id from links where email = $1 and purpose = $2", email, purpose
        )
    return parse_qs(urlsplit(accounts.links.url(link_id, purpose, email)).query)["token"][0]


Opening = Callable[[Scene, Victim], Awaitable[Opened]]
_LINK = {their_user_is_removed: 400, their_time_is_over: 400, a_newer_link_is_mailed: 400}
OPENINGS: Mapping[tuple[str, str], tuple[Opening, Mapping[Ending, int]]] = {
    ("POST", "/auth/refresh"): (
        by_refresh_token,
        {their_user_is_removed: 401, their_session_is_ended: 401, their_time_is_over: 401},
    ),
    ("POST", "/auth/verify"): (by_magic_link, _LINK),
    ("POST", "/auth/password-login"): (
        by_password,
        {their_user_is_removed: 401, they_get_another_password: 401},
    ),
    ("POST", "/auth/setup-password"): (by_reset_link, _LINK | {they_get_another_password: 400}),
    ("POST", "/webhooks/<webhookId>/messages"): (
        by_webhook_token,
        {the_webhook_is_deleted: 401, the_channel_is_deleted: 401},
    ),
}


HELD = [(endpoint, how) for endpoint in OPENINGS for how in ("body", "lock")]
HELD.append((("POST", "/webhooks/<webhookId>/messages"), "filter"))


@pytest.fixture
async def scene(tmp_path: Path) -> AsyncIterator[Scene]:
    async with staged(tmp_path) as made:
        yield made


def sent(scene: Scene, opened: Opened) -> Sent:
    return Sent(Client(scene.site, opened.bearer), "POST", opened.path, opened.body)


def test_every_open_endpoint_with_a_token_of_its_own_is_held_up_here() -> None:
    assert set(OPENINGS) == WITH_ANOTHER_TOKEN


@pytest.mark.slow
@pytest.mark.parametrize(("endpoint", "how"), HELD, ids=lambda one: one if isinstance(one, str) else one[1])
async def test_what_ended_meanwhile_opens_nothing_and_nothing_is_written(
    scene: Scene, endpoint: tuple[str, str], how: str
) -> None:
    opening, endings = OPENINGS[endpoint]
    through = []
    for ending, status in endings.items():
        victim = await scene.victim()
        opened = await opening(scene, victim)
        came = await held_up(scene, sent(scene, opened), how, partial(ending, scene, victim, opened.names))
        # A failure is counted, and told in the audit log.
        wrote = [sql for sql in came.committed if _writes(sql) and not _tells_of_a_failure(sql)]
        changed = [table for table in came.changed if table not in {"attempts", "audit_entries"}]
        if came.answer.status != status or wrote or changed:
            through.append((ending.__name__, came.answer.status, came.answer.body, wrote, changed))
    assert not through, "\n".join(map(str, through))


@pytest.mark.slow
@pytest.mark.parametrize(("endpoint", "how"), HELD, ids=lambda one: one if isinstance(one, str) else one[1])
async def test_what_is_only_late_is_served(scene: Scene, endpoint: tuple[str, str], how: str) -> None:
    victim = await scene.victim()
    opened = await OPENINGS[endpoint][0](scene, victim)

    async def nothing_ends() -> None:
        async with scene.app.storage.write():
            pass

    came = await held_up(scene, sent(scene, opened), how, nothing_ends)
    assert came.answer.status == 200, came.answer.body
    assert any(map(_writes, came.committed))


def _tells_of_a_failure(sql: str) -> bool:
    return " attempts" in sql or sql.lstrip().startswith("insert into audit_entries ")


def _writes(sql: str) -> bool:
    return not sql.lstrip().startswith("select")
