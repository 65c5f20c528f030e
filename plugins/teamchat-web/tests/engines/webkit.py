"""WebKitGTK, Safari's engine, by WebDriver (the W3C's, over HTTP), in a MiniBrowser on a screen of its own.

Debian's `webkit2gtk-driver` brings the driver and the browser, `xvfb` the screen.
"""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2

from tests.harness import free_port

from .page import DEADLINE, Page, Started, key_actions, wait_for

DRIVER = shutil.which("WebKitWebDriver")
SCREEN = shutil.which("Xvfb")
MINI_BROWSER = next(Path("/usr/lib").glob("*/webkit2gtk-4.1/MiniBrowser"), None)
ELEMENT = "element-6066-11e4-a52e-4f735466cecf"  # the name WebDriver gives to references
SIZE = {"width": 1280, "height": 800}


class WebKit(Started):
    name = "webkit"

    def __init__(self, driver: httpx2.Client, said: Path) -> None:
        self._driver = driver
        self._said = said
        self._session: str | None = None

    @staticmethod
    def missing() -> str | None:
        if DRIVER and SCREEN and MINI_BROWSER:
            return None
        return "there is no WebKit on this machine (webkit2gtk-driver, xvfb)"

    @classmethod
    @contextmanager
    def started(cls, home: Path) -> Iterator[WebKit]:
        said, port = home / "said", free_port()
        with _screen() as display, said.open("w") as file:
            process = subprocess.Popen(
                [str(DRIVER), f"--port={port}"],
                env={"DISPLAY": display, "HOME": str(home), "XDG_RUNTIME_DIR": str(home), "LANG": "C.UTF-8"},
                stdout=file,
                stderr=subprocess.STDOUT,
            )
            try:
                with httpx2.Client(base_url=f"http://127.0.0.1:{port}", timeout=DEADLINE) as driver:
                    browser = cls(driver, said)
                    wait_for(browser._is_ready, "WebKitWebDriver")
                    yield browser
                    browser._end()
            finally:
                process.kill()
                process.wait()

    def page(self, url: str) -> Page:
        self._end()
        options = {
            "binary": str(MINI_BROWSER),
            "args": ["--automation", "--enable-write-console-messages-to-stdout=true"],
        }
        capabilities = {"alwaysMatch": {"webkitgtk:browserOptions": options}}
        self._session = self.ask("POST", "/session", capabilities=capabilities)["sessionId"]
        page = _Page(self, f"/session/{self._session}")
        page.ask("POST", "/window/rect", **SIZE)
        page.ask("POST", "/url", url=url)
        return page

    def ask(self, method: str, path: str, **body: Any) -> Any:
        """Send a command and return its value."""
        answer = self._driver.request(method, path, json=body if method == "POST" else None)
        assert answer.is_success, answer.text
        return answer.json()["value"]

    def wrong(self) -> list[str]:
        said = self._said.read_text(errors="replace").splitlines()
        return [line for line in said if line.startswith("CONSOLE") and " ERROR " in line]

    def _is_ready(self) -> bool:
        try:
            return bool(self.ask("GET", "/status")["ready"])
        except httpx2.TransportError:
            return False

    def _end(self) -> None:
        """One session at a time: the driver has no more."""
        if self._session is not None:
            self.ask("DELETE", f"/session/{self._session}")
        self._session = None


class _Page(Page):
    def __init__(self, browser: WebKit, path: str) -> None:
        self._browser = browser
        self._path = path

    def ask(self, method: str, path: str, **body: Any) -> Any:
        return self._browser.ask(method, self._path + path, **body)

    def evaluate(self, expression: str) -> Any:
        script = f"return (async () => JSON.stringify(await ({expression})))()"
        return json.loads(self.ask("POST", "/execute/sync", script=script, args=[]) or "null")

    def type(self, keys: str) -> None:
        self.ask("POST", "/actions", actions=key_actions(keys))

    def choose(self, selector: str, file: Path) -> None:
        self.there(selector)
        found = self.ask("POST", "/element", using="css selector", value=selector)[ELEMENT]
        self.ask("POST", f"/element/{found}/value", text=str(file))

    def reload(self) -> None:
        self.ask("POST", "/refresh")

    def screenshot(self) -> bytes:
        return base64.b64decode(self.ask("GET", "/screenshot"))


@contextmanager
def _screen() -> Iterator[str]:
    """Run an X server that shows nothing to anybody; its name, as `DISPLAY` wants it."""
    command = [str(SCREEN), "-displayfd", "1", "-screen", "0", "1400x1000x24", "-nolisten", "tcp"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert process.stdout is not None
    try:
        yield f":{process.stdout.readline().strip()}"
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
