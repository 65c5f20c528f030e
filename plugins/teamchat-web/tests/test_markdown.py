"""Text of people becomes harmless nodes, in a time that grows with its length."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

LINK = 'target="_blank" rel="noopener noreferrer nofollow"'


@pytest.fixture(scope="module")
def page(browser: Browser, standing: Any) -> Iterator[Page]:
    """A page in which `markdown` renders for Ada, who knows Grace Hopper and bob."""
    context = browser.new_context()
    page = context.new_page()
    page.goto(standing.base)
    page.evaluate(
        """async () => {
          const root = document.querySelector("script[src$='/main.js']").src.replace("main.js", "");
          const { render, mentions } = await import(root + "lib/markdown.js");
          const names = new Map([["ada", "1"], ["grace hopper", "2"], ["bob", "3"], ["bob.b", "4"]]);
          window.markdown = (text) => {
            const box = document.createElement("div");
            box.append(render(text, { names, me: "1" }));
            return box.innerHTML;
          };
          window.nodes = (text) => render(text, { names, me: "1" });
          window.mentioned = (text) => [...mentions(text, names)].sort().join();
        }"""
    )
    yield page
    context.close()


def rendered(page: Page, text: str) -> str:
    """Return the markup, without the attributes of direction, of which there are tests of their own."""
    return re.sub(r' dir="(auto|ltr)"', "", marked_up(page, text))


def marked_up(page: Page, text: str) -> str:
    return str(page.evaluate("(text) => markdown(text)", text))


PLAIN = [
    ("", ""),
    ("hello", "<p>hello</p>"),
    ("one\ntwo", "<p>one<br>two</p>"),
    ("one\r\n\r\n\r\ntwo", "<p>one</p><p>two</p>"),
    (
        "**bold** and *thin* and _thin_ and ~~gone~~",
        "<p><strong>bold</strong> and <em>thin</em> and <em>thin</em> and <s>gone</s></p>",
    ),
    ("***both***", "<p><strong><em>both</em></strong></p>"),
    ("**a *b* c**", "<p><strong>a <em>b</em> c</strong></p>"),
    ("*a **b***", "<p><em>a <strong>b</strong></em></p>"),
    ("**never closed", "<p>**never closed</p>"),
    ("*a **b*", "<p><em>a **b</em></p>"),
    ("2 * 3 * 4", "<p>2 * 3 * 4</p>"),
    ("snake_case_name and _em_", "<p>snake_case_name and <em>em</em></p>"),
    ("____ and **** and ~~ ~~ ~~~~ ~a~", "<p>____ and **** and ~~ ~~ ~~~~ ~a~</p>"),
    ("`a *b* <i>` c", "<p><code>a *b* &lt;i&gt;</code> c</p>"),
    ("`` a ` b ``", "<p><code>a ` b</code></p>"),
    ("`never closed", "<p>`never closed</p>"),
    (
        "```js\nif (a < b) {\n  c;\n}\n```\nafter",
        '<pre tabindex="0"><code>if (a &lt; b) {\n  c;\n}</code></pre><p>after</p>',
    ),
    ("```\nnever closed", '<pre tabindex="0"><code>never closed</code></pre>'),
    ("> a\n> b\nc", "<blockquote><p>a<br>b</p></blockquote><p>c</p>"),
    (">> deep", "<blockquote><blockquote><p>deep</p></blockquote></blockquote>"),
    (
        "- a\n- *b*\n3. c\n4. d",
        '<ul><li>a</li><li><em>b</em></li></ul><ol start="3"><li>c</li><li>d</li></ol>',
    ),
    ("text\n- item", "<p>text</p><ul><li>item</li></ul>"),
    (
        "- a\n  - b\n    - c\n  - d\n- e",
        "<ul><li>a<ul><li>b<ul><li>c</li></ul></li><li>d</li></ul></li><li>e</li></ul>",
    ),
    ("1. a\n   - b\n   - c\n2. d", '<ol start="1"><li>a<ul><li>b</li><li>c</li></ul></li><li>d</li></ol>'),
    ("- a\n\t1. b\n\t2. c", '<ul><li>a<ol start="1"><li>b</li><li>c</li></ol></li></ul>'),
    ("- a\n  - b\n  1. c", '<ul><li>a<ul><li>b</li></ul><ol start="1"><li>c</li></ol></li></ul>'),
    ("- a\n    - b\n  - c\n- d", "<ul><li>a<ul><li>b</li><li>c</li></ul></li><li>d</li></ul>"),
    (" - a\n- b\n - c", "<ul><li>a</li><li>b</li><li>c</li></ul>"),
    ("- a\n  goes *on*\n- b\nends", "<ul><li>a<br>goes <em>on</em></li><li>b</li></ul><p>ends</p>"),
    ("> - a\n>   - b", "<blockquote><ul><li>a<ul><li>b</li></ul></li></ul></blockquote>"),
    ("    - not a list", "<p>    - not a list</p>"),
    ("-not a list\n1.5 is a number", "<p>-not a list<br>1.5 is a number</p>"),
    ("🎉", '<p class="emoji-only">🎉</p>'),
    (" 👩‍👩‍👧 🇩🇪 1️⃣ ", '<p class="emoji-only"> 👩‍👩‍👧 🇩🇪 1️⃣ </p>'),
    ("🎉!", "<p>🎉!</p>"),
    ("123", "<p>123</p>"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("text", "html"), PLAIN, ids=[repr(text)[:30] for text, _ in PLAIN])
def test_what_is_written_is_what_is_meant(page: Page, text: str, html: str) -> None:
    assert rendered(page, text) == html


LINKS = [
    ("https://a.example/x", f'<p><a href="https://a.example/x" {LINK}>https://a.example/x</a></p>'),
    ("see http://a.example.", f'<p>see <a href="http://a.example/" {LINK}>http://a.example</a>.</p>'),
    (
        "(https://a.example/b_(c))",
        f'<p>(<a href="https://a.example/b_(c)" {LINK}>https://a.example/b_(c)</a>)</p>',
    ),
    (
        "https://a.example/*x*_y_",
        f'<p><a href="https://a.example/*x*_y" {LINK}>https://a.example/*x*_y</a>_</p>',
    ),
    ("[words](https://a.example)", f'<p><a href="https://a.example/" {LINK}>words</a></p>'),
    ("**[w](https://a.example)**", f'<p><strong><a href="https://a.example/" {LINK}>w</a></strong></p>'),
    ("mailto:a@b.example", f'<p><a href="mailto:a@b.example" {LINK}>mailto:a@b.example</a></p>'),
    ("https://a.example/x[1]", f'<p><a href="https://a.example/x[1]" {LINK}>https://a.example/x[1]</a></p>'),
    (
        "[https://a.example/x[1]]",
        f'<p>[<a href="https://a.example/x[1]" {LINK}>https://a.example/x[1]</a>]</p>',
    ),
    ("[see [1]](https://a.example/)", f'<p><a href="https://a.example/" {LINK}>see [1]</a></p>'),
    ("[x](https://a.example/b_(c))", f'<p><a href="https://a.example/b_(c)" {LINK}>x</a></p>'),
    ("[x](www.a.example)", f'<p><a href="https://www.a.example/" {LINK}>x</a></p>'),
    ("(www.a.example/b).", f'<p>(<a href="https://www.a.example/b" {LINK}>www.a.example/b</a>).</p>'),
    ("WWW.a.example", f'<p><a href="https://www.a.example/" {LINK}>WWW.a.example</a></p>'),
    ("ask ada@b.example.", f'<p>ask <a href="mailto:ada@b.example" {LINK}>ada@b.example</a>.</p>'),
    ("a_b+c@b.example!", f'<p><a href="mailto:a_b+c@b.example" {LINK}>a_b+c@b.example</a>!</p>'),
    ("_me@b.example_", f'<p><em><a href="mailto:me@b.example" {LINK}>me@b.example</a></em></p>'),
    ("www.me@b.example", f'<p><a href="mailto:www.me@b.example" {LINK}>www.me@b.example</a></p>'),
]


@pytest.mark.parametrize(("text", "html"), LINKS, ids=[text for text, _ in LINKS])
def test_addresses_become_links(page: Page, text: str, html: str) -> None:
    assert rendered(page, text) == html


HARMLESS = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "&lt;b&gt; &amp; &#60;",
    "[x](javascript:alert(1))",
    "[x](JaVaScRiPt:alert(1))",
    "[x](data:text/html,<script>alert(1)</script>)",
    "[x](vbscript:x)",
    "[x](//evil.example)",
    "[x](/admin)",
    "javascript:alert(1)",
    "http://",
    "https://[",
    "[x](https://)",
    "mailto:nobody",
    "xhttps://a.example",
    "@nobody",
    "ada@localhost",
    "ada@example.org@ada",
    "@example.org",
    "www.",
    "www.a",
    "www.1.2",
    "awww.a.example",
    "@bobby",
]


@pytest.mark.parametrize("text", HARMLESS)
def test_what_could_do_harm_is_text(page: Page, text: str) -> None:
    escaped = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    assert rendered(page, text) == f"<p>{escaped}</p>"


def test_an_address_cannot_leave_its_attribute(page: Page) -> None:
    html = rendered(page, 'https://a.example/"onmouseover="alert(1) [x](https://a.example/"><script>)')
    assert "<script" not in html
    assert html.count("<a ") == html.count(LINK)
    assert page.evaluate(
        """(text) => {
          const box = document.createElement("div");
          const names = (node) => node.getAttributeNames();
          const root = document.querySelector("script[src$='/main.js']").src.replace("main.js", "");
          return import(root + "lib/markdown.js")
            .then(({ render }) => (box.append(render(text)), [...box.querySelectorAll("*")].flatMap(names)));
        }""",
        '[a" onclick="x](https://a.example/?"onclick="x)',
    ) == ["dir", "href", "target", "rel"]


DIRECTED = [
    ("hello", '<p dir="auto">hello</p>'),
    (
        "> a\n\n- b\n  - c",
        '<blockquote dir="auto"><p>a</p></blockquote><ul dir="auto"><li>b<ul><li>c</li></ul></li></ul>',
    ),
    ("`a` b", '<p dir="auto"><code dir="ltr">a</code> b</p>'),
    ("```\na\n```", '<pre dir="ltr" tabindex="0"><code>a</code></pre>'),
]


@pytest.mark.parametrize(("text", "html"), DIRECTED, ids=[text[:9] for text, _ in DIRECTED])
def test_each_block_has_the_direction_of_its_text_and_code_its_own(page: Page, text: str, html: str) -> None:
    assert marked_up(page, text) == html


DIRECTIONS = {
    "שלום": "rtl",
    "مرحبا https://a.example/": "rtl",
    "https://a.example/ שלום": "rtl",
    "@Ada שלום": "rtl",
    "`code` שלום": "rtl",
    "ada@b.example مرحبا": "rtl",
    "> שלום": "rtl",
    "- שלום\n- two": "rtl",
    "hello שלום": "ltr",
    "1. one\n2. שלום": "ltr",
    "```\nשלום\n```": "ltr",
}


@pytest.mark.parametrize(("text", "direction"), DIRECTIONS.items())
def test_a_text_goes_the_way_of_its_words(page: Page, text: str, direction: str) -> None:
    """Addresses, code and names that stand first don't say which way that is."""
    script = """(text) => {
      const box = document.createElement("div");
      document.body.append(box);
      box.append(window.nodes(text));
      const found = getComputedStyle(box.firstChild).direction;
      box.remove();
      return found;
    }"""
    assert page.evaluate(script, text) == direction


