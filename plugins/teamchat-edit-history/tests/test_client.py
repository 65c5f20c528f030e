"""What edited messages said, in the web client, in a browser."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.in_the_client import message

Enter = Callable[..., Page]
GRACE = "grace@example.org"


def edit(talk: Any, token: str, message_id: str, text: str) -> None:
    with talk.server.client(token) as client:
        assert client.put(f"/messages/{message_id}", json={"content": text}).is_success


def texts(page: Page) -> Locator:
    return page.get_by_role("list", name="What the message said").get_by_role("listitem")


def tool(page: Page, text: str) -> Locator:
    """Return the button on a message; where it is narrow, in the menu of the others."""
    message(page, text).hover()
    bar = message(page, text).get_by_role("toolbar")
    expect(bar.get_by_role("button").first).to_be_visible()
    if (more := bar.get_by_role("button", name="More actions", exact=True)).count():
        more.click()
        return page.get_by_role("menuitem", name="What it said before")
    return bar.get_by_role("button", name="What it said before")


@pytest.mark.slow
def test_the_author_reads_what_it_said_and_drops_it_by_keys(talk: Any, enter: Enter) -> None:
    said = talk.say(talk.ada, "The password is 1234.")
    edit(talk, talk.ada, said, "Ask me for the password.")
    page = enter(talk.server)
    expect(message(page, "Ask me")).to_be_visible()
    page.get_by_role("main").get_by_role("textbox").focus()
    for _ in range(3):
        page.keyboard.press("Shift+Tab")
    expect(message(page, "Ask me")).to_be_focused()
    expect(message(page, "Ask me").get_by_role("button", name="What it said before")).to_have_attribute(
        "aria-keyshortcuts", "h"
    )
    page.keyboard.press("h")
    expect(texts(page)).to_have_count(2)
    expect(texts(page).first).to_contain_text("Ask me")
    expect(texts(page).first).to_contain_text("now")
    expect(texts(page).last).to_contain_text("1234")
    page.get_by_role("button", name="Drop the earlier texts").click()
    page.get_by_role("dialog").last.get_by_role("button", name="Drop the earlier texts").click()
    expect(texts(page)).to_have_count(1)
    expect(page.get_by_text("1234")).to_have_count(0)
    expect(page.get_by_role("button", name="Drop the earlier texts")).to_be_hidden()


def test_who_may_not_read_it_is_not_offered_it(talk: Any, enter: Enter) -> None:
    said = talk.say(talk.ada, "one")
    edit(talk, talk.ada, said, "another one")
    page = enter(talk.server, GRACE)
    message(page, "another one").hover()
    bar = message(page, "another one").get_by_role("toolbar")
    expect(bar.get_by_role("button").first).to_be_visible()
    expect(bar.get_by_role("button", name="What it said before")).to_have_count(0)


@pytest.mark.slow
def test_where_everyone_reads_it_all_are_offered_it_and_nobody_else_drops_it(
    serve: Callable[..., Any], talk: Any, enter: Enter
) -> None:
    server = serve("everyone", chat={"editHistory": "everyone"})
    grace, ada = server.token(GRACE), server.token()
    with server.client(ada) as client:
        [channel] = client.get("/channels").json()["channels"]
        said = client.post(f"/channels/{channel['id']}/messages", json={"content": "one"}).json()["message"]
        client.put(f"/messages/{said['id']}", json={"content": "another one"})
    page = enter(server, GRACE)
    tool(page, "another one").click()
    expect(texts(page)).to_have_count(2)
    expect(page.get_by_role("button", name="Drop the earlier texts")).to_have_count(0)
    assert grace


@pytest.mark.slow
def test_nothing_is_found_by_axe(
    talk: Any, enter: Enter, look: dict[str, Any], accessible: Callable[[Page], None]
) -> None:
    said = talk.say(talk.ada, "one")
    edit(talk, talk.ada, said, "another one " * 40)
    page = enter(talk.server, **look)
    tool(page, "another one").click()
    expect(texts(page)).to_have_count(2)
    accessible(page)
