"""What a secret looks like.

Each pattern has a beginning that ordinary text does not have, and is matched in time
proportional to the text's length, for anybody may send anything.
"""

from __future__ import annotations

import re

_MASK = "[removed: {kind}]"
_ARMOUR = re.compile(
    r"-----BEGIN (?:[A-Z0-9]{1,20} ){0,3}PRIVATE KEY(?: BLOCK)?-----"
    # To the next five hyphens: a header such as "Proc-Type" has one, and what follows it is the key.
    r"(?:[^-]++|-(?!----))*+"
    r"(?:-----END (?:[A-Z0-9]{1,20} ){0,3}PRIVATE KEY(?: BLOCK)?-----)?"
)
_START = r"(?<![A-Za-z0-9])"
_KINDS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("a private key", _ARMOUR),
    ("an AWS access key", re.compile(_START + r"(?:AKIA|ASIA)[A-Z2-7]{16}(?![A-Za-z0-9])")),
    ("a GitHub token", re.compile(_START + r"(?:gh[pousr]_[A-Za-z0-9]{36,255}|github_pat_\w{22,255})", re.A)),
    ("a GitLab token", re.compile(_START + r"gl(?:pat|dt|rt|ptt|soat|agent)-[A-Za-z0-9._-]{20,255}")),
    # A digit is in all of them, and keeps out words that are joined by hyphens.
    (
        "a Slack token",
        re.compile(_START + r"(?:xox[abeprs]|xapp)[.-](?=\D{0,40}[0-9])[A-Za-z0-9.-]{10,255}", re.A),
    ),
    ("a Stripe key", re.compile(_START + r"[rs]k_live_[A-Za-z0-9]{16,255}")),
    ("a webhook's secret", re.compile(_START + r"whsec_[A-Za-z0-9+/=]{16,255}")),
    ("a Google API key", re.compile(_START + r"AIza[A-Za-z0-9_-]{35}")),
    ("a teamchat token", re.compile(_START + r"tct_[A-Za-z0-9_-]{43}")),
)


def found_in(text: str) -> str | None:
    """Return what kind of secret a text holds, or None."""
    return next((kind for kind, pattern in _KINDS if pattern.search(text)), None)


def masked(text: str) -> str:
    """Return the text with every secret replaced by a word on what stood there."""
    for kind, pattern in _KINDS:
        text = pattern.sub(_MASK.format(kind=kind), text)
    return text
