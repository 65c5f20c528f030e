"""What the mails say, and that neither people's text nor an operator's template can spoil them."""

from __future__ import annotations

import re
import sys
import tomllib
from html.parser import HTMLParser
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from teamchat.accounts.mails import MAX_TEMPLATE_CHARACTERS, Composer, lifetime
from teamchat.accounts.outbox import QueuedMail
from teamchat.errors import SettingsError
from teamchat.interfaces import Mail
from teamchat.settings import AuthSettings, EmailSettings, Settings, Templates

LINK = "https://chat.example.org/app/?token=v-3_k0&email=bob%40example.org"
PURPOSES = ["magic", "invite", "reset"]


class Page(HTMLParser):
    """What a reader of an HTML mail gets: its elements, its links and its text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[str] = []
        self.links: list[str] = []
        self.text = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append(tag)
        self.links += [str(value) for name, value in attrs if name in {"href", "src"}]

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.fixture
def operator(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """A module of the operator's, for templates to stand in."""
    module = ModuleType("my_mails")
    monkeypatch.setitem(sys.modules, "my_mails", module)
    return module


def composer(text: str | None = None, html: str | None = None, **email: Any) -> Composer:
    templates = Templates(text_version=text, html_version=html)
    built = Composer.build(Settings(auth=AuthSettings(templates=templates), email=EmailSettings(**email)))
    assert built is not None
    return built


def composed(
    purpose: str = "magic",
    by: Composer | None = None,
    *,
    email: str = "bob@example.org",
    name: str = "Our chat",
    seconds: int = 900,
) -> Mail:
    queued = QueuedMail("0190", purpose, email, 5_000, 5_000 + seconds * 1000, "", False, 1, 0)
    return (by or composer()).compose(queued, LINK, name)


@pytest.mark.parametrize("purpose", PURPOSES)
def test_both_versions_hold_the_same_link_and_say_how_long_it_works(purpose: str) -> None:
    mail = composed(purpose)
    page = Page(mail.html)
    assert page.links == [LINK, LINK]
    assert LINK in page.text
    assert [line for line in mail.text.splitlines() if "://" in line] == [LINK]
    for version in (mail.text, page.text):
        assert "15 minutes" in version
        assert "ignore this mail" in version
        assert "Our chat" in version
        assert "bob@example.org" in version


@pytest.mark.parametrize("purpose", PURPOSES)
def test_a_mail_is_for_its_recipient_under_the_id_of_its_link_and_composed_alike_again(purpose: str) -> None:
    mail = composed(purpose)
    assert (mail.id, mail.recipient) == ("0190", "bob@example.org")
    assert composed(purpose) == mail


def test_the_subjects_tell_what_the_mail_is_for() -> None:
    by = composer(email_subject="Come in")
    assert [composed(purpose, by).subject for purpose in PURPOSES] == [
        "Come in",
        "Your invitation to Our chat",
        "Choose a new password for Our chat",
    ]


@pytest.mark.slow
@pytest.mark.parametrize("purpose", PURPOSES)
@given(name=st.text(max_size=80), email=st.text(max_size=80))
def test_what_people_wrote_is_text_and_never_markup_nor_a_header(purpose: str, name: str, email: str) -> None:
    mail, plain = composed(purpose, name=name, email=email), composed(purpose)
    page = Page(mail.html)
    assert page.elements == Page(plain.html).elements
    assert page.links == [LINK, LINK]
    assert len(mail.subject.splitlines()) <= 1


def test_a_name_that_is_markup_is_shown_as_it_is_written() -> None:
    name = "<a href='//evil.example'>\"x\" & y</a>{{ link }}"
    mail = composed("invite", name=name)
    assert name in Page(mail.html).text
    assert "<a href='//evil" not in mail.html
    assert name in mail.text


def test_the_html_looks_right_where_style_sheets_are_thrown_away() -> None:
    page = Page(composed().html)
    assert not {"script", "img", "link", "form", "iframe"} & set(page.elements)
    assert page.elements.count("table") == 3
    body = composed().html.partition("<body")[2]
    assert 'role="presentation"' in body
    assert "background-color: #2457d6" in body
    assert 'name="color-scheme" content="light dark"' in composed().html


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (1, "1 second"),
        (45, "45 seconds"),
        (60, "1 minute"),
        (90, "90 seconds"),
        (900, "15 minutes"),
        (3600, "1 hour"),
        (5400, "90 minutes"),
        (9000, "2 hours"),
        (86_400, "1 day"),
        (90_000, "25 hours"),
        (604_800, "7 days"),
        (0, "less than a second"),
    ],
)
def test_a_lifetime_is_said_in_the_words_of_a_person(seconds: int, words: str) -> None:
    assert lifetime(seconds) == words


