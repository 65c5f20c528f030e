"""A second factor at sign-in, by an app on a phone: the capability `second-factor`, version 1 (part M)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from teamchat import Capability, Options, Parts, hookimpl
from teamchat_second_factor.codes import Codes
from teamchat_second_factor.endpoints import section_for
from teamchat_second_factor.factors import MOST, Factors, Going
from teamchat_second_factor.sealing import Sealer
from teamchat_second_factor.tables import CHECKS, MIGRATIONS

if TYPE_CHECKING:
    from teamchat import Teamchat

NAME = "second-factor"


def parts(app: Teamchat, _: Options) -> Parts:
    """Return what the capability brings to one server."""
    sealer = Sealer(app.accounts.key(NAME))
    codes = Codes(sealer, app.accounts.clock)
    return Parts(
        limits={"perUser": MOST},
        routes=[section_for(app, Factors(app, sealer, codes))],
        changes=Going(),
        second_step=codes,
    )


SECOND_FACTOR = Capability(name=NAME, version=1, tables=MIGRATIONS, checks=CHECKS, parts=parts)


@hookimpl
def capabilities() -> Sequence[Capability]:
    """Offer the capability."""
    return [SECOND_FACTOR]
