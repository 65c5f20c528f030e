"""A browser, and real servers for it to visit.

Every page a test opens is watched to its end.  An error of a script, a dialog of the
browser or anything that the page's policy refused fails the test, whatever else it looked at.  Without
Chromium the tests that need one are skipped, and say so.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import httpx2
import pytest
import trio
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Dialog, Page, expect

from teamchat.testing import ADMIN, PASSWORD, mailed
from tests import forks
from tests.harness import free_port

from .extensions import LEFT, bring, loose
from .rooms import Rooms

__all__ = ["bring", "loose"]

DEADLINE_MS = 15_000
GRACE = "grace@example.org"
RULES = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}
PHONE = {"viewport": {"width": 390, "height": 844}, "is_mobile": True, "has_touch": True}
LOOKS = [
    {"color_scheme": "light"},
    *(pytest.param(look, marks=pytest.mark.slow) for look in ({"color_scheme": "dark"}, PHONE)),
]
_LOADED = "(name) => performance.getEntriesByType('resource').some((one) => one.name.endsWith(name))"
# The browser tells of every answer that is no success; a test that provokes one looks at the page itself.
EXPECTED = ("Failed to load resource: ", "Service Worker registration blocked by Playwright")
expect.set_options(timeout=DEADLINE_MS)


@dataclass
class Running:
    """A server in a process of its own."""

    base: str
    directory: Path
    process: subprocess.Popen[str]

    def client(self, token: str = "") -> httpx2.Client:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        return httpx2.Client(base_url=self.base, headers=headers, timeout=30)

    def post(self, path: str, body: Any, token: str = "") -> Any:
        """Send a request that succeeds, and return its answer."""
        with self.client(token) as client:
            answer = client.post(path, json=body)
        assert answer.is_success, answer.text
        return answer.json()

    def token(self, email: str = ADMIN) -> str:
        """Sign in by dev-login and return the access token."""
        return str(self.post("/auth/dev-login", {"email": email})["token"])

    def admin_token(self) -> str:
        """Sign in by the admin's password and return the access token."""
        answer = self.post("/auth/password-login", {"email": ADMIN, "password": PASSWORD})
        return str(answer["accessToken"])

    def kill(self) -> None:
        """End the server as a power cut would."""
        self.process.kill()
        self.process.wait()
        if self.process.stdout is not None:
            self.process.stdout.close()

    def restart(self) -> None:
        """Start it again, at the same address, with what it had written."""
        self.process = _start(self.directory / "teamchat.json")

    def mailed(self, recipient: str, number: int = 1) -> str:
        """Wait until so many mails to `recipient` have been sent; return the link in the newest."""
        return trio.run(mailed, self.directory / "data" / "mails", recipient, number).link


@contextmanager
def serving(directory: Path, **sections: dict[str, Any]) -> Iterator[Running]:
    """Run a server in dev mode on a free port, with its data in `directory`; `sections` override."""
    port = free_port()
    base = f"http://127.0.0.1:{port}"
    settings: dict[str, dict[str, Any]] = {
        "auth": {"authMode": "dev", "isInviteRequired": False, "maxActiveSessions": 50, "appUrl": base},
        "chat": {"initialUser": {"userName": "Ada", "email": ADMIN, "password": PASSWORD}},
        "server": {"host": "127.0.0.1", "port": port},
        "storage": {"path": str(directory / "data")},
    }
    for name, keys in sections.items():
        settings[name] = settings.get(name, {}) | keys
    config = directory / "teamchat.json"
    config.write_text(json.dumps(settings))
    running = Running(base, directory, _start(config))
    try:
        yield running
    finally:
        running.kill()


def _start(config: Path) -> subprocess.Popen[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("TEAMCHAT_")}
    log = config.with_name("log")
    with log.open("w") as file:
        process = forks.serve(config, file, environment)
    assert process.stdout is not None
    if not any("ready on" in line for line in process.stdout):
        process.communicate()
        raise AssertionError(f"the server ended before it was ready: {log.read_text()}")
    return process


@cache
def _with_client_parts() -> dict[str, str]:
    """Return the folders of the installed plugins that bring a part of the web client, by name."""
    found = {}
    for plugin in entry_points(group="teamchat"):
        package = plugin.module.partition(".")[0]
        spec = find_spec(package)
        folders = (spec.submodule_search_locations if spec else None) or ()
        if plugin.name != "web" and any(Path(folder, "client", "main.js").exists() for folder in folders):
            found[plugin.name] = package.replace("_", "-")
    return found


