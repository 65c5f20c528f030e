"""The keys of ``[plugins.metrics]``."""

from __future__ import annotations

import re
from typing import Annotated

from msgspec import Meta, Struct

from teamchat import SettingsError

# What can stand in an Authorization header (RFC 6750, section 2.1).
_TOKEN = re.compile(r"[A-Za-z0-9\-._~+/]{16,500}=*\Z")


class Options(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """`token` is what who reads /metrics must show. Without it there is no such endpoint."""

    token: Annotated[str | None, Meta(extra={"secret": True})] = None

    def __repr__(self) -> str:
        return f"Options(token={'<hidden>' if self.token else None})"

    def checked_token(self) -> str | None:
        """Return the token. Raises `SettingsError` for one that can't be sent or could be guessed."""
        if self.token is not None and not _TOKEN.match(self.token):
            raise SettingsError(
                "plugins.metrics.token must have at least 16 letters, digits and characters of -._~+/ "
                "(`openssl rand -hex 24` makes one)."
            )
        return self.token
