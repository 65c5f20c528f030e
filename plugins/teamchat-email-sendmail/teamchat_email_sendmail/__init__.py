"""The plugin that offers the mailer ``sendmail``."""

from __future__ import annotations

from collections.abc import Sequence

from teamchat import Backend, Mailer, hookimpl
from teamchat_email_sendmail.mailer import SendmailFailed, SendmailMailer, SendmailOptions, open_sendmail

__all__ = ["SendmailFailed", "SendmailMailer", "SendmailOptions", "mailers", "open_sendmail"]


@hookimpl
def mailers() -> Sequence[Backend[Mailer]]:
    """Offer ``sendmail``."""
    return [Backend("sendmail", open_sendmail, SendmailOptions)]