@given(st.integers(min_value=1, max_value=315_360_000))
def test_a_lifetime_never_promises_more_than_there_is(seconds: int) -> None:
    count, unit = lifetime(seconds).split()
    in_unit = {"second": 1, "minute": 60, "hour": 3600, "day": 86_400}[unit.rstrip("s")]
    assert seconds / 2 < int(count) * in_unit <= seconds


def test_without_mail_there_is_nothing_to_compose() -> None:
    assert Composer.build(Settings()) is None


def test_the_operators_templates_write_the_magic_link_mail_and_no_other(operator: Any) -> None:
    operator.text = lambda magic_link, expiry_minutes: f"{magic_link} for {expiry_minutes}"
    operator.html = lambda magic_link, expiry_minutes: f"<p>{magic_link}</p> {expiry_minutes!r}"
    by = composer("my_mails:text", "my_mails:html")
    mail = composed("magic", by)
    assert (mail.text, mail.html) == (f"{LINK} for 15", f"<p>{LINK}</p> 15")
    for purpose in ("invite", "reset"):
        assert composed(purpose, by) == composed(purpose)


def test_one_template_alone_leaves_the_other_version_as_it_is(operator: Any) -> None:
    operator.text = lambda *_: "mine"
    mail = composed("magic", composer("my_mails:text"))
    assert mail.text == "mine"
    assert mail.html == composed().html


@pytest.mark.parametrize(("seconds", "minutes"), [(1, 1), (59, 1), (60, 1), (119, 1), (120, 2), (900, 15)])
def test_templates_are_told_whole_minutes(operator: Any, seconds: int, minutes: int) -> None:
    operator.text = lambda _, expiry_minutes: repr(expiry_minutes)
    assert composed("magic", composer("my_mails:text"), seconds=seconds).text == str(minutes)


def test_the_templates_of_the_documentation_work(operator: ModuleType) -> None:
    page = (Path(__file__).parents[2] / "docs" / "how-to" / "send-mail.md").read_text()
    [source] = re.findall(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    configured = "".join(re.findall(r"^```toml\n(\[auth\]\nauthMode = \"magic.*?)^```$", page, re.M | re.S))
    names = tomllib.loads(configured)["auth"]["templates"]
    exec(source, vars(operator))
    mail = composed("magic", composer(names["textVersion"], names["htmlVersion"]))
    assert "Hello!" in mail.text
    assert f"\n{LINK}\n" in mail.text
    assert Page(mail.html).links == [LINK]
    assert "Sign in within 15 minutes." in Page(mail.html).text


def raising(*_: object) -> str:
    raise RuntimeError(f"a secret: {LINK}")


@pytest.mark.parametrize(
    "template",
    [
        raising,
        lambda: "takes nothing",
        lambda *_: None,
        lambda *_: b"bytes",
        lambda *_: " \n",
        lambda *_: "\ud800",
        lambda *_: "\0",
        lambda *_: "x" * (MAX_TEMPLATE_CHARACTERS + 1),
    ],
)
def test_a_template_that_fails_costs_the_looks_and_not_the_mail(
    operator: Any, caplog: pytest.LogCaptureFixture, template: Any
) -> None:
    operator.html = template
    assert composed("magic", composer(None, "my_mails:html")) == composed()
    [record] = caplog.records
    assert record.levelname == "ERROR"
    assert record.teamchat_fields == {"key": "auth.templates.htmlVersion"}  # type: ignore[attr-defined]
    assert "the default is used" in record.message


async def coroutine_function(*_: object) -> str:
    return "text"


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("no_such_module:text", r"can't be imported \(ModuleNotFoundError\)\. .*PYTHONPATH"),
        ("tests.accounts.broken.nothing:text", "can't be imported"),
        ("my_mails:missing", "must name a plain function"),
        ("my_mails:number", "must name a plain function"),
        ("my_mails:coroutine_function", "must name a plain function"),
    ],
)
def test_a_template_that_is_no_function_is_told_at_start(operator: Any, name: str, sentence: str) -> None:
    operator.number, operator.coroutine_function = 7, coroutine_function
    with pytest.raises(SettingsError, match=rf"^auth\.templates\.textVersion .*{sentence}"):
        composer(name)
    with pytest.raises(SettingsError, match=r"^auth\.templates\.htmlVersion "):
        composer(None, name)
