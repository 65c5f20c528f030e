"""Staying signed in: tokens are fresh, spent once, and shared by all tabs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, Route

from teamchat.testing import ADMIN, PASSWORD

Serve = Callable[..., Any]
Visit = Callable[..., Page]

SHORT = {"authMode": "password", "jwtExpirySeconds": 4}

_OPEN = """async (tokens) => {
  const root = document.querySelector("script[src$='/main.js']").src.replace("main.js", "");
  const { Kept } = await import(root + "lib/kept.js");
  const { Http } = await import(root + "api/http.js");
  const { Session } = await import(root + "api/session.js");
  const { Api } = await import(root + "api/api.js");
  const http = new Http();
  const session = new Session(http, new Kept("trial"));
  window.trial = { session, api: new Api(http, session), ended: [], began: 0 };
  session.on("ended", ({ reason }) => trial.ended.push(reason));
  session.on("began", () => trial.began++);
  if (tokens) session.begin(tokens);
}"""


class Trial:
    """A session without a model, in a page."""

    def __init__(self, page: Page, tokens: dict[str, str] | None) -> None:
        self.page = page
        page.evaluate(_OPEN, tokens)

    def run(self, expression: str) -> Any:
        return self.page.evaluate(expression)

    def until(self, expression: str) -> Any:
        for _ in range(300):
            if found := self.run(expression):
                return found
            self.page.wait_for_timeout(50)
        raise AssertionError(f"never true: {expression}")

    def tab(self) -> Trial:
        page = self.page.context.new_page()
        page.goto(self.page.url)
        return Trial(page, None)


def signed_in(server: Any) -> dict[str, str]:
    return dict(server.post("/auth/password-login", {"email": ADMIN, "password": PASSWORD}))


@pytest.fixture
def trial(serve: Serve, visit: Visit) -> Callable[..., Trial]:
    def start(**auth: Any) -> Trial:
        server = serve(auth=SHORT | auth)
        return Trial(visit(server.base), signed_in(server))

    return start


def refreshes(page: Page) -> list[str]:
    seen: list[str] = []
    page.context.on("request", lambda one: seen.append(one.method) if "/auth/refresh" in one.url else None)
    return seen


@pytest.mark.slow
def test_a_token_is_refreshed_before_it_expires_and_no_earlier(trial: Callable[..., Trial]) -> None:
    one = trial()
    seen = refreshes(one.page)
    first = one.run("trial.session.token()")
    assert one.run("trial.session.token()") == first
    assert not seen
    one.until(f"trial.session.token().then((token) => token !== '{first}')")
    # It changed while the first one would still have worked for a while.
    status = one.run(
        f"fetch('auth/me', {{headers: {{Authorization: 'Bearer {first}'}}}}).then((answer) => answer.status)"
    )
    assert status == 200
    assert len(seen) == 1
    assert one.run("trial.api.me().then((me) => me.userName)") == "Ada"


@pytest.mark.slow
def test_many_askers_in_two_tabs_spend_a_refresh_token_once(trial: Callable[..., Trial]) -> None:
    one = trial(jwtExpirySeconds=900)
    two = one.tab()
    seen = refreshes(one.page)
    first = one.run("trial.session.token()")
    one.run(
        """() => {
          const kept = JSON.parse(localStorage["trial/session"]);
          localStorage["trial/session"] = JSON.stringify({ ...kept, refreshAt: 0 });
        }"""
    )
    two.until(
        "JSON.parse(localStorage['trial/session']).refreshAt === 0"
    )  # Tabs may hear of it a moment later.
    for tab in (one, two):
        tab.run(
            """() => {
              trial.asked = Promise.all(Array.from({ length: 10 }, () => trial.session.token()));
            }"""
        )
    tokens = one.run("trial.asked") + two.run("trial.asked")
    assert len(set(tokens)) == 1
    assert tokens[0] != first
    assert len(seen) == 1


@pytest.mark.slow
def test_a_refresh_whose_answer_was_lost_is_asked_again(trial: Callable[..., Trial]) -> None:
    one = trial()
    lost: list[int] = []

    def lose(route: Route) -> None:
        if lost:
            route.continue_()
            return
        lost.append(route.fetch().status)
        route.abort("connectionreset")

    one.page.route("**/auth/refresh", lose)
    first = one.run("trial.session.token()")
    one.until(f"trial.session.token().then((token) => token !== '{first}')")
    assert lost == [200]
    assert one.run("trial.api.me().then((me) => me.userName)") == "Ada"
    assert one.run("trial.ended") == []


@pytest.mark.slow
def test_a_session_ended_elsewhere_ends_here_and_says_why(trial: Callable[..., Trial]) -> None:
    one = trial(jwtExpirySeconds=900)
    two = one.tab()
    one.run(
        "fetch('auth/sessions', {method: 'DELETE', headers: {Authorization: "
        "'Bearer ' + JSON.parse(localStorage['trial/session']).accessToken}})"
    )
    refused = one.run("trial.api.me().catch((error) => error.constructor.name)")
    assert refused == "SignedOut"
    assert one.run("[trial.session.isSignedIn, ...trial.ended]") == [False, "expired"]
    two.until("trial.ended[0] === 'elsewhere'")


@pytest.mark.slow
def test_an_unreachable_server_ends_no_session(serve: Serve, visit: Visit) -> None:
    server = serve(auth=SHORT)
    one = Trial(visit(server.base), signed_in(server))
    server.kill()
    failed = one.until("trial.session.token().then(() => '', (error) => error.name)")
    assert failed == "Unreachable"
    assert one.run("[trial.session.isSignedIn, trial.ended.length]") == [True, 0]
    server.restart()
    assert one.run("trial.api.me().then((me) => me.userName)") == "Ada"


@pytest.mark.slow
@pytest.mark.parametrize("status", [200, 403, 404])
def test_a_page_of_a_proxy_in_place_of_the_server_ends_no_session(
    trial: Callable[..., Trial], status: int
) -> None:
    one = trial(jwtExpirySeconds=2)
    page = {"status": status, "content_type": "text/html", "body": "<h1>Back soon</h1>"}
    one.page.route("**/auth/refresh", lambda route: route.fulfill(**page))
    failed = one.until("trial.session.token().then(() => '', (error) => error.name)")
    assert failed == "Unreachable"
    assert one.run("[trial.session.isSignedIn, trial.ended.length]") == [True, 0]
    one.page.unroute("**/auth/refresh")
    assert one.run("trial.api.me().then((me) => me.userName)") == "Ada"


@pytest.mark.slow
def test_signing_out_ends_the_session_at_the_server_and_in_every_tab(trial: Callable[..., Trial]) -> None:
    one = trial(jwtExpirySeconds=900)
    two = one.tab()
    token = one.run("trial.session.token()")
    one.run("trial.session.end()")
    assert one.run("trial.ended") == ["signed-out"]
    two.until("trial.ended[0] === 'elsewhere'")
    status = one.run(
        f"fetch('auth/me', {{headers: {{Authorization: 'Bearer {token}'}}}}).then((answer) => answer.status)"
    )
    assert status == 401
    assert one.run("Object.keys(localStorage).filter((key) => key.startsWith('trial/'))") == []


@pytest.mark.slow
def test_dev_mode_signs_in_again_by_itself(serve: Serve, visit: Visit) -> None:
    server = serve(auth={"authMode": "dev", "jwtExpirySeconds": 2})
    one = Trial(visit(server.base), {"accessToken": server.token()})
    first = one.run("trial.session.token()")
    one.until(f"trial.session.token().then((token) => token !== '{first}')")
    assert one.run("trial.api.me().then((me) => me.userName)") == "Ada"


@pytest.mark.slow
def test_who_was_removed_is_not_signed_in_again_by_their_email(serve: Serve, visit: Visit) -> None:
    server = serve(auth={"authMode": "dev", "isInviteRequired": False})
    one = Trial(visit(server.base), {"accessToken": server.token("grace@example.org")})
    grace = one.run("trial.api.me().then((me) => me.id)")
    with server.client(server.token()) as admin:
        assert admin.delete(f"/users/{grace}").is_success
        assert one.run("trial.api.me().catch((error) => error.constructor.name)") == "SignedOut"
        assert one.run("[trial.session.isSignedIn, ...trial.ended]") == [False, "expired"]
        emails = [user["email"] for user in admin.get("/users").json()["users"]]
    assert "grace@example.org" not in emails


@pytest.mark.slow
def test_a_session_that_ends_while_it_is_renewed_stays_ended(serve: Serve, visit: Visit) -> None:
    server = serve(auth={"authMode": "dev", "jwtExpirySeconds": 2})
    one = Trial(visit(server.base), {"accessToken": server.token()})
    held: list[Route] = []
    one.page.route("**/auth/dev-login", lambda route: held.append(route))
    one.run(
        """() => {
          const ask = () => trial.session.token().catch((error) => (trial.failed = error.constructor.name));
          trial.timer = setInterval(ask, 50);
        }"""
    )
    for _ in range(300):
        if held:
            break
        one.page.wait_for_timeout(50)
    one.run("clearInterval(trial.timer)")
    one.run("trial.session.forget()")
    held[0].continue_()
    one.until("trial.failed === 'SignedOut'")
    assert one.run("[trial.session.isSignedIn, ...trial.ended]") == [False, "signed-out"]


def test_a_wrong_answer_is_an_error_with_status_sentence_and_patience(trial: Callable[..., Trial]) -> None:
    one = trial(jwtExpirySeconds=900)
    assert one.run(
        """trial.api.send("POST", "/channels", { body: { name: "" } })
          .catch(({ name, status, message, isPassing }) => [name, status, isPassing])"""
    ) == ["ApiError", 400, False]
    one.page.route(
        "**/channels", lambda route: route.fulfill(status=503, headers={"Retry-After": "7"}, body="<h1>")
    )
    assert one.run(
        "trial.api.channels().catch(({ status, retryAfter, isPassing }) => [status, retryAfter, isPassing])"
    ) == [503, 7, True]
