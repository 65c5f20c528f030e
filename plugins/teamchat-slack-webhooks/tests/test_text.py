"""A payload of Slack's as the text of a message."""

from __future__ import annotations

import time
from importlib import import_module
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from teamchat_slack_webhooks import blocks
from teamchat_slack_webhooks.markup import converted, link
from teamchat_slack_webhooks.message import content_of
from teamchat_slack_webhooks.payload import read

from teamchat import BadRequest

TOOLS = import_module("plugins.teamchat-slack-webhooks.tests.tools").TOOLS
MOST = 16_000


@pytest.mark.parametrize("tool", TOOLS)
def test_what_a_tool_sends_becomes_a_readable_message(tool: str) -> None:
    payload, _, expected = TOOLS[tool]
    assert content_of(payload, MOST) == expected


@pytest.mark.parametrize(
    ("marked", "expected"),
    [
        ("a *bold* _word_ and ~none~", "a **bold** _word_ and ~~none~~"),
        ("2*3*4 and * no * mark*s", "2*3*4 and * no * mark*s"),
        ("*<https://example.org|here>*", "**[here](https://example.org)**"),
        ("<https://example.org>", "https://example.org"),
        ("<https://example.org|https://example.org>", "https://example.org"),
        ("<https://example.org/?a=1&amp;b=2|A &amp; B>", "[A & B](https://example.org/?a=1&b=2)"),
        ("<https://example.org/a(b)c|x>", "[x](https://example.org/a(b)c)"),
        ("<https://example.org/a)b|x>", "[x](https://example.org/a%29b)"),
        ("<https://example.org/|[ok] [[two]]>", "[(ok) ((two))](https://example.org/)"),
        ("<javascript:alert(1)|x>", "x (javascript:alert(1))"),
        ("<mailto:ada@example.org|ada@example.org>", "ada@example.org"),
        ("<!here> <!channel> <!everyone>", "@here @channel @everyone"),
        ("<!subteam^S1|@ops> <!subteam^S2>", "@ops @S2"),
        ("<!date^1392734382^{date}|18 February>", "18 February"),
        ("<@U1> <@U2|ada> <#C1|ops>", "@U1 @ada #ops"),
        ("&lt;!channel&gt; &amp;lt;", "<!channel> &lt;"),
        ("`*a* <https://example.org|b> &lt;`", "`*a* https://example.org <`"),
        ("see ```x = *p;\ny``` there", "see \n```\nx = *p;\ny\n```\n there"),
        ("never ``` closed", "never ``` closed"),
        ("&gt; said\nok", "> said\nok"),
        (":rotating_light: :acme: 10:15:30 a:x:b", "🚨 :acme: 10:15:30 a:x:b"),
        ("\0nothing\0", "nothing"),
    ],
)
def test_slacks_markup_is_put_into_the_words_of_this_chat(marked: str, expected: str) -> None:
    assert converted(marked) == expected


def test_a_link_that_none_can_be_made_of_keeps_its_address() -> None:
    long = "https://example.org/" + "a" * 3000
    assert link(long, "x") == f"x ({long})"
    assert link("https://example.org", "w" * 500) == "w" * 500 + ": https://example.org"


def section(text: str) -> dict[str, Any]:
    return {"type": "section", "text": {"type": "mrkdwn", "text": text}}


def test_blocks_are_read_in_their_order_and_text_beside_them_is_left_out() -> None:
    divider = {"type": "divider"}
    payload = {
        "text": "for the notice",
        "blocks": [divider, section("one"), divider, divider, section("*two*"), divider],
    }
    assert content_of(payload, MOST) == f"one\n{blocks.DIVIDER}\n**two**"


def test_a_section_has_its_fields_and_what_stands_beside_it() -> None:
    block = {
        "type": "section",
        "text": {"type": "plain_text", "text": "*plain* :x:"},
        "fields": [{"type": "mrkdwn", "text": "*A*"}, {"type": "plain_text", "text": "b"}],
        "accessory": {"type": "image", "image_url": "https://example.org/a.png", "alt_text": "a graph"},
    }
    assert blocks.text_of([block]) == "*plain* ❌\n**A**\nb\n[a graph](https://example.org/a.png)"


def test_buttons_that_call_back_are_left_out_and_contexts_are_a_line() -> None:
    made = [
        {
            "type": "actions",
            "elements": [
                {"type": "button", "text": {"type": "plain_text", "text": "Approve"}, "action_id": "a"},
                {"type": "button", "text": {"type": "plain_text", "text": "Log"}, "url": "https://a.example"},
                {"type": "button", "text": {"type": "plain_text", "text": "Run"}, "url": "https://b.example"},
            ],
        },
        {
            "type": "context",
            "elements": [
                {"type": "image", "image_url": "https://a.example/i.png", "alt_text": "i"},
                {"type": "mrkdwn", "text": "by *ada*"},
            ],
        },
    ]
    assert blocks.text_of(made) == (
        "[Log](https://a.example) · [Run](https://b.example)\n[i](https://a.example/i.png) by **ada**"
    )


