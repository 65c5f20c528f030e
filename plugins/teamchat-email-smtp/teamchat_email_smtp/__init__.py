"""The plugin that offers the mailer ``smtp``."""

from __future__ import annotations

from collections.abc import Sequence

from teamchat import Backend, Mailer, hookimpl
from teamchat_email_smtp.mailer import SmtpMailer, SmtpOptions, open_smtp

__all__ = ["SmtpMailer", "SmtpOptions", "mailers", "open_smtp"]


@hookimpl
def mailers() -> Sequence[Backend[Mailer]]:
    """Offer ``smtp``."""
    return [Backend("smtp", open_smtp, SmtpOptions)]
