"""Somebody else who writes, and what a model and its server count of it."""

from __future__ import annotations

from typing import Any


class Other:
    """Somebody else."""

    def __init__(self, server: Any) -> None:
        self.server = server
        self.token = server.token("grace@example.org")
        with server.client(self.token) as client:
            self.channel = client.get("/channels").json()["channels"][0]["id"]

    def post(self, content: str) -> Any:
        path = f"/channels/{self.channel}/messages"
        return self.server.post(path, {"content": content}, self.token)["message"]

    def reply(self, parent: str, content: str) -> Any:
        return self.server.post(f"/messages/{parent}/thread", {"content": content}, self.token)["reply"]

    def edit(self, path: str, content: str) -> None:
        with self.server.client(self.token) as client:
            assert client.put(path, json={"content": content}).is_success

    def delete(self, path: str) -> None:
        with self.server.client(self.token) as client:
            assert client.delete(path).is_success


def threads(one: Any) -> list[str]:
    return list(one.run("bench.model.threads.sorted().map(({ id }) => id)"))


def state(one: Any) -> list[Any]:
    return list(
        one.run(
            """() => {
              const { unread } = bench.model;
              const { id } = bench.place;
              return [unread.count(id), unread.mentionCount(id), unread.total()];
            }"""
        )
    )


def counted_by_the_server(server: Any, token: str) -> dict[str, int]:
    with server.client(token) as client:
        places = client.get("/me/places").json()["places"]
    return {one["placeId"]: one["unreadCount"] for one in places if one["unreadCount"]}
