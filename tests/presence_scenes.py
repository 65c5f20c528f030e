"""What is to be seen of presence and typing whichever process somebody speaks to (extension I).

Those who look have their streams at one process, those who are looked at speak to another.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import trio

from teamchat.testing import DEADLINE, Events

ASKS = ["presence", "typing"]
_AGAIN_SECONDS = 0.5


async def own_id(client: httpx2.AsyncClient) -> str:
    return str((await client.get("/auth/me")).json()["user"]["id"])


async def shown(client: httpx2.AsyncClient, user: str) -> dict[str, Any]:
    """Return what is answered of a user. A process that a test has stopped is busy for a while afterwards."""
    with trio.fail_after(DEADLINE):
        while (answer := await client.get("/presence", params={"userIds": user})).status_code == 503:  # noqa: ASYNC110
            await trio.sleep(_AGAIN_SECONDS)
    [found] = answer.json()["presence"]
    return dict(found)


async def show(client: httpx2.AsyncClient, stream: Events, **what: Any) -> int:
    return (await client.put(f"/events/{stream.connection_id}", json=what)).status_code


async def is_active(
    client: httpx2.AsyncClient, stream: Events, lookers: Iterable[httpx2.AsyncClient], user: str
) -> None:
    """Say that somebody sits at a stream until these see it: it may be lost between processes."""
    with trio.fail_after(DEADLINE):
        for looker in lookers:
            while (await shown(looker, user))["status"] != "online":
                assert await show(client, stream, isActive=True) == 204
                await trio.sleep(_AGAIN_SECONDS)


async def is_told(events: Events, user: str, status: str) -> None:
    """Wait until a stream is told of a status; of what came before it may be told too."""
    with trio.fail_after(DEADLINE):
        while True:
            told = await events.until("PRESENCE_UPDATE")
            if (told["userId"], told["status"]) == (user, status):
                return


async def comes_and_hides(
    lookers: Iterable[httpx2.AsyncClient],
    told: Events,
    bob: httpx2.AsyncClient,
    elsewhere: Any,
    of_bob: Events,
) -> str:
    """Have Bob be active at his stream, as he says at another process, then hide, and show himself again."""
    user = await own_id(bob)
    lookers = list(lookers)
    assert await show(lookers[0], told, presenceOf=[user]) == 204
    for looker in lookers:
        assert await show(looker, of_bob, isActive=True) == 404, "it is another session's"
    await is_active(elsewhere, of_bob, lookers, user)
    await is_told(told, user, "online")
    assert (await bob.put("/presence/me", json={"status": "offline"})).status_code == 200
    for looker in lookers:
        assert await shown(looker, user) == {"userId": user, "status": "offline"}, "at once, without lastSeen"
    await is_told(told, user, "offline")
    assert (await bob.put("/presence/me", json={"status": "auto"})).status_code == 200
    await is_told(told, user, "online")
    return user


async def is_shut_out(
    admin: httpx2.AsyncClient, lookers: Iterable[httpx2.AsyncClient], told: Events, user: str
) -> None:
    """Deactivate somebody who is online."""
    answer = await admin.post(f"/users/{user}/deactivate")
    assert answer.status_code == 200, answer.text
    for looker in lookers:
        assert (await shown(looker, user))["status"] == "offline", "at once"
    await is_told(told, user, "offline")


@asynccontextmanager
async def typing(client: httpx2.AsyncClient, place: str) -> Any:
    """Type in a place meanwhile; one may be lost, so it is told again and again."""

    async def go_on() -> None:
        while True:
            answer = await client.post(f"/places/{place}/typing", json={"isTyping": True})
            assert answer.status_code == 204
            await trio.sleep(_AGAIN_SECONDS)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(go_on)
        yield
        nursery.cancel_scope.cancel()


async def types(
    ada: httpx2.AsyncClient, bob: httpx2.AsyncClient, cleo: httpx2.AsyncClient, streams: dict[str, Events]
) -> None:
    """Bob types where Ada looks, and she answers; Cleo watches a private channel that is not hers.

    Streams are by these names.  What goes from process to process keeps its order, so what somebody is told
    first is what they were told.
    """
    [general] = [
        one["id"] for one in (await ada.get("/channels")).json()["channels"] if one["name"] == "General"
    ]
    made = await ada.post("/channels", json={"name": "Between us", "isPrivate": True})
    private = made.json()["channel"]["id"]
    added = await ada.post(f"/channels/{private}/members", json={"userIds": [await own_id(bob)]})
    assert added.status_code == 200, added.text
    for name, client in (("ada", ada), ("bob", bob), ("cleo", cleo)):
        assert await show(client, streams[name], watch=[general, private]) == 204
    async with typing(bob, private):
        told = await streams["ada"].until("TYPING")
        assert (told["placeId"], told["userId"], told["threadId"]) == (private, await own_id(bob), None)
    async with typing(ada, general):
        told = await streams["cleo"].until("TYPING")
        assert told["placeId"] == general, "she was told of a place that she does not see"
        told = await streams["bob"].until("TYPING")
        assert told["userId"] == await own_id(ada), "he was told of himself"
