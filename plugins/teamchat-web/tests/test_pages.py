"""The client over HTTP: its addresses, headers and sizes, below a path, and from another origin."""

from __future__ import annotations

import contextlib
import gzip
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from functools import partial
from http.client import HTTPConnection, HTTPException
from http.server import BaseHTTPRequestHandler, SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx2
import pytest
from playwright.sync_api import Page, expect
from teamchat_web.site import CLIENT, build, first_modules, slim, slim_script, slim_style, static_imports

from teamchat.testing import ADMIN
from tests.harness import free_port

WITH_ALL_PARTS = True

Serve = Callable[..., Any]
Visit = Callable[..., Page]

FIRST_VIEW_BYTES = 150_000
# Strings and regular expressions of JavaScript, as far as they stand in one line.
QUOTED = re.compile(r'(?<=[=(,?:] )/(?:\\.|[^/])+/|(?<=\()/(?:\\.|[^/])+/|"(?:\\.|[^"])*"')
SOURCES = {path.relative_to(CLIENT).as_posix(): path.read_text() for path in sorted(CLIENT.rglob("*.js"))}


@pytest.fixture
def site(standing: Any) -> Iterator[httpx2.Client]:
    """A client that takes answers as they are."""
    with httpx2.Client(base_url=standing.base, headers={"Accept-Encoding": "identity"}) as client:
        yield client


def linked(site: httpx2.Client) -> list[str]:
    return re.findall(r'(?:src|href)="(client/[^"]+)"', site.get("/").text)


def test_the_index_allows_nothing_but_its_own_origin(site: httpx2.Client) -> None:
    headers = site.get("/").headers
    assert headers["content-type"] == "text/html; charset=utf-8"
    assert headers["cache-control"] == "no-cache"
    policy = dict(part.strip().split(" ", 1) for part in headers["content-security-policy"].split(";"))
    assert policy["default-src"] == "'none'"
    assert (
        policy["script-src"]
        == policy["style-src"]
        == policy["connect-src"]
        == policy["media-src"]
        == "'self'"
    )
    assert policy["require-trusted-types-for"] == "'script'"
    assert policy["trusted-types"] == "teamchat"
    assert policy["frame-ancestors"] == policy["base-uri"] == policy["form-action"] == "'none'"
    assert headers["cross-origin-opener-policy"] == "same-origin"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["x-content-type-options"] == "nosniff"
    assert "camera=()" in headers["permissions-policy"]


def test_the_index_has_nothing_inline_and_nothing_from_elsewhere(site: httpx2.Client) -> None:
    index = site.get("/").text
    assert "{{" not in index
    assert not re.findall(r"<style|\sstyle=|\son[a-z]+=|<script>", index)
    assert not re.findall(r'(?:src|href)="(?:[a-z]+:|/)', index)


def test_everything_the_index_names_is_there_for_ever_with_its_type(site: httpx2.Client) -> None:
    types = {".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8"}
    types |= {".svg": "image/svg+xml", ".png": "image/png"}
    names = linked(site)
    assert len({name.split("/")[1] for name in names}) == 1
    for name in names:
        answer = site.get(f"/{name}")
        assert answer.status_code == 200, name
        assert answer.headers["content-type"] == types[Path(name).suffix]
        assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"


def test_manifest_and_worker_are_asked_for_anew_and_know_the_version(site: httpx2.Client) -> None:
    digest = linked(site)[0].split("/")[1]
    manifest = site.get("/manifest.webmanifest")
    assert manifest.headers["content-type"] == "application/manifest+json"
    icons = manifest.json()["icons"]
    assert {icon["sizes"] for icon in icons} >= {"192x192", "512x512"}
    assert "maskable" in {icon.get("purpose") for icon in icons}
    for icon in icons:
        assert site.get(f"/{icon['src']}").headers["content-type"] == icon["type"]
    worker = site.get("/sw.js")
    assert digest in worker.text
    assert "{{" not in worker.text
    for page in (manifest, worker):
        assert page.headers["cache-control"] == "no-cache"