def test_rich_text_keeps_its_styles_lists_quotes_and_code() -> None:
    def text(said: str, **style: bool) -> dict[str, Any]:
        return {"type": "text", "text": said, "style": style}

    def in_section(*pieces: dict[str, Any]) -> dict[str, Any]:
        return {"type": "rich_text_section", "elements": [*pieces]}

    block = {
        "type": "rich_text",
        "elements": [
            in_section(
                text("All "),
                text("good", bold=True),
                text(" *now* &amp; "),
                text("x", code=True),
                {"type": "emoji", "name": "tada", "unicode": "1f389"},
                {"type": "broadcast", "range": "here"},
                {"type": "user", "user_id": "U1"},
            ),
            {
                "type": "rich_text_list",
                "style": "ordered",
                "indent": 1,
                "elements": [in_section(text("a")), in_section(text("b"))],
            },
            {"type": "rich_text_list", "style": "bullet", "elements": [in_section(text("c"))]},
            {"type": "rich_text_quote", "elements": [text("d\ne")]},
            {"type": "rich_text_preformatted", "elements": [text("f\ng")]},
            in_section({"type": "link", "url": "https://example.org", "text": "h"}),
        ],
    }
    assert blocks.text_of([block]) == (
        "All **good** *now* &amp; `x`🎉@here@U1\n  1. a\n  2. b\n- c\n> d\n> e\n```\nf\ng\n```\n"
        "[h](https://example.org)"
    )


def test_a_block_of_a_kind_that_is_new_keeps_its_text() -> None:
    new = {"type": "hologram", "text": {"type": "mrkdwn", "text": "*still* said"}, "size": 3}
    assert blocks.text_of([new]) == "**still** said"


def test_an_attachment_that_says_nothing_else_says_its_fallback() -> None:
    assert content_of(
        {"attachments": [{"fallback": "<https://a.example|it> fell", "color": "good"}]}, MOST
    ) == ("[it](https://a.example) fell")


@pytest.mark.parametrize(
    "payload",
    [
        {},
        {"text": "", "attachments": [], "blocks": []},
        {"text": "  \n", "attachments": [{"color": "good"}], "blocks": [{"type": "divider"}]},
        {"text": None, "attachments": "no list", "blocks": {"type": "section"}},
        {"attachments": [None, 1, "x"], "blocks": [None, {"type": 5}]},
    ],
)
def test_a_payload_that_says_nothing_is_refused_in_slacks_word(payload: dict[str, Any]) -> None:
    with pytest.raises(BadRequest, match=r"^no_text: "):
        content_of(payload, MOST)


def test_what_is_too_long_is_cut_and_says_so() -> None:
    for text in ("w" * 5000, "```\n" + "x\n" * 2500 + "```"):
        made = content_of({"text": text}, 1000)
        assert len(made) <= 1000
        assert "cut off here: " in made.splitlines()[-1]
        assert made.count("```") % 2 == 0
    assert content_of({"text": "w" * 1000}, 1000) == "w" * 1000


_anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=4)
    | st.dictionaries(
        st.sampled_from(["type", "text", "elements", "fields", "blocks", "title", "url", "style", "indent",
                         "value", "unicode", "accessory", "attachments", "rows", "fallback", "ts", "footer"]),
        inner | st.sampled_from(["section", "rich_text", "rich_text_list", "emoji", "table", "context"]),
        max_size=6,
    ),
    max_leaves=30,
)  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(st.dictionaries(st.sampled_from(["text", "blocks", "attachments"]), _anything))
def test_whatever_is_sent_becomes_a_text_that_fits_or_is_refused(payload: dict[str, Any]) -> None:
    try:
        made = content_of(payload, 300)
    except BadRequest:
        return
    assert 0 < len(made) <= 300
    assert "\0" not in made


@settings(max_examples=150, deadline=None)
@given(st.text(alphabet="*_~`<>|&;!@#:ab \n", max_size=80))
def test_whatever_is_marked_leaves_nothing_put_away(marked: str) -> None:
    assert "\0" not in converted(marked)


@pytest.mark.parametrize(
    "piece", ["*", "* a", "`", "``` ", "<", "<a|", ":a", "~b ", "&lt;", "<!x> *", "[", "*a* `"]
)
def test_the_time_grows_with_the_length_alone(piece: str) -> None:
    text = piece * (120_000 // len(piece))
    began = time.process_time()
    converted(text)
    assert time.process_time() - began < 4  # Squared, it would be minutes.


def test_payloads_come_as_json_or_in_a_form() -> None:
    form = "application/x-www-form-urlencoded"
    for body, kind in (
        (b'{"text": "a"}', "application/json"),
        (b'{"text": "a"}', "text/plain; charset=utf-8"),
        (b'{"text": "a"}', ""),
        (b' {"text": "a"}', form),
        (b"payload=%7B%22text%22%3A+%22a%22%7D&x=1", form),
        (b"payload=%7B%22text%22%3A+%22a%22%7D", f"{form}; charset=UTF-8"),
    ):
        assert read(body, kind) == {"text": "a"}


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b"", "application/json"),
        (b"[1]", "application/json"),
        (b'"ok"', "application/json"),
        (b'{"text": "\xff"}', "application/json"),
        (b"[" * 1000, "application/json"),
        (b'{"a":' * 40 + b"1" + b"}" * 40, "application/json"),
        (b"text=a", "application/x-www-form-urlencoded"),
        (b"payload=%7B%7D&payload=%7B%7D", "application/x-www-form-urlencoded"),
        (b"payload=%FF", "application/x-www-form-urlencoded"),
        (b"payload=nothing", "application/x-www-form-urlencoded"),
        (b"--x", "multipart/form-data; boundary=x"),
    ],
)
def test_what_can_not_be_read_is_refused_in_slacks_word(body: bytes, kind: str) -> None:
    with pytest.raises(BadRequest, match=r"^invalid_payload: "):
        read(body, kind)


def test_the_fixtures_are_what_json_can_hold() -> None:
    for payload, _, _ in TOOLS.values():
        assert msgspec.json.decode(msgspec.json.encode(payload)) == payload