MENTIONS = [
    ("@Ada", "1", '<p><bdi class="mention mention-me" data-user="1">@Ada</bdi></p>'),
    ("hi @grace hopper!", "2", '<p>hi <bdi class="mention" data-user="2">@grace hopper</bdi>!</p>'),
    (
        "@bob.b and @bob.",
        "3,4",
        '<p><bdi class="mention" data-user="4">@bob.b</bdi> and '
        '<bdi class="mention" data-user="3">@bob</bdi>.</p>',
    ),
    ("`@ada` a@ada", "", "<p><code>@ada</code> a@ada</p>"),
    ("```\n@ada\n```", "", '<pre tabindex="0"><code>@ada</code></pre>'),
]


@pytest.mark.parametrize(("text", "ids", "html"), MENTIONS, ids=[text[:12] for text, _, _ in MENTIONS])
def test_mentions_are_of_people_who_are_there(page: Page, text: str, ids: str, html: str) -> None:
    assert rendered(page, text) == html
    assert page.evaluate("(text) => mentioned(text)", text) == ids


HOSTILE = {
    "stars": "*a " * 5000,
    "bold": "**a" * 5000,
    "mixed": "*_~~**a" * 2500,
    "closers": "a* " * 5000,
    "unclosed": "*" + "**a " * 4000 + "*",
    "brackets": "[" * 16000,
    "links": "[a](" * 4000,
    "half links": "[a](http://" * 1400,
    "backticks": "".join("`" * (1 + number % 170) + "a" for number in range(180)),
    "spaced code": "`" + " " * 7900 + "a" * 7900 + "`",
    "quotes": ">" * 16000,
    "quoted lines": ">>>>>>>>>>>>\n" * 1200,
    "lists": "- " * 8000,
    "list lines": "1. \n- a\n" * 2000,
    "ats": "@" * 16000,
    "near mentions": "@grace hoppe" * 1300,
    "addresses": "http://a" * 2000,
    "parentheses": "http://a/" + ")" * 15000,
    "spaces": " " * 16000,
    "emoji": "👩‍👩‍👧" * 2000 + "x",
    "lines": "\n" * 16000,
    "underscores": "_a" * 8000,
    "marks in a row": "*" * 16000,
    "tildes": "~" * 16000,
    "nested lists": "".join(" " * (number % 120) + "- a\n" for number in range(260)),
    "ever deeper": "".join(" " * (2 * number) + "- a\n" for number in range(120)),
    "brackets in brackets": "[" + "[a]" * 5000,
    "long brackets in brackets": ("[" + "a" * 49 + "]") * 300,
    "half mails": "a.b-c'" * 2600,
    "mails": "a@b." * 4000,
    "mails without end": "a@" + "b." * 8000,
    "www": "www.a." * 2600,
}


@pytest.mark.slow
@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_text_takes_a_time_that_grows_with_its_length(page: Page, text: str) -> None:
    """Sixteen times the text may take a hundred times as long, on a busy machine; not the square, 256."""
    short, long = page.evaluate(
        """(text) => {
          const measure = (times) => {
            const whole = text.repeat(times);
            let best = Infinity;
            for (let round = 0; round < 3; round++) {
              const start = performance.now();
              markdown(whole);
              best = Math.min(best, performance.now() - start);
            }
            return best;
          };
          measure(1);
          return [measure(1), measure(16)];
        }""",
        text,
    )
    assert long < 100 * max(short, 4), (short, long)
    assert short < 500
