"""Notices while the chat is closed, in a browser whose service worker is given pushes by the debugger."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, CDPSession, Page, expect

Enter = Callable[..., Page]
GRACE = "grace@example.org"
PUSH = {"contact": "mailto:admin@example.org", "allowedHosts": ["127.0.0.1"]}
KEYS = {
    "p256dh": "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4",
    "auth": "BTBZMqHH6r4Tts7J_aSIgg",
}
# Real push services can't be reached from here, so the browser's own subscribing is stood in for.
SUBSCRIBING = """(keys) => {
  Notification.requestPermission = async () => "granted";
  Object.defineProperty(Notification, "permission", { get: () => "granted" });
  let present = null;
  const made = {
    endpoint: "http://127.0.0.1:9/push/1",
    options: {},
    toJSON: () => ({ endpoint: made.endpoint, keys }),
    unsubscribe: async () => ((present = null), true),
  };
  PushManager.prototype.getSubscription = async () => present;
  PushManager.prototype.subscribe = async ({ userVisibleOnly, applicationServerKey }) => {
    if (!userVisibleOnly || applicationServerKey.length !== 65) throw new TypeError("asked otherwise");
    return (present = made);
  };
}"""


def worker(page: Page) -> tuple[CDPSession, Callable[[dict[str, Any] | str], None]]:
    """Return what delivers pushes to the page's service worker."""
    session = page.context.new_cdp_session(page)
    registrations: list[str] = []
    session.on(
        "ServiceWorker.workerRegistrationUpdated",
        lambda told: registrations.extend(one["registrationId"] for one in told["registrations"]),
    )
    session.send("ServiceWorker.enable")
    controlled(page)
    while not registrations:
        page.wait_for_timeout(50)
    origin = page.evaluate("location.origin")

    def deliver(push: dict[str, Any] | str) -> None:
        data = push if isinstance(push, str) else json.dumps(push)
        about = {"origin": origin, "registrationId": registrations[0], "data": data}
        session.send("ServiceWorker.deliverPushMessage", about)

    return session, deliver


def controlled(page: Page) -> None:
    """Wait until the service worker is there. The page's policy lets no script be made of a text."""
    page.evaluate("""async () => {
      await navigator.serviceWorker.ready;
      if (navigator.serviceWorker.controller) return;
      await new Promise((resolve) => navigator.serviceWorker.addEventListener("controllerchange", resolve));
    }""")


def shown(page: Page) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = page.evaluate(
        """async () => (await (await navigator.serviceWorker.ready).getNotifications()).map(
          ({ title, body, tag, silent, data, actions }) =>
            ({ title, body, tag, silent, data, actions: actions.length }))"""
    )
    return found


def until(page: Page, is_so: Callable[[list[dict[str, Any]]], bool]) -> list[dict[str, Any]]:
    """Wait until the notices are so, and return them."""
    for _ in range(300):
        if is_so(found := shown(page)):
            return found
        page.wait_for_timeout(100)
    raise AssertionError(f"the notices are {found}")


def a_push(page: Page, message: str = "1", **more: Any) -> dict[str, Any]:
    origin = page.evaluate("location.origin")
    push = {"v": 1, "kind": "direct", "placeId": "dm:1", "title": "Grace", "body": "hello", "badge": 2}
    return {**push, "messageId": message, "tag": "dm:1", "url": f"{origin}/#/messages/{message}", **more}


@pytest.fixture
def showing(browser: Browser) -> Iterator[Browser]:
    """A Chromium that shows notices, which the one without any window does not."""
    found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if found is None:
        pytest.skip("there is no Chromium on this machine that shows notices")
    running = browser.browser_type.launch(executable_path=found, args=["--no-sandbox"])
    yield running
    running.close()


@pytest.mark.slow
def test_a_push_shows_a_notice_and_a_second_of_the_same_message_makes_no_sound(
    serve: Callable[..., Any], showing: Browser
) -> None:
    server = serve(push=PUSH)
    page = showing.new_context(locale="en-GB", permissions=["notifications"]).new_page()
    page.goto(server.base)
    _, deliver = worker(page)
    deliver(a_push(page))
    [notice] = until(page, lambda notices: len(notices) == 1)
    assert (notice["title"], notice["body"], notice["tag"]) == ("Grace", "hello", "dm:1")
    assert notice["data"] == {"hash": "#/messages/1", "messageId": "1", "placeId": "dm:1"}
    assert notice["actions"] == 2
    assert not notice["silent"]
    deliver(a_push(page))
    until(page, lambda notices: len(notices) == 1 and notices[0]["silent"])
    deliver(a_push(page, "2", tag="dm:2", body="another"))
    assert [one["body"] for one in until(page, lambda notices: len(notices) == 2)] == ["hello", "another"]


