"""A `teamchat.Mail` as the message that mail servers carry (RFC 5322), for mailers to hand over.

A message goes to one recipient, has the same Message-ID at every attempt, and has no header that teamchat did
not write, whatever is in the recipient, the sender or the subject. An address is a plain one (`local@domain`,
no quotes, no comments), because with anything else parsers disagree about who receives a mail.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from email import policy
from email.headerregistry import Address, HeaderRegistry, UniqueAddressHeader
from email.message import EmailMessage
from email.utils import format_datetime
from typing import TYPE_CHECKING

from teamchat.errors import MailRefused, SettingsError

if TYPE_CHECKING:
    from teamchat.interfaces import Mail

# RFC 5321 section 4.1.2 without quoted strings and address literals, widened by RFC 6531 section 3.3.
_ATOM = r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~\u00a1-\ud7ff\ue000-\U0010ffff-]+"
_LABEL = r"[A-Za-z0-9\u00a1-\ud7ff\ue000-\U0010ffff][A-Za-z0-9\u00a1-\ud7ff\ue000-\U0010ffff-]*"
_ADDRESS = re.compile(rf"({_ATOM}(?:\.{_ATOM})*)@({_LABEL}(?:\.{_LABEL})*)\Z")
_NOT_IN_A_LINE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]+")
# The email package decodes encoded words in what it is given, line breaks and all, and writes them out raw.
_ENCODED_WORD = "=?"
_ID = re.compile(r"[A-Za-z0-9-]+\Z")
# 7-bit bodies: not every server on the way takes more.
_ASCII = policy.SMTP.clone(cte_type="7bit")
_UTF8 = policy.SMTPUTF8.clone(cte_type="7bit")


def message(mail: Mail, sender: Address) -> EmailMessage:
    """Return the message to hand over: both versions of the text, in UTF-8.

    If an address is not ASCII its headers are UTF-8 too, which only a server with SMTPUTF8 takes (RFC 6531).
    Raises `MailRefused` if the recipient is no address that mail can be sent to.
    """
    recipient = _recipient(mail.recipient)
    is_ascii = (recipient.addr_spec + sender.addr_spec).isascii()
    made = EmailMessage(_ASCII if is_ascii else _UTF8)
    made["Message-ID"] = f"<{_message_id(mail.id)}@{sender.domain}>"
    made["Date"] = format_datetime(datetime.now(UTC))
    made["From"] = sender
    made["To"] = recipient
    made["Subject"] = one_line(mail.subject)
    made["Auto-Submitted"] = "auto-generated"  # RFC 3834 section 5: no machine should answer
    made.set_content(mail.text)
    made.add_alternative(mail.html, subtype="html")
    return made


def sender(text: str | None) -> Address:
    """Read ``email.sender``: an address, alone or as ``Name <address>``. Raises `SettingsError`."""
    if text is None:
        raise SettingsError("email.sender is missing. Give the address that mails come from.")
    addresses = [] if one_line(text) != text.strip() else _addresses(text)
    if len(addresses) != 1 or not _ADDRESS.match(addresses[0].addr_spec):
        raise SettingsError("email.sender must be one address, such as Team chat <chat@example.org>.")
    return addresses[0]


def one_line(text: str) -> str:
    """Return `text` as a header can hold it: control characters and line breaks become a space."""
    return _NOT_IN_A_LINE.sub(" ", text).replace(_ENCODED_WORD, "= ?").strip()


def _addresses(text: str) -> list[Address]:
    found = HeaderRegistry()("From", text)
    if not isinstance(found, UniqueAddressHeader) or found.defects:
        return []
    return list(found.addresses)


def _recipient(text: str) -> Address:
    parts = _ADDRESS.match(text)
    if parts is None or _ENCODED_WORD in text:
        raise MailRefused("The recipient is no address that mail can be sent to.")
    return Address(username=parts[1], domain=parts[2])


def _message_id(text: str) -> str:
    if not _ID.match(text):
        raise ValueError("A mail's id has ASCII letters, digits and hyphens.")
    return text
