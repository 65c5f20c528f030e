"""How the web client keeps up, in Chromium: typing while messages come, and reading far back.

``python -m benchmarks.web_client`` measures this checkout; with ``--against DIRECTORY``, another checkout of
teamchat, both in turns, for the machine may be busier one minute than the next. From key to frame is the time
from the moment the browser takes a key to the end of the frame that shows it.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import httpx2
from playwright.sync_api import Browser, CDPSession, Page, Route, sync_playwright

HERE = Path(__file__).parent.parent
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
PAGE = 50  # messages
KEYS_PER_SECOND = 8
HAS_LEFT = "localStorage['teamchat/left'] = Date.now();"  # As if for a provider: the token is taken at once.
WATCH_KEYS = """() => {
  window.latencies = [];
  addEventListener("keydown", ({ timeStamp }) => requestAnimationFrame(() => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => latencies.push(performance.now() - timeStamp);
    port2.postMessage(null);
  }), true);
}"""
# Scrolls up until so many messages were asked for; scrolling is what loads them.
READ_BACK = """async (pages) => {
  const scroller = document.querySelector("main .timeline");
  const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
  while (window.pagesAsked < pages) {
    scroller.scrollTop = 1000;
    await frame();
  }
  await frame();
}"""
COUNT_PAGES = """() => {
  window.pagesAsked = 0;
  const { fetch } = window;
  window.fetch = (request, ...more) => {
    if (String(request.url ?? request).includes("before=")) window.pagesAsked++;
    return fetch(request, ...more);
  };
}"""
COME_BACK = """async (hash) => {
  const frame = () => new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
  const away = location.hash;
  location.hash = "#/channel/" + hash;
  await new Promise((resolve) => setTimeout(resolve, 500));
  const began = performance.now();
  location.hash = away;
  await new Promise((resolve) => addEventListener("hashchange", resolve, { once: true }));
  while (!document.querySelector("main article")) await frame();
  await frame();
  return performance.now() - began;
}"""


def main() -> None:
    """Measure each checkout in turns and print a line per round, and the ratios of the medians."""
    given = _arguments()
    checkouts = {"this": HERE} | ({"other": given.against} if given.against else {})
    found: dict[str, dict[str, list[float]]] = {name: {} for name in checkouts}
    with sync_playwright() as playwright:
        for number in range(given.rounds):
            for name, checkout in checkouts.items():
                browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
                with serving(checkout) as base:
                    figures = measure(browser, base, given)
                browser.close()
                print(f"round {number + 1}, {name}: " + told(figures), flush=True)
                for what, value in figures.items():
                    found[name].setdefault(what, []).append(value)
    medians = {
        name: {what: statistics.median(all_) for what, all_ in by.items()} for name, by in found.items()
    }
    for name, by in medians.items():
        print(f"median, {name}: " + told(by))
    if given.against:
        ratios = {what: medians["other"][what] / value for what, value in medians["this"].items() if value}
        print("other / this: " + ", ".join(f"{what} {ratio:.1f}" for what, ratio in ratios.items()))


def measure(browser: Browser, base: str, given: argparse.Namespace) -> dict[str, float]:
    """Return the figures by name; each name tells its unit."""
    with httpx2.Client(base_url=base, timeout=30) as client:
        reader, writer = (_token(client, name) for name in ("ada", "grace"))
        client.headers["Authorization"] = f"Bearer {writer}"
        general = client.get("/channels").json()["channels"][0]["id"]
        long = _channel(client, "long", _token(client, "admin"))
        figures = _empty_page(browser, given.keys)
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        page.route(f"**/channels/{long}/messages?*", lambda route: answer(route, given.loaded))
        page.add_init_script(HAS_LEFT)
        page.goto(f"{base}/?access_token={reader}#/channel/{general}")
        page.wait_for_selector("main textarea")
        page.evaluate(WATCH_KEYS)
        figures |= _typed(page, "quiet", given.keys)
        with posting(base, writer, general, given.rate):
            figures |= _typed(page, "busy", given.keys)
        page.evaluate(COUNT_PAGES)
        page.evaluate("(id) => { location.hash = '#/channel/' + id; }", long)
        page.wait_for_selector("main article")
        page.evaluate(READ_BACK, given.loaded // PAGE - 1)
        figures |= _memory(browser)
        page.evaluate("() => document.querySelector('.pill').click()")
        with posting(base, writer, long, given.rate):
            figures |= _typed(page, f"busy, {given.loaded} loaded", given.keys)
        page.evaluate("() => { document.querySelector('main .timeline').scrollTop -= 3000; }")
        figures["coming back ms"] = float(page.evaluate(COME_BACK, general))
        return figures


def _empty_page(browser: Browser, keys: int) -> dict[str, float]:
    """What this machine takes for a page with a field and nothing else: no client can be quicker."""
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    page.set_content("<main><textarea></textarea></main>")
    page.evaluate(WATCH_KEYS)
    figures = _typed(page, "empty page", keys)
    page.context.close()
    return figures


def _typed(page: Page, when: str, keys: int) -> dict[str, float]:
    page.evaluate("() => { latencies.length = 0; document.querySelector('main textarea').focus(); }")
    for number in range(keys):
        page.keyboard.press("abcdefgh "[number % 9])
        time.sleep(1 / KEYS_PER_SECOND)
    page.wait_for_function("(keys) => latencies.length >= keys", arg=keys)
    latencies = sorted(page.evaluate("latencies"))
    page.evaluate("() => { document.querySelector('main textarea').value = ''; }")
    return {
        f"{when} median ms": latencies[len(latencies) // 2],
        f"{when} p95 ms": latencies[len(latencies) * 95 // 100],
    }


def _memory(browser: Browser) -> dict[str, float]:
    """The renderer's memory once what is garbage was collected: what only it holds, and all of it."""
    page = browser.contexts[0].pages[0]
    page.context.new_cdp_session(page).send("HeapProfiler.collectGarbage")
    session: CDPSession = browser.new_browser_cdp_session()
    processes = session.send("SystemInfo.getProcessInfo")["processInfo"]
    sizes = [_sizes(int(one["id"])) for one in processes if one["type"] == "renderer"]
    own, resident = max(sizes)
    return {"renderer's own MB": own, "renderer's resident MB": resident}


