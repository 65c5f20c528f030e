"""What the mails say: subject, text and HTML of a sign-in link, an invitation, a new password.

Text and HTML have the same link. What came from people (the server's name, addresses) is text in the HTML,
never markup, and never breaks out of a header. If a template of the operator's fails, the mail is sent with
the default one.
"""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

from teamchat.accounts.message import one_line
from teamchat.accounts.outbox import QueuedMail
from teamchat.errors import SettingsError
from teamchat.interfaces import Mail
from teamchat.model.text import plain
from teamchat.observability.logs import get_logger
from teamchat.settings import Settings

if TYPE_CHECKING:
    from jinja2 import Environment

MAX_TEMPLATE_CHARACTERS = 500_000
_UNITS = ((86_400, "day"), (3600, "hour"), (60, "minute"), (1, "second"))
_UNSENDABLE = re.compile("[\x00\ud800-\udfff]")

_log = get_logger(__name__)

Template = Callable[[str, int], str]
"""Takes the link and the minutes it works for, and returns one version of the magic-link mail."""


class Composer:
    """Writes mails. Made once, by `build`."""

    def __init__(self, subject: str, text_version: Template | None, html_version: Template | None) -> None:
        self._subject = subject
        self._own = {"txt": ("textVersion", text_version), "html": ("htmlVersion", html_version)}

    @classmethod
    def build(cls, settings: Settings) -> Composer | None:
        """Find the templates that the settings name, or return None if no mail is configured.

        Raises `SettingsError` for a name that leads to no function.
        """
        if settings.email is None:
            return None
        names = settings.auth.templates
        return cls(
            settings.email.email_subject,
            _function("auth.templates.textVersion", names.text_version),
            _function("auth.templates.htmlVersion", names.html_version),
        )

    def compose(self, queued: QueuedMail, link: str, server_name: str) -> Mail:
        """Return the mail that carries `link`. The same mail is composed alike at every try."""
        seconds = (queued.expires_at - queued.created_at) // 1000
        values = {
            "link": link,
            "email": queued.email,
            "server_name": server_name,
            "lifetime": lifetime(seconds),
        }
        text, html = (self._version(kind, queued.purpose, values, seconds) for kind in ("txt", "html"))
        subject = one_line(self._subject_of(queued.purpose, server_name))
        return Mail(id=queued.link_id, recipient=queued.email, subject=subject, text=text, html=html)

    def _subject_of(self, purpose: str, server_name: str) -> str:
        subjects = {
            "magic": self._subject,
            "invite": f"Your invitation to {server_name}",
            "reset": f"Choose a new password for {server_name}",
        }
        return subjects[purpose]

    def _version(self, kind: str, purpose: str, values: dict[str, str], seconds: int) -> str:
        key, own = self._own[kind]
        if own is not None and purpose == "magic":
            written = _written(own, key, values["link"], max(1, seconds // 60))
            if written is not None:
                return written
        return _templates().get_template(f"{purpose}.{kind}").render(values)


@cache
def _templates() -> Environment:
    """Return the templates that are teamchat's own; a server that sends no mail never loads Jinja."""
    from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape

    return Environment(
        loader=PackageLoader("teamchat.accounts", "mail_templates"),
        autoescape=select_autoescape(["html"]),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def lifetime(seconds: int) -> str:
    """Say how long something works, in the words a person would use: ``15 minutes``, ``7 days``."""
    for unit, name in _UNITS:
        count, rest = divmod(seconds, unit)
        if count and (count > 1 or not rest):
            return f"{count} {name}{'s' if count > 1 else ''}"
    return "less than a second"


def _written(template: Template, key: str, link: str, minutes: int) -> str | None:
    """Return what a template of the operator's wrote, or None, logged, if that can't be sent."""
    try:
        written: Any = template(link, minutes)
    except Exception as error:
        _log.error("a template failed; the default is used", key=f"auth.templates.{key}", exc_info=error)
        return None
    if not isinstance(written, str) or not written.strip() or _UNSENDABLE.search(written):
        _log.error("a template returned no text; the default is used", key=f"auth.templates.{key}")
        return None
    if len(written) > MAX_TEMPLATE_CHARACTERS:
        _log.error("a template returned too much text; the default is used", key=f"auth.templates.{key}")
        return None
    return plain(written)


def _function(key: str, name: str | None) -> Template | None:
    """Return the function that ``module:function`` names."""
    if name is None:
        return None
    module_name, _, function_name = name.partition(":")
    try:
        module = importlib.import_module(module_name)
    except (Exception, SystemExit) as error:
        raise SettingsError(
            f"{key} names a module that can't be imported ({type(error).__name__}). "
            "Install it, or add its directory to PYTHONPATH."
        ) from error
    found: Any = getattr(module, function_name, None)
    if not callable(found) or inspect.iscoroutinefunction(found):
        raise SettingsError(
            f"{key} must name a plain function of its module that takes (magicLink, expiryMinutes)."
        )
    template: Template = found
    return template