def test_clients_that_can_are_sent_gzip(site: httpx2.Client) -> None:
    for path in ("/", f"/{linked(site)[-1]}"):
        plain = site.get(path)
        with site.stream("GET", path, headers={"Accept-Encoding": "br, gzip"}) as packed:
            raw = b"".join(packed.iter_raw())
        assert packed.headers["content-encoding"] == "gzip"
        assert "accept-encoding" in packed.headers["vary"].lower()
        assert gzip.decompress(raw) == plain.content
        assert len(raw) < len(plain.content)
        assert "content-encoding" not in plain.headers
        assert packed.headers["etag"] != plain.headers["etag"]
        for accepted in ("gzip;q=0.5, identity", "gzip;q=0", "br"):
            other = site.get(path, headers={"Accept-Encoding": accepted})
            assert other.headers["etag"] == plain.headers["etag"]


def test_each_coding_is_known_by_its_own_etag(site: httpx2.Client) -> None:
    for path in ("/", f"/{linked(site)[-1]}"):
        tags = {
            coding: site.head(path, headers={"Accept-Encoding": coding}).headers["etag"]
            for coding in ("identity", "gzip")
        }
        for coding, tag in tags.items():
            for accepted in tags:
                headers = {"Accept-Encoding": accepted, "If-None-Match": tag}
                answer = site.get(path, headers=headers)
                assert answer.status_code == (304 if accepted == coding else 200)
                assert answer.headers["etag"] == tags[accepted]
                assert "Accept-Encoding" in answer.headers.get_list("vary")


def test_a_start_waits_for_no_file_to_be_made() -> None:
    site = build(CLIENT)
    assert not any(vars(file) for file in (*site.pages.values(), *site.files.values()))


def test_what_a_client_has_is_not_sent_again(site: httpx2.Client) -> None:
    for path in ("/", "/sw.js", f"/{linked(site)[0]}"):
        tag = site.get(path).headers["etag"]
        again = site.get(path, headers={"If-None-Match": f'"other", {tag}'})
        assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", tag)
        assert site.get(path, headers={"If-None-Match": '"other"'}).status_code == 200


def test_head_answers_like_get_without_the_body(site: httpx2.Client) -> None:
    for path in ("/", "/manifest.webmanifest", f"/{linked(site)[0]}"):
        got, head = site.get(path), site.head(path)
        assert head.status_code == 200
        assert head.content == b""
        assert head.headers["content-length"] == str(len(got.content))
        assert head.headers["etag"] == got.headers["etag"]


@pytest.mark.parametrize(
    "path", ["main.js", "../site.py", "%2e%2e/site.py", "lib/nothing.js", "index.html", ""]
)
def test_what_is_not_there_is_told_in_the_one_shape(site: httpx2.Client, path: str) -> None:
    digest = linked(site)[0].split("/")[1]
    version = "0" * 12 if path == "main.js" else digest
    answer = site.get(f"/client/{version}/{path}")
    assert answer.status_code == 404
    assert set(answer.json()) == {"error"}
    assert site.post("/").status_code == 405


def test_every_change_changes_every_address(tmp_path: Path) -> None:
    (tmp_path / "manifest.webmanifest").write_text('{"start_url": "."}')
    for name in ("index.html", "sw.js", "main.js"):
        (tmp_path / name).write_text('<a href="client/{{digest}}/main.js">')
    before = build(tmp_path)
    (tmp_path / "main.js").write_text("// another")
    after = build(tmp_path)
    assert before.digest != after.digest
    assert after.digest.encode() in after.pages["index.html"].body
    assert build(tmp_path) == after


