"""What other capabilities can say of messages is asked for in a search, where they are on (F-2)."""

from __future__ import annotations

from pathlib import Path

import teamchat_search

from teamchat.testing import running


async def test_f2_pins_mentions_and_what_is_unread_can_be_asked_for(tmp_path: Path) -> None:
    async with (
        running(tmp_path, plugin=teamchat_search) as server,
        await server.sign_in() as ada,
        await server.sign_in("bob@example.org") as bob,
    ):
        [channel] = (await ada.get("/channels")).json()["channels"]
        bob_id = (await bob.get("/auth/me")).json()["user"]["id"]
        path = f"/channels/{channel['id']}/messages"
        entity = {"type": "user", "offset": 0, "length": 4, "id": bob_id}
        body = {"content": "@bob needle", "entities": [entity]}
        mentioning = (await ada.post(path, json=body)).json()["message"]
        pinned = (await bob.post(path, json={"content": "pinned needle"})).json()["message"]
        await ada.post(f"/messages/{pinned['id']}/pin")

        async def found(client: object, query: str) -> list[str]:
            answer = await client.get("/search/messages", params={"q": query})  # type: ignore[attr-defined]
            assert answer.status_code == 200
            return [one["message"]["id"] for one in answer.json()["results"]]

        assert await found(ada, "needle") == [pinned["id"], mentioning["id"]]
        assert await found(ada, "needle has:pin") == [pinned["id"]]
        assert await found(ada, "needle -has:pin") == [mentioning["id"]]
        assert await found(bob, "mentions:me") == [mentioning["id"]]
        assert await found(ada, "mentions:me") == []
        assert await found(bob, "is:unread needle") == [mentioning["id"]]
        await bob.put(f"/me/places/{channel['id']}/read", json={"position": mentioning["id"]})
        assert await found(bob, "is:unread needle") == []
        assert await found(ada, "is:saved") == []


async def test_numbers_and_sorts_that_are_none_are_refused(tmp_path: Path) -> None:
    async with running(tmp_path, plugin=teamchat_search) as server, await server.sign_in() as ada:
        for wrong in (
            {},
            {"q": "  "},
            {"q": "x" * 501},
            {"q": '""'},
            {"q": "x\0"},
            {"q": "x", "limit": "0"},
            {"q": "x", "from": "yesterday"},
            {"q": "x", "sort": "best"},
            {"q": "x", "cursor": "../"},
            {"q": "x", "sort": "relevance", "cursor": "0" * 32},
            {"q": "x", "tz": "../../etc/passwd"},
            {"q": "x", "tz": "Nowhere/Land"},
        ):
            answer = await ada.get("/search/messages", params=wrong)
            assert answer.status_code == 400, wrong
        for fine in (
            {"q": "x", "from": "0", "to": "999999999999999"},
            {"q": "x" * 500},
            {"q": "x", "limit": "999"},
        ):
            answer = await ada.get("/search/messages", params=fine)
            assert answer.json() == {"results": [], "next": None, "isComplete": True}