def _parts_left_out(request: pytest.FixtureRequest) -> dict[str, dict[str, Any]]:
    """Return sections without the client's parts of other plugins than the tests' own.

    Each page would load some 140 files more. Modules about several parts say `WITH_PARTS = {"pins"}`, those
    about all that there is `WITH_ALL_PARTS = True`.
    """
    if getattr(request.module, "WITH_ALL_PARTS", False):
        return {}
    own, wanted = request.path.parent.parent.name, getattr(request.module, "WITH_PARTS", ())
    parts = _with_client_parts().items()
    return {"plugins": {"disabled": [name for name, folder in parts if folder != own and name not in wanted]}}


@pytest.fixture
def serve(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Callable[..., Running]]:
    """Start servers that end with the test."""
    with ExitStack() as stack:

        def start(name: str = "server", **sections: dict[str, Any]) -> Running:
            directory = tmp_path / name
            directory.mkdir(exist_ok=True)
            return stack.enter_context(serving(directory, **_parts_left_out(request) | sections))

        yield start


@pytest.fixture(scope="module")
def standing(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Iterator[Running]:
    """One server for all tests of a module that leave it as it was."""
    with serving(tmp_path_factory.mktemp("standing"), **_parts_left_out(request)) as running:
        yield running


@dataclass
class Watch:
    """What went wrong in the pages of a context."""

    wrong: list[str] = field(default_factory=list)

    def on(self, context: BrowserContext) -> None:
        context.on("console", self._console)
        context.on("dialog", self._dialog)
        context.on("weberror", lambda error: self.wrong.append(f"{error.error}"))

    def _console(self, message: ConsoleMessage) -> None:
        if message.type in {"error", "warning"} and not message.text.startswith(EXPECTED):
            self.wrong.append(f"{message.type}: {message.text}")

    def _dialog(self, dialog: Dialog) -> None:
        self.wrong.append(f"dialog: {dialog.message}")
        dialog.dismiss()


# A browser in which the greetings of the first minute were dismissed.
_GREETED = """try { localStorage["teamchat/greeted"] = '["admin","member"]'; } catch {}"""

# The browser without windows refuses all notifications; here it has not been asked yet, as any other.
_UNASKED = """if (globalThis.Notification?.permission === "denied") {
  Object.defineProperty(Notification, "permission", { value: "default", configurable: true });
}"""


@pytest.fixture
def visit(browser: Browser) -> Iterator[Callable[..., Page]]:
    """Open an address in a browser of its own (no cookies, nothing kept): `visit(url, locale="de-DE")`.

    The greetings were dismissed there, unless `greeted` is False. Tokens in an address are taken as if it had
    left for a provider, unless `left` is False. There is no service worker unless a test is about it
    (`service_workers="allow"`): once it is there, at no certain time, files pass by `page.route`.
    """
    watch = Watch()
    with ExitStack() as stack:

        def go(url: str, *, greeted: bool = True, left: bool = True, **options: Any) -> Page:
            usual = {"locale": "en-GB", "reduced_motion": "reduce", "service_workers": "block"}
            context = browser.new_context(**usual | options)
            stack.callback(context.close)
            context.set_default_timeout(DEADLINE_MS)
            watch.on(context)
            context.add_init_script(_UNASKED)
            if greeted:
                context.add_init_script(_GREETED)
            if left:
                context.add_init_script(LEFT)
            page = context.new_page()
            page.goto(url)
            return page

        yield go
    assert not watch.wrong


_BENCH = """async ([email, prefix, isCore]) => {
  const root = document.querySelector("script[src$='/main.js']").src.replace("main.js", "");
  const load = (path) => import(root + path);
  const { Kept } = await load("lib/kept.js");
  const { Http } = await load("api/http.js");
  const { Session } = await load("api/session.js");
  const { Api } = await load("api/api.js");
  const { Model } = await load("model/model.js");
  const http = new Http();
  const session = new Session(http, new Kept(prefix));
  const api = new Api(http, session);
  if (!session.isSignedIn) {
    const { token } = await http.send("POST", "/auth/dev-login", { body: { email } });
    session.begin({ accessToken: token });
  }
  const kept = new Kept(`${prefix}/${session.userId}`);
  const model = new Model({ api, http, session, config: {}, kept });
  window.bench = { load, Kept, Http, http, session, api, kept, model, heard: [] };
  model.on("message", (detail) => bench.heard.push(detail));
  const started = model.start();
  const ending = new AbortController();
  const { beginCounting } = await load("model/counting.js");
  beginCounting(model, ending.signal);
  if (navigator.onLine) await started;
  const { learnRights } = await load("model/rights.js");
  if (navigator.onLine && !isCore) await learnRights({ model, kept, signal: ending.signal });
  const [channel] = model.sortedChannels();
  Object.assign(bench, { channel, place: { kind: "channel", id: channel.id } });
  bench.timeline = model.timeline(bench.place);
  bench.contents = () => bench.timeline.items.map((item) => item.content);
  bench.timeline.on("reset", () => {}); // A view would.
  await bench.timeline.load();
}"""


class Bench:
    """A model without views, in a page that shows the sign-in: what `window.bench` holds."""

    def __init__(self, page: Page) -> None:
        self.page = page

    def open(self, email: str = ADMIN, prefix: str = "bench", *, is_core: bool = False) -> None:
        """Begin, or after a reload begin again; with `is_core` as at a server that announces nothing."""
        self.page.evaluate(_BENCH, [email, prefix, is_core])
        if not is_core and self.page.evaluate("navigator.onLine"):
            self.until("bench.model.readStates?.isKnown")

    def run(self, expression: str, argument: Any = None) -> Any:
        """Evaluate an expression, or call a function with an argument."""
        return self.page.evaluate(expression, argument)

    def until(self, expression: str, argument: Any = None) -> Any:
        """Wait until an expression is true, and return what it is then."""
        for _ in range(DEADLINE_MS // 50):
            if found := self.run(expression, argument):
                return found
            self.page.wait_for_timeout(50)
        raise AssertionError(f"never true: {expression}")

    def post(self, content: str) -> None:
        self.run("(content) => { bench.model.post(bench.place, { content }); }", content)

    def contents(self) -> list[str]:
        """The texts the channel's timeline shows."""
        return list(self.run("bench.contents()"))

    def tab(self, *, is_core: bool = False) -> Bench:
        """Another tab of the same browser."""
        page = self.page.context.new_page()
        page.goto(self.page.url)
        bench = Bench(page)
        bench.open(is_core=is_core)
        return bench


@pytest.fixture
def bench(visit: Callable[..., Page]) -> Callable[..., Bench]:
    """Open a model at a server: `bench(server)`."""

    def start(server: Running, email: str = ADMIN, *, is_core: bool = False, **options: Any) -> Bench:
        made = Bench(visit(server.base, **options))
        made.open(email, is_core=is_core)
        return made

    return start


@pytest.fixture
def enter(visit: Callable[..., Page]) -> Callable[..., Page]:
    """Open the chat as somebody: `enter(server, "grace@example.org", place)`, a place being "#/channel/…"."""

    def go(server: Running, email: str = ADMIN, place: str = "", **options: Any) -> Page:
        return visit(f"{server.base}/?access_token={server.token(email)}{place}", **options)

    return go


@pytest.fixture(params=LOOKS)
def look(request: pytest.FixtureRequest) -> dict[str, Any]:
    """Options of `visit` with which the parts of plugins are looked at: light, dark, and on a phone."""
    return dict(request.param)


@pytest.fixture
def accessible() -> Callable[[Page], None]:
    """Have axe find nothing on a page, and nothing wider than it."""

    def check(page: Page) -> None:
        found = Axe().run(page, options=RULES).response["violations"]
        assert not [(one["id"], one["nodes"][0]["html"]) for one in found]
        assert not page.evaluate("document.documentElement.scrollWidth > innerWidth")

    return check


@pytest.fixture
def until_loaded() -> Callable[[Page, str], None]:
    """Wait for a module that comes when it is wanted: `until_loaded(page, "/view/later.js")`."""

    def wait(page: Page, name: str) -> None:
        page.wait_for_function(_LOADED, arg=name)

    return wait


class Talk:
    """A server, and what people without a browser say there."""

    def __init__(self, server: Any) -> None:
        self.server = server
        self.ada, self.grace = server.token(), server.token(GRACE)
        with server.client(self.ada) as client:
            self.general = client.get("/channels").json()["channels"][0]["id"]

    def channel(self, name: str) -> str:
        return str(self.server.post("/channels", {"name": name}, self.ada)["channel"]["id"])

    def say(self, token: str, content: str, channel: str | None = None) -> str:
        path = f"/channels/{channel or self.general}/messages"
        return str(self.server.post(path, {"content": content}, token)["message"]["id"])

    def reply(self, token: str, parent: str, content: str) -> None:
        self.server.post(f"/messages/{parent}/thread", {"content": content}, token)

    def delete(self, path: str) -> None:
        with self.server.client(self.ada) as client:
            assert client.delete(path).is_success


@pytest.fixture
def talk(serve: Callable[..., Running]) -> Talk:
    return Talk(serve())


@pytest.fixture
def house(serve: Callable[..., Running]) -> Rooms:
    """Return a server of the test's own, with Grace and Linus beside its admin."""
    return Rooms(serve(), ("grace", "linus"))