def test_what_goes_out_without_comments_means_the_same() -> None:
    assert slim("  a; // b\n  // c\n/** d\n * e */\n\n  f\n") == "a;\n\n\n\n\nf\n"
    assert slim("  a = ' // b';\n") == "a = ' // b';\n"
    assert slim_script("  if (a) { b = c ? [d, e] : f => g - -h; }\n") == "if(a){b=c?[d,e]:f=>g - -h;}\n"
    assert slim_script("a = ' = ';\nb = c / d;\n") == "a = ' = ';\nb = c / d;\n"
    assert slim_script('a = b ? "c = \\" d" : " // ";\n') == 'a=b?"c = \\" d":" // ";\n'
    assert slim_script('a = "b" + `c = d`;\ne = "f\n') == 'a="b"+`c = d`;\ne = "f\n'
    assert slim_script("a = b + c - d++ + e * f;\n") == "a=b+c-d++ + e*f;\n"
    assert slim_script("a = `b ${c ? `d = e` : f}`;\n") == "a = `b ${c ? `d = e` : f}`;\n"
    assert slim_script('import { a } from "./b.js";\nreturn `c`;\n') == 'import{a}from"./b.js";\nreturn`c`;\n'
    style = "/* a */\n.b, c > d:is(e, f) {\n  g-h: 1px var(--i, j);\n  &:hover { k: l; m: n }\n}\n"
    assert slim_style(style) == ".b,c > d:is(e,f){g-h:1px var(--i,j);&:hover{k:l;m:n}}"
    for path in [*CLIENT.rglob("*.js"), *CLIENT.rglob("*.css")]:
        if path.parent.name == "emoji":
            continue  # tables, which go out as they are
        in_template = False
        for line in path.read_text().splitlines():
            text = line.strip()
            changes = line != text or text.startswith(("//", "/*"))
            assert not (in_template and changes), f"{path.name}: changed within a template: {line}"
            is_code = path.suffix == ".js" and not text.startswith(("//", "*"))
            in_template ^= is_code and QUOTED.sub("", text).count("`") % 2 == 1
            opens, closes = text.rfind("/*"), text.rfind("*/")
            assert opens <= 0 or closes > opens, f"{path.name}: a comment that begins within a line: {line}"
            assert not text.startswith("/*") or closes < 0 or text.endswith("*/"), f"{path.name}: {line}"
        assert not in_template, path.name


def test_every_module_of_the_first_view_is_announced_in_the_index(site: httpx2.Client) -> None:
    announced = re.findall(r'rel="modulepreload" href="client/[^/]+/([^"]+)"', site.get("/").text)
    assert announced == first_modules(SOURCES)
    assert "main.js" in announced
    assert "view/shell.js" in announced
    for name in announced:
        assert set(static_imports(name, SOURCES[name])) <= set(announced), name
        spelled = re.findall(r"""^(?:import|export) .*?["'](\.[^"']+)["'];$""", SOURCES[name], re.M | re.S)
        assert len(spelled) == len(static_imports(name, SOURCES[name])), name


@contextlib.contextmanager
def served(handler: Callable[..., BaseHTTPRequestHandler]) -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def sign_in_and_post(page: Page, text: str) -> None:
    page.get_by_label("Email").fill(ADMIN)
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="General", level=1)).to_be_visible()
    page.get_by_role("textbox").fill(text)
    page.keyboard.press("Enter")
    expect(page.get_by_role("article").filter(has_text=text)).to_be_visible()
    expect(page.locator("article.pending")).to_have_count(0)


