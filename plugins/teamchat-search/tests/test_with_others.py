"""What other capabilities can say of messages is asked for in a search, where they are on (F-2)."""

from __future__ import annotations

from base64 import b64encode
from pathlib import Path
from typing import Any

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


async def test_f1_a_message_is_found_by_the_names_of_its_files_too(tmp_path: Path) -> None:
    async with running(tmp_path, plugin=teamchat_search) as server, await server.sign_in() as ada:
        [channel] = (await ada.get("/channels")).json()["channels"]
        plan = await _posted(ada, channel["id"], "the first draft", "Straßenplan.pdf")
        both = await _posted(ada, channel["id"], "", "budget 2026.xlsx", "Straßenliste.csv")
        await ada.post(f"/channels/{channel['id']}/messages", json={"content": "strasse"})

        async def hits(path: str, query: str, **more: str) -> list[dict[str, Any]]:
            answer = await ada.get(path, params={"q": query, **more})
            assert answer.status_code == 200
            return list(answer.json()["results"])

        found = await hits("/search/messages", "strassen")
        assert [one["message"]["id"] for one in found] == [both, plan]
        assert [one["highlights"] for one in found] == [
            [{"field": "files[1].name", "offset": 0, "length": 7}],
            [{"field": "files[0].name", "offset": 0, "length": 7}],
        ]
        assert [one["message"]["id"] for one in await hits("/search/messages", "draft .pdf")] == [plan]
        assert await hits("/search/messages", "draft .csv") == []

        files = await hits("/search/files", "strassen")
        assert [(one["messageId"], one["file"]["name"]) for one in files] == [
            (both, "Straßenliste.csv"),
            (plan, "Straßenplan.pdf"),
        ]
        assert files[1]["place"] == {"id": channel["id"], "kind": "channel", "name": channel["name"]}
        assert files[1]["highlights"] == [{"field": "files[0].name", "offset": 0, "length": 7}]
        assert await hits("/search/files", "draft") == [], "the name alone is looked at"
        assert await hits("/search/files", "budget strassen") == [], "each by itself"
        best = await hits("/search/files", "strassenplan", sort="relevance")
        assert [one["file"]["name"] for one in best] == ["Straßenplan.pdf"]


async def test_pages_of_files_go_on_within_a_message(tmp_path: Path) -> None:
    async with running(tmp_path, plugin=teamchat_search) as server, await server.sign_in() as ada:
        [channel] = (await ada.get("/channels")).json()["channels"]
        for number in range(3):
            await _posted(ada, channel["id"], "", *(f"report {number}-{part}.txt" for part in range(3)))
        found: list[str] = []
        cursor: str | None = None
        while True:
            query = {"q": "report", "limit": "2"} | ({"cursor": cursor} if cursor else {})
            page = (await ada.get("/search/files", params=query)).json()
            assert len(page["results"]) <= 2
            found += [one["file"]["name"] for one in page["results"]]
            cursor = page["next"]
            if cursor is None:
                break
        assert found == [f"report {number}-{part}.txt" for number in (2, 1, 0) for part in range(3)]


async def test_a_server_that_keeps_no_files_finds_none(tmp_path: Path) -> None:
    async with (
        running(tmp_path, plugin=teamchat_search, files={"enabled": False}) as server,
        await server.sign_in() as ada,
    ):
        [channel] = (await ada.get("/channels")).json()["channels"]
        await ada.post(f"/channels/{channel['id']}/messages", json={"content": "a report"})
        answer = await ada.get("/search/files", params={"q": "report"})
        assert answer.json() == {"results": [], "next": None, "isComplete": True}


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


async def _posted(ada: Any, channel_id: str, content: str, *names: str) -> str:
    """Post a message with files of these names; return its id."""
    ids = []
    for name in names:
        name, place = (b64encode(text.encode()).decode() for text in (name, channel_id))
        headers = {
            "Tus-Resumable": "1.0.0",
            "Upload-Length": "4",
            "Upload-Metadata": f"filename {name},placeId {place}",
            "Content-Type": "application/offset+octet-stream",
        }
        made = await ada.post("/uploads", content=b"text", headers=headers)
        assert made.status_code == 201
        ids.append(made.headers["Location"].rpartition("/")[2])
    body = {"content": content, "files": ids}
    answer = await ada.post(f"/channels/{channel_id}/messages", json=body)
    return str(answer.json()["message"]["id"])
