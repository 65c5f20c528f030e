"""Messages that quote others: the capability `quotes`, version 1 (extension H-4)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from teamchat import Capability, DraftFields, MessageFields, Options, Parts, hookimpl
from teamchat_quotes.exported import QuotesExported
from teamchat_quotes.going import Going
from teamchat_quotes.quotes import QuoteDraft, QuoteFields, Quotes, names_one
from teamchat_quotes.tables import CHECKS, MIGRATIONS

if TYPE_CHECKING:
    from teamchat import Teamchat


def parts(app: Teamchat, _: Options) -> Parts:
    """Return what the capability brings to one server."""
    quotes = Quotes(app)
    return Parts(
        changes=Going(),
        message_fields=MessageFields(kind=QuoteFields, read=quotes.read),
        draft_fields=DraftFields(
            kind=QuoteDraft, write=quotes.write, concerns=names_one, stands_alone=quotes.stands_alone
        ),
    )


QUOTES = Capability(
    name="quotes",
    version=1,
    tables=MIGRATIONS,
    checks=CHECKS,
    export=QuotesExported(),
    client="client",
    parts=parts,
)


@hookimpl
def capabilities() -> Sequence[Capability]:
    """Offer the capability."""
    return [QUOTES]
