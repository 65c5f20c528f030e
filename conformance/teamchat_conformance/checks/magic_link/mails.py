"""MAGIC-MAIL: the mail is one that any program reads, and its link leads to the application."""

from __future__ import annotations

import re
from email.utils import getaddresses
from typing import TYPE_CHECKING

from teamchat_conformance.checks.magic_link._area import area, ask_for_link
from teamchat_conformance.checks.signing_in import (
    inapplicable,
    leads_to_application,
    link_of,
    mail_to,
    sink,
    token_of,
)
from teamchat_conformance.expect import require

if TYPE_CHECKING:
    from teamchat_conformance.fixtures.mail import Mail
    from teamchat_conformance.run import Run

_RANDOM = re.compile(r"[A-Za-z0-9_~.-]{22,}\Z")

area.required("MAGIC-MAIL-01", "§5 rule 2", "The mail holds a link with a token", "magic", "mail")
area.required("MAGIC-MAIL-02", "§5 rule 2", "The link starts with the application's URL", "magic", "mail")
area.required("MAGIC-MAIL-03", "§5 auth.templates", "Text and HTML hold the same link", "magic", "mail")
area.recorded("MAGIC-MAIL-04", "§5 auth.templates", "Whether it says for how many minutes", "magic", "mail")
area.recommended("MAGIC-MAIL-05", "§5 email", "It is to the one address, under the subject", "magic", "mail")
area.recommended(
    "MAGIC-MAIL-06", "RFC 5322 §3.6", "It has the headers of a mail, and decodes", "magic", "mail"
)
area.required("MAGIC-MAIL-07", "§2 Tokens", "Every request gets a token of its own", "magic", "mail")
area.recommended("MAGIC-MAIL-08", "RFC 6749 §10.10", "The token can't be guessed", "magic", "mail")

_IDS = tuple(f"MAGIC-MAIL-0{number}" for number in range(1, 9))


@area.scenario(*_IDS, needs=("magic", "mail"))
async def a_mail_with_a_link(run: Run) -> None:
    known = await run.new_user(name="one who reads mail")
    mark = sink(run).mark()
    (await ask_for_link(run.n, known.email)).expect(200)
    mail = await mail_to(run, known.email, mark)
    with run.verdict("MAGIC-MAIL-01"):
        link_of(run, mail.text or mail.html)
    if run.instance.auth.app_url:
        with run.verdict("MAGIC-MAIL-02"):
            leads_to_application(run, link_of(run, mail.text or mail.html))
    else:
        inapplicable(run, "auth.app_url is not declared", "MAGIC-MAIL-02")
    with run.verdict("MAGIC-MAIL-03"):
        require(mail.text and mail.html, "the mail lacks its text or its HTML")
        require(link_of(run, mail.text) == link_of(run, mail.html), "text and HTML hold different links")
    minutes = run.instance.auth.magic_seconds // 60
    says = {kind: bool(re.search(rf"\b{minutes}\b", part)) for kind, part in _parts(mail).items()}
    run.record("MAGIC-MAIL-04", says)
    with run.verdict("MAGIC-MAIL-05"):
        _is_addressed(run, mail, known.email)
    with run.verdict("MAGIC-MAIL-06"):
        _is_well_formed(mail)
    first = token_of(run, mail)
    mark = sink(run).mark()
    (await ask_for_link(run.n, known.email)).expect(200)
    second = token_of(run, await mail_to(run, known.email, mark))
    with run.verdict("MAGIC-MAIL-07"):
        require(first != second, "two requests got the same token")
    with run.verdict("MAGIC-MAIL-08"):
        require(_RANDOM.match(first), f"a token of {len(first)} characters can be guessed")


def _parts(mail: Mail) -> dict[str, str]:
    return {kind: part for kind, part in (("text", mail.text), ("html", mail.html)) if part}


def _is_addressed(run: Run, mail: Mail, email: str) -> None:
    message = mail.message
    headers = [str(value) for name in ("To", "Cc", "Bcc") for value in message.get_all(name, [])]
    addressed = [address for _, address in getaddresses(headers)]
    require(addressed == [email], f"the mail is addressed to {addressed}")
    require(mail.recipients == (email,), f"the mail was handed over for {mail.recipients}")
    wanted = run.instance.mail.subject
    require(
        not wanted or message["Subject"] == wanted, f"the subject is {message['Subject']!r}, not {wanted!r}"
    )


def _is_well_formed(mail: Mail) -> None:
    message = mail.message
    for name in ("From", "Date", "Message-ID", "MIME-Version"):
        require(len(message.get_all(name, [])) == 1, f"the mail should have one header {name}")
    require(not message.defects, f"the mail is malformed: {message.defects}")
    for part in message.walk():
        if part.get_content_maintype() == "text":
            charset = part.get_content_charset("us-ascii")
            content = part.get_payload(decode=True)
            require(isinstance(content, bytes) and _decodes(content, charset), f"a part is not {charset}")


def _decodes(content: bytes, charset: str) -> bool:
    try:
        content.decode(charset)
    except (LookupError, UnicodeDecodeError):
        return False
    return True
