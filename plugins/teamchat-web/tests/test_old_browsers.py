"""A browser that lacks something the client can't do without shows a sentence, and not an empty page."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect
from teamchat_web.site import CLIENT

WITH_ALL_PARTS = True

SAID = "This page needs JavaScript and a browser of 2024 or later"
SAID_IN_GERMAN = "Diese Seite braucht JavaScript und einen Browser von 2024 oder später"
# What the client asks for, how it is taken away, and where in the client it is used.
NEEDED = {
    "RGI_Emoji": (
        """RegExp = new Proxy(RegExp, { construct(target, [source, flags]) {
          if (flags === "v") throw new SyntaxError("Invalid flags");
          return new target(source, flags);
        } })""",
        r"\\p\{RGI_Emoji\}.*/v",
    ),
    "AbortSignal.any": ("delete AbortSignal.any", r"AbortSignal\.any\("),
    "URL.canParse": ("delete URL.canParse", r"URL\.canParse\("),
    "showPopover": ("delete HTMLElement.prototype.showPopover", r"\.showPopover\("),
    "selector(&)": ("CSS.supports = (...given) => given.length === 2", r"^  &"),
    "light-dark": ("CSS.supports = (...given) => given.length === 1", r"light-dark\("),
}
GONE = ";".join(script for script, _ in NEEDED.values())
SOURCE = (CLIENT / "support.js").read_text()


def visited(browser: Browser, url: str, script: str = "", **options: Any) -> Page:
    page = browser.new_context(**{"locale": "en-GB"} | options).new_page()
    page.context.add_init_script(script)
    page.goto(url)
    return page


@pytest.mark.slow
@pytest.mark.parametrize("name", NEEDED)
def test_a_browser_that_lacks_something_is_told_so(browser: Browser, standing: Any, name: str) -> None:
    page = visited(browser, standing.base, NEEDED[name][0])
    expect(page.get_by_role("alert")).to_contain_text(SAID)
    expect(page.get_by_role("alert")).to_be_in_viewport()
    page.wait_for_load_state("networkidle")
    expect(page.locator("#app")).to_be_empty()
    assert page.evaluate("document.documentElement.lang") == "en"
    page.context.close()


@pytest.mark.parametrize("name", NEEDED)
def test_what_a_browser_is_asked_for_is_what_the_client_uses(name: str) -> None:
    assert name in SOURCE
    used = re.compile(NEEDED[name][1], re.MULTILINE)
    sources = [path for kind in ("*.js", "*.css") for path in CLIENT.rglob(kind) if path.name != "support.js"]
    assert any(used.search(path.read_text()) for path in sources)


def test_nothing_else_is_asked_for() -> None:
    asked = SOURCE.partition("if (")[2].partition("return;")[0]
    assert asked.count("&&") == len(NEEDED) - 1


@pytest.mark.parametrize(
    ("locale", "chosen", "words"),
    [("de-DE", "", SAID_IN_GERMAN), ("fr-FR", "", SAID), ("en-GB", "de", SAID_IN_GERMAN)],
)
def test_it_is_told_in_a_language_of_ones_own(
    browser: Browser, standing: Any, locale: str, chosen: str, words: str
) -> None:
    keep = f"localStorage['teamchat/language'] = '\"{chosen}\"';" if chosen else ""
    page = visited(browser, standing.base, keep + GONE, locale=locale)
    expect(page.get_by_role("alert")).to_contain_text(words)
    assert page.evaluate("document.documentElement.lang") == ("de" if words == SAID_IN_GERMAN else "en")
    page.context.close()


def test_a_browser_without_modules_is_told_so(browser: Browser, standing: Any) -> None:
    context = browser.new_context(locale="en-GB")
    context.add_init_script(GONE)
    context.route(
        "**/*",
        lambda route: (
            route.abort()
            if route.request.url.endswith(".js") and "support.js" not in route.request.url
            else route.continue_()
        ),
    )
    page = context.new_page()
    page.goto(standing.base)
    expect(page.get_by_role("alert")).to_contain_text(SAID)
    context.close()


def test_it_is_told_also_where_nothing_can_be_kept_and_scripts_of_modules_are_not_understood(
    browser: Browser, standing: Any
) -> None:
    forbidden = "Object.defineProperty(window, 'localStorage', { get() { throw new Error('no'); } });"
    context = browser.new_context(locale="en-GB")
    context.add_init_script(forbidden + GONE)
    context.route(
        "**/lib/markdown.js",
        lambda route: route.fulfill(body="const never = /[a--b]/unknown;", content_type="text/javascript"),
    )
    page = context.new_page()
    page.goto(standing.base)
    expect(page.get_by_role("alert")).to_contain_text(SAID)
    context.close()


def test_without_javascript_it_is_told_in_every_language(browser: Browser, standing: Any) -> None:
    page = visited(browser, standing.base, java_script_enabled=False)
    for language, words in (("en", SAID), ("de", SAID_IN_GERMAN)):
        expect(page.locator(f"noscript [lang={language}]")).to_be_visible()
        expect(page.locator(f"noscript [lang={language}]")).to_contain_text(words)
    page.context.close()


def test_a_browser_that_lacks_nothing_is_told_nothing(browser: Browser, standing: Any) -> None:
    page = visited(browser, standing.base)
    expect(page.get_by_label("Email")).to_be_visible()
    assert page.evaluate("globalThis.TEAMCHAT_TOO_OLD") is None
    expect(page.get_by_text(SAID)).to_have_count(0)
    page.context.close()


def test_what_looks_is_written_for_browsers_of_any_age() -> None:
    code = re.sub(r"//.*|\"(?:\\.|[^\"\\])*\"", "", SOURCE)
    assert not re.findall(r"=>|`|\b(?:const|let|class|async|await|import|export|of)\b|\?\.|\?\?|\.\.\.", code)