class Prefixed(BaseHTTPRequestHandler):
    """A proxy that serves `target` below /team/chat/ and nothing else."""

    prefix = "/team/chat"

    def __init__(self, target: str, *arguments: Any) -> None:
        self.target = target
        super().__init__(*arguments)

    def do_GET(self) -> None:
        if not self.path.startswith(f"{self.prefix}/"):
            self.send_error(404)
            return
        there = HTTPConnection(self.target)
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        headers = {name: value for name, value in self.headers.items() if name.lower() != "host"}
        with contextlib.closing(there), contextlib.suppress(OSError, HTTPException):
            there.request(self.command, self.path.removeprefix(self.prefix), body, headers)
            answer = there.getresponse()
            self.send_response(answer.status)
            for name, value in answer.getheaders():
                if name.lower() not in {"transfer-encoding", "connection"}:
                    self.send_header(name, value)
            self.end_headers()
            while piece := answer.read1(65536):
                self.wfile.write(piece)

    do_POST = do_PUT = do_DELETE = do_GET  # noqa: N815  # the names the server looks for

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@pytest.mark.slow
def test_the_client_works_below_a_path(serve: Serve, visit: Visit) -> None:
    server = serve()
    with served(partial(Prefixed, urlsplit(server.base).netloc)) as base:
        page = visit(f"{base}/team/chat/")
        outside: list[str] = []
        page.on("request", lambda request: outside.append(request.url))
        sign_in_and_post(page, "below a path")
        # Another's message arrives over the stream.
        token = server.token("grace@example.org")
        with server.client(token) as client:
            channel = client.get("/channels").json()["channels"][0]["id"]
            client.post(f"/channels/{channel}/messages", json={"content": "hello from above"})
        expect(page.get_by_role("article").filter(has_text="hello from above")).to_be_visible()
        assert not [url for url in outside if not url.startswith((f"{base}/team/chat/", "blob:", "data:"))]
        page.context.close()


class Static(SimpleHTTPRequestHandler):
    """A plain file server that sends the headers the export tells of."""

    told: dict[str, str]
    protocol_version = "HTTP/1.1"

    def end_headers(self) -> None:
        if self.path in {"/", "/index.html"}:
            for name, value in self.told.items():
                self.send_header(name, value)
        super().end_headers()

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@pytest.mark.slow
def test_the_client_works_from_another_origin(serve: Serve, visit: Visit, tmp_path: Path) -> None:
    files = tmp_path / "files"
    files.mkdir()
    handler = type("Told", (Static,), {"told": {}})
    with served(partial(handler, directory=str(files))) as origin:
        server = serve(server={"allowedOrigins": [origin]})
        command = [sys.executable, "-m", "teamchat_web", str(files), "--server", server.base]
        printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        handler.told = dict(line.split(": ", 1) for line in printed.splitlines()[2:])
        assert server.base in handler.told["Content-Security-Policy"]
        page = visit(f"{origin}/")
        sign_in_and_post(page, "from elsewhere")
        # What a capability of that server brings came along.
        page.get_by_role("article").hover()
        page.get_by_role("button", name="Pin", exact=True).click()
        expect(page.get_by_role("article")).to_contain_text("Pinned by")
        page.context.close()


def test_an_export_from_a_server_that_is_not_there_says_so(tmp_path: Path) -> None:
    base = f"http://127.0.0.1:{free_port()}"
    command = [sys.executable, "-m", "teamchat_web", str(tmp_path), "--server", base]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr.startswith(f"{base}/config.json: ")


# When the first message stands there, and what was asked for until then: path and bytes, uncompressed.
SHOWN = """
  const seen = new MutationObserver(() => {
    if (!document.querySelector("[role=log] article") || !document.querySelector("textarea")) return;
    seen.disconnect();
    window.shown = performance.now();
  });
  seen.observe(document, { childList: true, subtree: true });
"""
SIZES = """() => ["navigation", "resource"].flatMap((kind) => performance.getEntriesByType(kind))
  .filter(({ startTime }) => startTime <= window.shown)
  .filter(({ name }) => /[/]client[/]|[/](#.*)?$|[/]config[.]js$/.test(name))
  .map(({ name, decodedBodySize }) => [
    name.split("/client/")[1]?.replace(/^[^/]*[/]/, "") ?? name, decodedBodySize,
  ])"""


@pytest.mark.slow
def test_the_first_view_is_small(serve: Serve, visit: Visit) -> None:
    first = visit(serve().base)
    sign_in_and_post(first, "hello")
    address = first.url
    page = first.context.new_page()
    first.close()  # What it still asks for is no part of another view.
    page.add_init_script(SHOWN)
    page.goto(address)
    expect(page.get_by_role("article").filter(has_text="hello")).to_be_visible()
    sizes = dict(page.evaluate(SIZES))
    assert "main.js" in sizes
    assert "view/shell.js" in sizes
    assert sum(sizes.values()) < FIRST_VIEW_BYTES, sorted(sizes.items(), key=lambda item: -item[1])