@pytest.mark.slow
def test_a_push_that_can_not_be_read_shows_a_notice_too(serve: Callable[..., Any], showing: Browser) -> None:
    server = serve(push=PUSH)
    page = showing.new_context(permissions=["notifications"]).new_page()
    page.goto(server.base)
    _, deliver = worker(page)
    deliver("no JSON")
    [notice] = until(page, lambda notices: len(notices) == 1)
    assert (notice["title"], notice["body"], notice["tag"]) == ("Teamchat", "", "teamchat")


def looking_away(server: Any, showing: Browser) -> Page:
    """Open the chat as its admin with notifications on, in a tab that nobody looks at."""
    page = showing.new_context(locale="en-GB", permissions=["notifications"]).new_page()
    page.add_init_script("document.hasFocus = () => false")
    token = server.token()
    with server.client(token) as client:
        user = client.get("/auth/me").json()["user"]["id"]
    page.add_init_script(f"localStorage['teamchat/{user}/notify'] = 'true'")
    page.goto(f"{server.base}/?access_token={token}")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("main").get_by_role("textbox").first).to_be_visible()
    return page


def say(server: Any, content: str) -> str:
    """Have Grace post, and return the message's id."""
    token = server.token(GRACE)
    with server.client(token) as client:
        channel = client.get("/channels").json()["channels"][0]["id"]
    posted = server.post(f"/channels/{channel}/messages", {"content": content}, token)
    return str(posted["message"]["id"])


@pytest.mark.slow
def test_of_a_message_that_the_page_has_told_of_a_push_shows_no_second_notice(
    serve: Callable[..., Any], showing: Browser
) -> None:
    server = serve(push=PUSH)
    page = looking_away(server, showing)
    _, deliver = worker(page)
    message = say(server, "@Ada are you there?")
    [own] = until(page, lambda notices: len(notices) == 1)
    assert own["body"] == "@Ada are you there?"
    deliver(a_push(page, message, body="by push"))
    [notice] = until(page, lambda notices: notices[0]["body"] == "by push")
    assert notice["silent"]


@pytest.mark.slow
def test_of_a_message_that_a_push_has_told_of_the_page_shows_no_second_notice(
    serve: Callable[..., Any], showing: Browser
) -> None:
    server = serve(push=PUSH)
    page = looking_away(server, showing)
    _, deliver = worker(page)
    page.context.set_offline(True)
    message = say(server, "@Ada are you there?")
    deliver(a_push(page, message, body="by push"))
    [notice] = until(page, lambda notices: len(notices) == 1)
    assert not notice["silent"], "a tab in the background that has told of nothing silences nothing"
    page.context.set_offline(False)
    expect(page.get_by_text("are you there?")).to_be_visible()
    page.wait_for_timeout(1000)
    assert [one["body"] for one in shown(page)] == ["by push"]


def end_all(server: Any) -> None:
    """End what the admin's devices get."""
    with server.client(server.token()) as client:
        for one in client.get("/push/subscriptions").json()["subscriptions"]:
            assert client.delete(f"/push/subscriptions/{one['id']}").is_success


def test_a_device_is_turned_on_listed_tried_and_removed(serve: Callable[..., Any], enter: Enter) -> None:
    server = serve(push=PUSH)
    page = enter(server, service_workers="allow", permissions=["notifications"])
    page.evaluate(SUBSCRIBING, KEYS)
    controlled(page)
    page.get_by_role("button", name="Settings", exact=True).click()
    dialog = page.get_by_role("dialog", name="Settings")
    dialog.get_by_role("button", name="Notices while closed").click()
    box = dialog.get_by_role("checkbox", name="Notify on this device")
    expect(box).to_be_visible()
    expect(dialog.get_by_text("You can be signed in on 50 devices:")).to_be_visible()
    if box.is_checked():  # It was on from the start: what was allowed before is made anew by itself.
        box.click()
        expect(dialog.get_by_role("status").filter(has_text="no notices any more")).to_be_visible()
    expect(dialog.get_by_text("No device gets notices")).to_be_visible()
    box.click()
    expect(dialog.get_by_role("status").filter(has_text="This device gets notices.")).to_be_visible()
    row = dialog.get_by_role("list", name="Devices").get_by_role("listitem")
    expect(row).to_contain_text("this device")
    expect(box).to_be_checked()
    row.get_by_role("button", name="Send a notice to").click()
    expect(page.get_by_text("The push service can't be reached").first).to_be_visible()
    expect(row).to_contain_text("The last one failed")
    row.get_by_role("button", name="any more").click()
    expect(dialog.get_by_text("No device gets notices")).to_be_visible()
    expect(box).not_to_be_checked()
    box.click()
    expect(row).to_contain_text("this device")
    end_all(server)  # as its push service or another device does
    box.click()
    expect(dialog.get_by_role("status").filter(has_text="no notices any more")).to_be_visible()
    expect(dialog.get_by_text("No device gets notices")).to_be_visible()