def _sizes(process: int) -> tuple[float, float]:
    text = Path(f"/proc/{process}/smaps_rollup").read_text()
    fields = {name: int(size) for name, size in re.findall(r"(\w+): +(\d+) kB", text)}
    return (fields["Private_Clean"] + fields["Private_Dirty"]) / 1024, fields["Rss"] / 1024


@contextmanager
def posting(base: str, token: str, channel: str, rate: float) -> Iterator[None]:
    """Post so many messages a second, from another thread."""
    over = threading.Event()

    def post() -> None:
        with httpx2.Client(base_url=base, headers={"Authorization": f"Bearer {token}"}, timeout=30) as client:
            number, begun = 0, time.monotonic()
            while not over.wait(max(0.0, begun + number / rate - time.monotonic())):
                text = f"Message **{number}** of many" + " and so on" * (number * 7 % 20)
                client.post(f"/channels/{channel}/messages", json={"content": text}).raise_for_status()
                number += 1

    thread = threading.Thread(target=post)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


@contextmanager
def serving(checkout: Path) -> Iterator[str]:
    """Run a server with the client of a checkout."""
    with tempfile.TemporaryDirectory() as directory:
        port = _free_port()
        base = f"http://127.0.0.1:{port}"
        config = Path(directory) / "teamchat.json"
        settings = {
            "auth": {"authMode": "dev", "isInviteRequired": False, "appUrl": base},
            "chat": {"initialUser": {"userName": "admin", "email": "admin@example.org"}},
            "server": {"host": "127.0.0.1", "port": port},
            "storage": {"path": str(Path(directory) / "data")},
        }
        config.write_text(json.dumps(settings))
        process = subprocess.Popen(
            [sys.executable, "-m", "teamchat", "serve", "--config", str(config)],
            env=os.environ | {"PYTHONPATH": str(checkout / "plugins" / "teamchat-web")},
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        try:
            assert process.stdout is not None
            if not any("ready on" in line for line in process.stdout):
                raise RuntimeError("the server ended before it was ready")
            yield base
        finally:
            process.kill()
            process.communicate()


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as unused:
        return int(unused.getsockname()[1])


def answer(route: Route, count: int) -> None:
    """Answer a page of a conversation of `count` messages, without a server behind it."""
    [before] = parse_qs(urlsplit(route.request.url).query).get("before", [f"{count:06x}"])
    end = int(before, 16)
    page = [
        {
            "id": f"{number:06x}",
            "channelId": "any",
            "author": {"id": f"user-{number // 3 % 7}", "userName": f"Person {number // 3 % 7}"},
            "content": f"Message **{number}**" + " and so on" * (number * 7 % 60),
            "createdAt": 1_700_000_000_000 + number * 60_000,
            "updatedAt": None,
            "reactions": {"👍": ["user-1", "user-2"]} if number % 9 == 0 else {},
        }
        for number in range(max(0, end - PAGE), end)
    ]
    route.fulfill(status=200, content_type="application/json", body=json.dumps({"messages": page}))


def _token(client: httpx2.Client, name: str) -> str:
    answer = client.post("/auth/dev-login", json={"email": f"{name}@example.org"})
    return str(answer.raise_for_status().json()["token"])


def _channel(client: httpx2.Client, name: str, token: str) -> str:
    headers = {"Authorization": f"Bearer {token}"}
    answer = client.post("/channels", json={"name": name}, headers=headers)
    return str(answer.raise_for_status().json()["channel"]["id"])


def told(figures: dict[str, float]) -> str:
    """Figures as one line."""
    return ", ".join(f"{what} {value:.0f}" for what, value in figures.items())


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.web_client", description=__doc__)
    parser.add_argument("--against", type=Path, help="another checkout, measured in turns with this one")
    parser.add_argument("--rounds", type=int, default=3, help="default %(default)s")
    parser.add_argument("--keys", type=int, default=80, help="keys typed each time (default %(default)s)")
    parser.add_argument("--rate", type=float, default=20, help="messages a second (default %(default)s)")
    parser.add_argument("--loaded", type=int, default=10_000, help="messages read back (default %(default)s)")
    return parser.parse_args()


if __name__ == "__main__":
    main()
