"""The tutorials work as they stand: what they say to type is typed here."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

import pytest
import trio
from playwright.sync_api import Browser, Page, expect

from teamchat.testing import DEADLINE, PASSWORD
from teamchat.web import endpoints
from tests.docs.pages import DOCS, blocks
from tests.environments import Environment, environment
from tests.harness import free_port, running

ROOT = Path(__file__).parent.parent
PLUGINS = {
    "tutorials/first-plugin.md": ("motd", "routes"),
    "tutorials/first-filter.md": ("house-rules", "message-filter"),
    "tutorials/sign-in-plugin.md": ("front-door", "auth-mode"),
}
needs_curl = pytest.mark.skipif(shutil.which("curl") is None, reason="the tutorial uses curl")


@pytest.fixture(scope="module")
def author(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """The environment that the first tutorial makes, out of this directory's teamchat."""
    [say_where] = blocks("tutorials/first-plugin.md", "console")
    assert say_where == "$ TEAMCHAT=/path/to/teamchat\n"
    make, activate, install = blocks("tutorials/first-plugin.md", "sh")[0].splitlines()
    assert make == "python3 -m venv env"
    assert activate == ". env/bin/activate"
    directory = tmp_path_factory.mktemp("author")
    made = environment(directory / "env")
    made.run(f"TEAMCHAT={ROOT}\n{install} --quiet", directory)
    where = made.run("python -c 'import teamchat; print(teamchat.__file__)'", directory)
    assert where.startswith(str(made.directory))
    return made


def follow(page: str, author: Environment, directory: Path) -> None:
    """Do what a tutorial says, up to its tests, which must pass."""
    name, kind = PLUGINS[page]
    module, test = blocks(page, "python")
    new_plugin, install_and_test = [block for block in blocks(page, "sh") if name in block][:2]
    assert new_plugin == f"teamchat new-plugin {name} --kind {kind}\n"
    author.run(new_plugin, directory)
    made, package = directory / f"teamchat-{name}", f"teamchat_{name.replace('-', '_')}"
    (made / package / "__init__.py").write_text(module)
    (made / "tests" / f"test_{name.replace('-', '_')}.py").write_text(test)
    assert "passed" in author.run(install_and_test, directory)
    author.run(f"mypy --strict --cache-dir {author.directory / 'mypy'} {made / package}", directory)


def served(serve: str, port: int, *then: str) -> str:
    """Return a script that runs a server in the background, waits until it is ready, and goes on."""
    assert serve.endswith(" &")
    ready = f"for i in $(seq {int(DEADLINE * 20)}); do grep -q 'ready on' said && break; sleep 0.05; done"
    return "\n".join(
        [
            f"{serve.removesuffix(' &')} --port {port} > said 2>&1 &",
            ready,
            "cat said",
            *then,
            "kill $!; wait $!",
        ]
    )


@pytest.mark.slow
@needs_curl
def test_the_first_plugin_is_seen_running(author: Environment, tmp_path: Path) -> None:
    page = "tutorials/first-plugin.md"
    follow(page, author, tmp_path)
    [entry_point] = blocks(page, "toml")
    assert entry_point in (tmp_path / "teamchat-motd" / "pyproject.toml").read_text()
    look, serve, ask = blocks(page, "sh")[-3:]
    assert "motd: active (teamchat-motd 0.1.0)\n    routes\n" in author.run(look, tmp_path)
    port = free_port()
    said = author.run(served(serve.strip(), port, ask.replace("3000", str(port))), tmp_path)
    assert '{"text":"Be kind; there are people behind the names."}' in said


@pytest.mark.slow
@pytest.mark.parametrize(
    "page",
    ["tutorials/first-filter.md", "tutorials/sign-in-plugin.md"],
)
def test_a_plugin_made_by_its_tutorial_passes_its_tests_and_a_server_takes_its_settings(
    page: str, author: Environment, tmp_path: Path
) -> None:
    follow(page, author, tmp_path)
    [configuration] = blocks(page, "toml")
    (tmp_path / "teamchat.toml").write_text(configuration)
    secret = f"export FRONT_DOOR_SECRET={'s' * 32}\n"
    assert "ready on" in author.run(secret + served("teamchat serve &", free_port()), tmp_path)


