"""How a server serves what capabilities bring to the client."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx2
import pytest
from playwright.sync_api import Page, expect
from teamchat_web import CLIENT, build

from teamchat.plugins import Plugins

from .extensions import Bring

WITH_ALL_PARTS = True

Serve = Callable[..., Any]
Enter = Callable[..., Page]


def test_the_files_of_a_capability_stand_under_the_digest_with_the_clients_own(tmp_path: Path) -> None:
    folder = tmp_path / "client"
    (folder / "strings").mkdir(parents=True)
    main = "export default () => `a\n   b`; // kept as it is\n"
    given = {"main.js": main, "style.css": ".a { }\n", "strings/de.json": "{}", "strings/en.json": "{}"}
    for name, text in (given | {".hidden.js": "no", "notes.md": "no", "tool.py": "no"}).items():
        (folder / name).write_text(text)
    plain, site = build(CLIENT), build(CLIENT, [("polls", folder)])
    brought = {name for name in site.files if name.startswith("extensions/")}
    assert brought == {f"extensions/polls/{name}" for name in given}
    assert all(site.files[f"extensions/polls/{name}"].body.decode() == text for name, text in given.items())
    assert json.loads(plain.files["extensions.json"].body) == {}
    assert json.loads(site.files["extensions.json"].body) == {
        "polls": {"style": True, "strings": ["de", "en"]}
    }
    assert plain.digest != site.digest
    assert set(site.files) - set(plain.files) == brought
    assert b"extensions/polls/main.js" in site.pages["sw.js"].body


def test_a_server_serves_the_folders_of_what_is_on_and_no_others(bring: Bring, serve: Serve) -> None:
    bring("org.example.polls", "export default () => {};", **{"style.css": ".polls { color: red; }"})
    for name, is_on in (("on", True), ("off", False)):
        server = serve(name, plugins={"org.example.polls": {"enabled": is_on}})
        with httpx2.Client(base_url=server.base) as client:
            [digest] = set(re.findall(r"client/([0-9a-f]+)/", client.get("/").text))
            root = f"/client/{digest}"
            assert ("org.example.polls" in client.get(f"{root}/extensions.json").json()) == is_on
            for path, kind in (("main.js", "text/javascript"), ("style.css", "text/css")):
                answer = client.get(f"{root}/extensions/org.example.polls/{path}")
                assert answer.status_code == (200 if is_on else 404)
                if is_on:
                    assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
                    assert answer.headers["content-type"].startswith(kind)
            for path in ("../__init__.py", "%2e%2e/__init__.py", "__init__.py", "client/main.js", ""):
                assert client.get(f"{root}/extensions/org.example.polls/{path}").status_code == 404


@pytest.mark.slow
def test_a_client_asks_for_nothing_of_what_the_server_lacks(bring: Bring, serve: Serve, enter: Enter) -> None:
    bring("org.example.polls", "export default () => {};")
    off = {"enabled": False}
    every = [
        "org.example.polls",
        *(name for name, offer in Plugins.load().capability_offers() if offer.client),
    ]
    page = enter(serve(plugins=dict.fromkeys(every, off)), "ada@example.org")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    with page.expect_response("**/extensions.json"):
        page.reload()
    page.get_by_role("button", name="Settings", exact=True).click()
    expect(page.get_by_role("dialog")).to_be_visible()
    of_capabilities = re.compile("[0-9a-f]/extensions/")
    assert not [url for url in asked if of_capabilities.search(url)]
