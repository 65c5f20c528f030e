"""What the page about notifications shows is taken by a server, and does what is said there."""

from __future__ import annotations

import json
from pathlib import Path

from tests.docs.pages import blocks
from tests.harness import running


async def test_what_notifies_is_chosen_as_the_page_says(tmp_path: Path) -> None:
    settings, place, muted, following = map(json.loads, blocks("how-to/choose-what-notifies.md", "json"))
    async with (
        running(tmp_path) as server,
        await server.sign_in() as ada,
        await server.sign_in("bob@example.org") as bob,
    ):
        before = (await bob.get("/me/notifications")).json()
        assert before["defaults"] == {"channel": "mentions", "group": "all", "direct": "all", "thread": "all"}
        answer = await bob.put("/me/notifications", json=settings)
        assert answer.json() == before | settings, answer.text
        [channel] = (await ada.get("/channels")).json()["channels"]
        path = f"/me/places/{channel['id']}"
        chosen = (await bob.put(f"{path}/notifications", json=place)).json()["state"]
        assert (chosen["level"], chosen["isMuted"], chosen["ignoreChannelMentions"]) == ("all", False, True)
        state = (await bob.put(f"{path}/notifications", json=muted)).json()["state"]
        assert state == chosen | {"isMuted": True} | muted
        assert (await bob.get(path)).json()["state"] == state
        sent = await bob.post(f"/channels/{channel['id']}/messages", json={"content": "Lunch?"})
        message = sent.json()["message"]["id"]
        await ada.post(f"/messages/{message}/thread", json={"content": "Yes"})
        [waiting] = (await bob.get("/me/threads", params={"filter": "unread"})).json()["threads"]
        assert (waiting["parent"]["id"], waiting["state"]["unreadCount"]) == (message, 1)
        ended = (await bob.put(f"/me/threads/{message}", json=following)).json()["state"]
        assert not ended["following"]
        assert (await bob.get("/me/threads")).json()["threads"] == []
