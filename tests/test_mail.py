"""The message as mail servers carry it: one recipient, and no header that teamchat did not write."""

from __future__ import annotations

from email import message_from_bytes, policy
from email.message import EmailMessage
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from teamchat import Mail, MailRefused, SettingsError
from teamchat.accounts.message import message, one_line, sender

FROM = "Team chat <chat@example.org>"
HEADERS = ["Message-ID", "Date", "From", "To", "Subject", "Auto-Submitted", "MIME-Version", "Content-Type"]


def a_mail(**parts: str) -> Mail:
    return Mail(
        **{
            "id": "0190-1",
            "recipient": "bob@example.org",
            "subject": "Hello",
            "text": "text",
            "html": "<p>html</p>",
        }
        | parts
    )


def read(mail: Mail, from_address: str = FROM) -> EmailMessage:
    """Return the message as whoever receives its bytes reads it."""
    return message_from_bytes(message(mail, sender(from_address)).as_bytes(), policy=policy.default)


def content(received: EmailMessage, kind: str) -> str:
    part = received.get_body((kind,))
    assert part is not None
    return str(part.get_content()).replace("\r\n", "\n")


@pytest.mark.slow
@given(st.text(), st.text(), st.text())
@example("=?utf-8?q?Hello=0D=0ABcc:_eve@example.org?=", "", "")
@example("=?utf-8?b?aGkNCkJjYzogZXZlQHgub3JnDQoNCmJvZHk=?=", "", "")
@example("a\r\nBcc: eve@example.org\r\n\r\nbody", "\n.\n\nBcc: x", "")
@example("ä" * 500 + "=?", "", "")
def test_whatever_the_subject_the_headers_are_these(subject: str, text: str, html: str) -> None:
    def clean(text: str) -> str:
        return text.encode("utf-8", "replace").decode().replace("\r", "\n")

    received = read(a_mail(subject=subject, text=clean(text), html=clean(html)))
    assert list(received.keys()) == HEADERS
    assert [each.addr_spec for each in received["To"].addresses] == ["bob@example.org"]
    assert [part.get_content_type() for part in received.iter_parts()] == ["text/plain", "text/html"]


@given(st.text())
@example("bob@example.org\r\nBcc: eve@example.org")
@example("=?utf-8?q?eve?=@example.org")
@example('"bob,eve"@example.org')
@example("bob@example.org,eve@example.org")
@example("bob@[127.0.0.1]")
@example("a..b@example.org")
def test_whatever_the_recipient_a_mail_goes_to_them_or_to_nobody(recipient: str) -> None:
    try:
        made = message(a_mail(recipient=recipient), sender(FROM))
    except MailRefused:
        return
    assert [each.addr_spec for each in made["To"].addresses] == [recipient]
    assert f"To: {recipient}".encode() in made.as_bytes().replace(b"\r\n ", b" ")


def test_a_refused_recipient_is_not_named() -> None:
    with pytest.raises(MailRefused, match=r"^The recipient is no address that mail can be sent to\.$"):
        message(a_mail(recipient="bob@example.org\r\nBcc: eve@example.org"), sender(FROM))


@pytest.mark.slow
@given(st.from_regex(r"[a-z0-9!#$%&'*+/=?^_`{|}~-]{1,60}@[a-z0-9]{1,30}\.example", fullmatch=True))
def test_every_plain_address_is_one_that_mail_goes_to(recipient: str) -> None:
    if "=?" in recipient:
        return
    assert [each.addr_spec for each in read(a_mail(recipient=recipient))["To"].addresses] == [recipient]


def test_the_message_is_of_ascii_bytes_where_the_addresses_are() -> None:
    mail = a_mail(subject="Grüße", text="Zażółć gęślą jaźń", html="<p>☂</p>")
    raw = message(mail, sender("Täm <chat@example.org>")).as_bytes()
    assert raw.isascii()
    assert max(map(len, raw.split(b"\r\n"))) <= 998
    assert b"\n" not in raw.replace(b"\r\n", b"")
    received = read(mail)
    assert (received["Subject"], content(received, "plain"), content(received, "html")) == (
        "Grüße",
        "Zażółć gęślą jaźń\n",
        "<p>☂</p>\n",
    )


def test_addresses_beyond_ascii_make_headers_in_utf_8() -> None:
    raw = message(a_mail(recipient="jürgen@bücher.example"), sender(FROM)).as_bytes()
    assert "To: jürgen@bücher.example\r\n".encode() in raw


def test_the_message_id_belongs_to_the_mail_and_no_machine_need_answer() -> None:
    received = read(a_mail(id="0190abc"))
    assert received["Message-ID"] == "<0190abc@example.org>"
    assert received["Auto-Submitted"] == "auto-generated"
    assert received["Date"].datetime.tzinfo is not None
    with pytest.raises(ValueError, match="id"):
        read(a_mail(id="0190>\r\nBcc: eve@example.org"))


@pytest.mark.parametrize(
    ("text", "name", "address"),
    [
        ("chat@example.org", "", "chat@example.org"),
        ("Team chat <chat@example.org>", "Team chat", "chat@example.org"),
        ('"Chat, Team" <chat@example.org>', "Chat, Team", "chat@example.org"),
        ("Täm <chat@bücher.example>", "Täm", "chat@bücher.example"),
        ("admin@localhost", "", "admin@localhost"),
    ],
)
def test_a_sender_is_an_address_with_or_without_a_name(text: str, name: str, address: str) -> None:
    read_as = sender(text)
    assert (read_as.display_name, read_as.addr_spec) == (name, address)


@pytest.mark.parametrize(
    "text",
    [
        None,
        "",
        "chat",
        "a@example.org, b@example.org",
        "chat@example.org\r\nBcc: eve@example.org",
        "=?utf-8?q?a=0D=0ABcc:_eve@x.org?= <chat@example.org>",
        "Team, chat <chat@example.org>",
        "chat@exa mple.org",
    ],
)
def test_a_sender_that_is_not_one_address_is_told_to_the_operator(text: Any) -> None:
    with pytest.raises(SettingsError, match=r"^email\.sender "):
        sender(text)


@given(st.text())
def test_a_line_stays_one_line(text: str) -> None:
    line = one_line(text)
    assert len(line.splitlines()) <= 1
    assert "=?" not in line
    line.encode()