@pytest.mark.slow
def test_the_page_opens_without_a_network_and_shows_what_waits(serve: Serve, visit: Visit) -> None:
    server = serve()
    page = visit(server.base, service_workers="allow")
    sign_in_and_post(page, "before the network went")
    # The worker has kept this version when it is active.
    page.evaluate("navigator.serviceWorker.ready.then((worker) => worker.active.state)")
    page.get_by_role("article").hover()
    expect(page.get_by_role("button", name="Pin", exact=True)).to_be_visible()
    server.kill()
    page.get_by_role("textbox").fill("written without one")
    page.keyboard.press("Enter")
    expect(page.locator("article.pending")).to_have_count(1)
    page.reload()
    expect(page.get_by_role("heading", name="General", level=1)).to_be_visible()
    # What capabilities bring is there too.
    page.keyboard.press("Control+k")
    page.get_by_role("combobox").fill("pinned")
    expect(page.get_by_role("option", name="Pinned messages")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("article").filter(has_text="written without one")).to_be_visible()
    server.restart()
    expect(page.locator("article.pending")).to_have_count(0, timeout=60_000)
    expect(page.get_by_role("article").filter(has_text="before the network went")).to_be_visible()


@pytest.mark.slow
def test_a_part_that_cannot_be_loaded_is_told_with_a_way_on(serve: Serve, visit: Visit) -> None:
    page = visit(serve().base)
    sign_in_and_post(page, "hello")
    page.route("**/view/settings/settings.js", lambda route: route.fulfill(status=404, body="{}"))
    page.get_by_role("button", name="Settings", exact=True).click()
    expect(page.get_by_text("This part of the page couldn’t be loaded.").first).to_be_visible()
    page.unroute("**/view/settings/settings.js")
    page.get_by_role("button", name="Load the page anew").click()
    expect(page.get_by_role("article").filter(has_text="hello")).to_be_visible()
    page.get_by_role("button", name="Settings", exact=True).click()
    expect(page.get_by_role("dialog")).to_be_visible()


@pytest.mark.slow
def test_a_pressed_notification_leads_an_open_page_to_its_place(serve: Serve, visit: Visit) -> None:
    server = serve()
    random = server.post("/channels", {"name": "random"}, server.token())["channel"]["id"]
    page = visit(server.base, service_workers="allow")
    sign_in_and_post(page, "hello")
    page.evaluate("navigator.serviceWorker.ready.then((worker) => worker.active.state)")
    [worker] = page.context.service_workers
    # The press itself can't be made; without it the browser lets nobody bring a page to the front.
    worker.evaluate("(hash) => show(hash).catch(() => {})", f"#/channel/{random}")
    expect(page.get_by_role("heading", name="random", level=1)).to_be_visible()


@pytest.mark.slow
def test_the_browsers_bars_have_the_colour_of_the_page(serve: Serve, visit: Visit) -> None:
    page = visit(serve().base, color_scheme="light")
    sign_in_and_post(page, "hello")
    colour = """() => {
      const metas = [...document.querySelectorAll("meta[name=theme-color]")];
      const { content } = metas.find(({ media }) => matchMedia(media).matches);
      const made = document.createElement("i");
      made.style.color = content;
      document.body.append(made);
      return [getComputedStyle(made).color, getComputedStyle(document.body).backgroundColor];
    }"""
    for theme in (None, "dark", "light"):
        if theme:
            page.evaluate("(theme) => { localStorage['teamchat/theme'] = JSON.stringify(theme); }", theme)
            page.reload()
        expect(page.get_by_role("article")).to_have_count(1)
        bar, paper = page.evaluate(colour)
        assert bar == paper, theme
        page.emulate_media(color_scheme="dark" if theme is None else "light")
        bar, paper = page.evaluate(colour)
        assert bar == paper, theme
