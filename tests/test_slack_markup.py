"""Slack's markup reads as plain text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from teamchat.model.slack import emoji, in_chat_marks, plain, read, text_of_blocks, with_emoji


@pytest.mark.parametrize(
    ("marked", "shown"),
    [
        ("<@U1> <@U2|alan> <@U3>", "@Grace @alan @U3"),
        ("<!here> <!channel> <!subteam^S1|@ops> <!subteam^S2>", "@here @channel @ops @S2"),
        ("<!date^1392734382^{date}|Feb 18>", "Feb 18"),
        ("<https://a.example> <https://a.example|https://a.example>", "https://a.example https://a.example"),
        ("<mailto:a@b.example|a@b.example> <tel:123|123>", "a@b.example 123"),
        ("a &lt;b&gt; &amp;amp; <not closed", "a <b> &amp; <not closed"),
        ("<#C1> <#C9|other> <#C8>", "#general #other #C8"),
    ],
)
def test_slacks_markup_is_shown_as_text(marked: str, shown: str) -> None:
    assert plain(marked, {"U1": "Grace"}, {"C1": "general"}) == shown


def test_who_is_mentioned_is_told_with_the_place_in_the_text() -> None:
    text, named = read("&lt;😀&gt; <@U1>, <@U9>", {"U1": "Grace &amp; Co"}, {})
    assert text == "<😀> @Grace & Co, @U9"
    assert named == [("U1", 4, 11)]
    assert text[4:15] == "@Grace & Co"


@pytest.mark.parametrize(
    ("marked", "written"),
    [
        ("*failing build*, ~not~ *now*: 2*3*4", "**failing build**, ~~not~~ **now**: 2*3*4"),
        ("*<@U1> please* see _this_", "**<@U1> please** see _this_"),
        ("`*code*` <https://a.example/*b*|*words*>", "`*code*` <https://a.example/*b*|*words*>"),
        ("*not\nbold*", "*not\nbold*"),
        ("see ```a = *b*\nc```: so", "see \n```\na = *b*\nc\n```\n: so"),
        ("```\na\n```\nb", "```\na\n```\nb"),
        ("```never closed *a*", "```never closed *a*"),
        ("``````", "``````"),
        ("\0" + "0\0 *a*", "0 **a**"),
    ],
)
def test_words_in_bold_and_blocks_of_code_are_so_here(marked: str, written: str) -> None:
    assert in_chat_marks(marked) == written


@given(st.text(alphabet="*~` \n\0a<>@|0"))
def test_marks_and_lines_alone_are_added(marked: str) -> None:
    def bare(text: str) -> str:
        return text.translate(dict.fromkeys(map(ord, "*~\n\0")))

    assert bare(in_chat_marks(marked)) == bare(marked)


@given(st.text())
def test_text_without_marks_is_left_as_it_is(text: str) -> None:
    if not set(text) & set("<>&"):
        assert plain(text, {}, {}) == text


def test_names_of_emoji_in_a_text_become_them_but_in_code_and_in_links() -> None:
    assert with_emoji(":tada: `:tada:` 10:30:00 :of_ours: :+1:") == "🎉 `:tada:` 10:30:00 :of_ours: 👍"
    assert with_emoji("```\n:tada:\n```\n:wave::skin-tone-6:") == "```\n:tada:\n```\n👋"
    assert with_emoji("```\n:tada:") == "```\n:tada:"
    assert read(":tada: <@U1> <https://a.example/:tada:> :own::skin-tone-2:", {"U1": "Ann"}, {}) == (
        "🎉 @Ann https://a.example/:tada: :own::skin-tone-2:",
        [("U1", 2, 4)],
    )


def test_emoji_have_their_sign_or_keep_their_name() -> None:
    assert [emoji("+1"), emoji("wave::skin-tone-6"), emoji("own_emoji")] == ["👍", "👋", ":own_emoji:"]


def test_text_of_blocks_is_found_however_deep() -> None:
    rich = [{"type": "rich_text", "elements": [{"elements": [{"type": "text", "text": "deep"}]}]}]
    assert text_of_blocks(rich) == "deep"
    assert text_of_blocks([{"type": "section", "text": {"type": "mrkdwn", "text": "*bold*"}}]) == "*bold*"
    assert text_of_blocks(None) == ""
