"""People, channels and groups that are there before a browser looks at them."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any

from playwright.sync_api import Locator, Page, expect

PEOPLE = ("bea", "carl", "dora")
PICTURE = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAQAAAADCAIAAAA7ljmRAAAADklEQVR4nGP4jwQYcHIAu4cj3ZP55DwAAAAASUVORK5CYII="
)


class Rooms:
    """A server with Ada (its admin) and other people, and what they make and say there without a browser."""

    def __init__(self, server: Any, people: Sequence[str] = PEOPLE) -> None:
        self.server = server
        self.tokens = {"ada": server.token()} | {name: server.token(email(name)) for name in people}
        users = self.ask("ada", "GET", "/users")["users"]
        self.ids = {user["userName"].lower(): user["id"] for user in users}
        self.general = str(self.ask("ada", "GET", "/channels")["channels"][0]["id"])

    def ask(self, who: str, method: str, path: str, body: Any = None) -> Any:
        """Send a request that succeeds as somebody, and return its answer."""
        with self.server.client(self.tokens[who]) as client:
            answer = client.request(method, path, json=body)
        assert answer.is_success, answer.text
        return answer.json()

    def status(self, who: str, method: str, path: str) -> int:
        with self.server.client(self.tokens[who]) as client:
            return int(client.request(method, path).status_code)

    def post(self, path: str, body: dict[str, Any], by: str = "ada") -> Any:
        return self.ask(by, "POST", path, body)

    def put(self, path: str, body: dict[str, Any], by: str = "ada") -> None:
        self.ask(by, "PUT", path, body)

    def delete(self, path: str, by: str = "ada") -> None:
        self.ask(by, "DELETE", path)

    def public(self, name: str, by: str = "ada", **more: Any) -> str:
        return str(self.post("/channels", {"name": name, "isDefault": False} | more, by)["channel"]["id"])

    def private(self, name: str, *members: str, by: str = "ada", **more: Any) -> str:
        body = {"name": name, "members": [self.ids[one] for one in members]} | more
        return str(self.post("/private-channels", body, by)["channel"]["id"])

    def group(self, *others: str, by: str = "ada") -> str:
        return str(self.post("/groups", {"userIds": [self.ids[one] for one in others]}, by)["channel"]["id"])

    def remove(self, room: str, whom: str, by: str = "ada") -> None:
        self.delete(f"/channels/{room}/members/{self.ids[whom]}", by)

    def say(self, room: str, content: str, by: str = "ada") -> str:
        return str(self.post(f"/channels/{room}/messages", {"content": content}, by)["message"]["id"])

    def picture(self, room: str, by: str = "ada") -> str:
        """Post a picture, four pixels wide; return its path."""
        upload = {"filename": "a.png", "image": base64.b64encode(PICTURE).decode()}
        name = self.post(f"/channels/{room}/messages/image", upload, by)["filename"]
        self.post(f"/channels/{room}/messages", {"content": "", "images": [name]}, by)
        return f"/channels/{room}/messages/image/{name}"

    def members(self, room: str, by: str = "ada") -> dict[str, str]:
        """Return the roles of a room's members by their names."""
        names = {user_id: name for name, user_id in self.ids.items()}
        found = self.ask(by, "GET", f"/channels/{room}/members")["members"]
        return {names[one["userId"]]: one["role"] for one in found}


def email(name: str) -> str:
    return f"{name}@example.org"


def open_members(page: Page, title: str) -> Locator:
    """Open the members of the room that is shown, by the button in its head."""
    page.get_by_role("button", name="who is here").click()
    return dialog_of(page, title, "Members")


def open_about(page: Page, title: str) -> Locator:
    page.get_by_role("button", name="About this room").click()
    return dialog_of(page, title, "About")


def open_manage(page: Page, title: str) -> Locator:
    dialog = open_about(page, title)
    dialog.get_by_role("button", name="Manage", exact=True).click()
    return dialog_of(page, title, "Manage")


def dialog_of(page: Page, title: str, section: str) -> Locator:
    dialog = page.get_by_role("dialog", name=title, exact=True)
    expect(dialog.get_by_role("heading", name=section, exact=True)).to_be_visible()
    return dialog


def rows(dialog: Locator) -> Locator:
    return dialog.get_by_role("list", name="Members").get_by_role("listitem")