@pytest.mark.slow
@needs_curl
def test_a_capability_made_by_its_tutorial_passes_its_tests_and_is_seen_in_a_browser(
    author: Environment, tmp_path: Path, browser: Browser
) -> None:
    page = "tutorials/first-capability.md"
    new_plugin, install_and_test, serve, ask, test_again, test_on_postgres = blocks(page, "sh")
    trying, settings = blocks(page, "toml")
    author.run(new_plugin, tmp_path)
    assert "passed" in author.run(install_and_test, tmp_path)
    (tmp_path / "teamchat.toml").write_text(trying)
    with author.serving(serve, tmp_path) as base:
        assert star(entered(browser, base), "Lunch?", "Mark") == "1 mark"
        told = author.run(ask.replace("http://127.0.0.1:3000", base), tmp_path)
        assert '"name":"General"' in told

    made, text = tmp_path / "teamchat-stars", (DOCS / page).read_text()
    files = ["teamchat_stars/starred.py", "teamchat_stars/__init__.py", "tests/test_starred.py"]
    files += ["teamchat_stars/client/main.js", "teamchat_stars/client/strings/en.json"]
    *pythons, on_postgres = blocks(page, "python")
    codes = [*pythons, *blocks(page, "js"), *blocks(page, "json")]
    for name, code in zip(files, codes, strict=True):
        assert f"`teamchat-stars/{name}`" in text
        (made / name).write_text(code)
    assert "passed" in author.run(test_again, tmp_path)
    author.run(f"mypy --strict --cache-dir {author.directory / 'mypy'} {made / 'teamchat_stars'}", tmp_path)

    assert "`teamchat-stars/tests/test_on_postgres.py`" in text
    (made / "tests" / "test_on_postgres.py").write_text(on_postgres)
    assert "skipped" in author.run(test_again, tmp_path)
    assert "postgresql://postgres@127.0.0.1/postgres" in test_on_postgres
    tested = author.run(test_on_postgres.replace("postgresql://postgres@127.0.0.1/postgres", url()), tmp_path)
    assert "passed" in tested
    assert "skipped" not in tested

    (tmp_path / "teamchat.toml").write_text(trying + settings)
    with author.serving(serve, tmp_path) as base:
        announced = author.run(f"curl -s {base}/capabilities", tmp_path)
        assert '"org.example.stars":{"version":1,"most":5}' in announced
        seen = entered(browser, base)
        assert star(seen, "Dinner?", "Star") == "1 star"
        seen.get_by_role("button", name="Starred").click()
        listed = seen.get_by_role("dialog", name="Starred").get_by_role("listitem")
        expect(listed).to_have_count(2)
        listed.first.get_by_role("button").click()
        expect(seen.get_by_role("article").last).to_be_focused()
        seen.keyboard.press("ArrowUp")
        seen.keyboard.press("ArrowDown")
        seen.keyboard.press("s")
        expect(seen.get_by_role("article").last).not_to_contain_text("1 star")


def url() -> str:
    """Return the address of a PostgreSQL, as a shell takes it."""
    from tests.postgres import shared

    return f"'{shared().url()}'"


def entered(browser: Browser, base: str) -> Page:
    """Sign in as the tutorial says."""
    page = browser.new_context(locale="en-GB", service_workers="block").new_page()
    page.goto(f"{base}/")
    page.get_by_label("Email").fill("admin@localhost")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("heading", name="General", level=1)).to_be_visible()
    return page


def star(page: Page, content: str, label: str) -> str:
    """Write a message, press its tool, and return what the message says then."""
    page.get_by_role("main").get_by_role("textbox").fill(content)
    page.keyboard.press("Enter")
    said = page.locator("article:not(.pending)").filter(has_text=content)
    said.hover()
    said.get_by_role("button", name=label, exact=True).click()
    expect(said.locator(".message-marks")).to_be_visible()
    return said.locator(".message-marks").inner_text()


def test_the_first_plugin_is_told_all_that_an_endpoint_may_name() -> None:
    page = (DOCS / "tutorials" / "first-plugin.md").read_text()
    told = page.partition("An endpoint's function gets what its parameters name")[2].partition("\n\nRaise")[0]
    lines = [line for line in told.splitlines() if line.startswith("- ")]
    names = {name for line in lines for name in re.findall(r"`(\w+)`:", line)}
    assert names == endpoints._ALWAYS | {"caller"}


@pytest.mark.slow
@needs_curl
async def test_the_bot_answers(tmp_path: Path) -> None:
    [bot] = blocks("tutorials/first-bot.md", "python")
    (tmp_path / "bot.py").write_text(bot)
    sign_in, webhook, start, ask = blocks("tutorials/first-bot.md", "sh")
    assert "BASE=http://127.0.0.1:3000\n" in sign_in
    user = {"userName": "Ada", "email": "admin@localhost", "password": PASSWORD}
    async with running(tmp_path, auth={"authMode": "password"}, chat={"initialUser": user}) as server:
        sign_in = sign_in.replace("http://127.0.0.1:3000", server.base)
        start = start.replace("bot.py &", "bot.py > said &")
        waiting = f"for i in $(seq {int(DEADLINE * 50)}); do grep -q {{}} {{}} && break; sleep 0.02; done"
        read = 'curl -s $BASE/channels/$CHANNEL/messages -H "Authorization: Bearer $TOKEN"'
        script = [
            sign_in,
            webhook,
            start,
            waiting.format("listening", "said"),
            ask,
            f"for i in $(seq {int(DEADLINE * 20)}); do {read} | grep 'rolls a' && break; sleep 0.05; done",
            "kill $!",
        ]
        ran = await trio.run_process(
            ["bash", "-euc", "\n".join(script)],
            cwd=tmp_path,
            env=os.environ | {"PASSWORD": PASSWORD},
            capture_stdout=True,
            capture_stderr=True,
            check=False,
        )
        assert ran.returncode == 0, ran.stderr.decode()
        assert re.search(r"Ada rolls a [1-6]", ran.stdout.decode())
        assert '"isBot":true' in ran.stdout.decode()
