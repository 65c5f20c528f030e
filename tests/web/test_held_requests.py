"""Who was signed out, removed or demoted acts no more, however long a request was held up (decision D-39)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from pathlib import Path

import pytest

from tests.web.endpoints import REQUESTS, WITH_ANOTHER_TOKEN, WITHOUT_A_TOKEN
from tests.web.held import held
from tests.web.scene import Scene, Victim, staged

PLAIN = {"/events", "/plain-notes"}
"""What is no declared endpoint; the web client's pages are the other ones, and open."""
OF_A_STREAM = ("PUT", "/events/<connectionId>")
"""Is about a stream that ends with its session, and writes nothing: tests/stream/test_showing.py asks it."""
ASKS_LATE = {("POST", "/plain-notes")}
"""Asks who is there only once the body has come: nobody was an admin before."""


@pytest.fixture
async def scene(tmp_path: Path) -> AsyncIterator[Scene]:
    async with staged(tmp_path) as made:
        yield made


async def is_removed(scene: Scene, victim: Victim) -> None:
    await scene.app.accounts.users.remove(scene.admin, victim.caller.user.id)


async def is_signed_out(scene: Scene, victim: Victim) -> None:
    await scene.app.accounts.sessions.end(victim.caller, victim.caller.session_id)


async def expires(scene: Scene, victim: Victim) -> None:
    async with scene.app.storage.write():
        scene.clock.ahead += 8 * 24 * 3600 * 1000


async def is_demoted(scene: Scene, victim: Victim) -> None:
    async with scene.app.storage.write() as tx:
        await scene.app.accounts.users.set_role_in(tx, victim.caller.user, is_admin=False)


async def the_token_expires(scene: Scene, victim: Victim) -> None:
    """The session goes on: a long upload over a slow line outlives its access token."""
    async with scene.app.storage.write():
        scene.clock.ahead += 1000 * 1000


Ending = Callable[[Scene, Victim], Awaitable[None]]
ENDINGS: dict[Ending, int] = {is_removed: 401, is_signed_out: 401, expires: 401, is_demoted: 403}


async def test_every_declared_endpoint_is_held_up_here_or_open(scene: Scene) -> None:
    declared = {(one.method, one.rule): one.open for one in scene.site.endpoints}
    asked = {endpoint for endpoint in REQUESTS if endpoint[1] not in PLAIN}
    told = "tests/web/endpoints.py says of every endpoint what it is asked with, or that it is open"
    held = {endpoint for endpoint, is_open in declared.items() if not is_open}
    assert held == asked | {OF_A_STREAM}, told
    opened = {endpoint for endpoint, is_open in declared.items() if is_open}
    assert opened == WITHOUT_A_TOKEN | WITH_ANOTHER_TOKEN, told


@pytest.mark.slow
async def test_every_request_is_good_and_can_be_held_up_where_it_says(scene: Scene) -> None:
    for endpoint, asked in REQUESTS.items():
        victim = await scene.victim()
        path, body = await asked.of(victim, endpoint[1])
        filtered = scene.filter.asked
        scene.watched.written.clear()
        answer = await victim.client.call(endpoint[0], path, body)
        assert answer.status == 200, (endpoint, answer.body)
        found = {
            "body": answer.pulled > 0,
            "lock": bool(scene.watched.written),
            "filter": scene.filter.asked > filtered,
        }
        assert {how for how, is_there in found.items() if is_there} == set(asked.holds), endpoint


@pytest.mark.slow
@pytest.mark.parametrize("how", ["body", "filter", "lock"])
@pytest.mark.parametrize("ending", ENDINGS, ids=lambda ending: ending.__name__)
async def test_d39_whose_session_user_or_role_ended_meanwhile_is_refused_and_writes_nothing(
    scene: Scene, ending: Ending, how: str
) -> None:
    through = []
    for endpoint, asked in REQUESTS.items():
        if how not in asked.holds:
            continue
        if endpoint in ASKS_LATE and (ending, how) == (is_demoted, "body"):
            continue
        victim = await scene.victim()
        came = await held(scene, victim, how, endpoint, partial(ending, scene, victim))
        wrote = [sql for sql in came.statements if not sql.lstrip().startswith("select")]
        if came.answer.status != ENDINGS[ending] or wrote or came.changed:
            through.append((endpoint, came.answer.status, wrote, came.changed))
        else:
            came.answer.problem(ENDINGS[ending])
    assert not through, "\n".join(map(str, through))


@pytest.mark.slow
@pytest.mark.parametrize("how", ["body", "filter", "lock"])
async def test_a_request_that_is_only_late_is_served(scene: Scene, how: str) -> None:
    for endpoint, asked in REQUESTS.items():
        if how in asked.holds and (how, endpoint) != ("body", *ASKS_LATE):
            victim = await scene.victim()
            came = await held(
                scene, victim, how, endpoint, lambda victim=victim: the_token_expires(scene, victim)
            )  # type: ignore[misc]
            assert came.answer.status == 200, (endpoint, came.answer.body)
