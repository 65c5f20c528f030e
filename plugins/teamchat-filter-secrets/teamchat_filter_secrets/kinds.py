"""What a secret looks like.

What must stay true: each pattern has a beginning that ordinary text does not have, and is matched in time
proportional to the text's length, for anybody may send anything.
"""

from __future__ import annotations

import re

_MASK = "[removed: {kind}]"
_ARMOUR = re.compile(
    r"-----BEGIN (?:[A-Z0-9]{1,20} ){0,3}PRIVATE KEY(?: BLOCK)?-----"
    r"(?:[^-]*(?:-----END (?:[A-Z0-9]{1,20} ){0,3}PRIVATE KEY(?: BLOCK)?-----)?)"
)
_KINDS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("a private key", _ARMOUR),
    ("an AWS access key", re.compile(r"\b(?:AKIA|ASIA)[A-Z2-7]{16}\b")),
    ("a GitHub token", re.compile(r"\b(?:gh[pousr]_[A-Za-z0-9]{36,255}|github_pat_[A-Za-z0-9_]{22,255})\b")),
    ("a GitLab token", re.compile(r"\bglpat-[A-Za-z0-9_-]{20,255}")),
    ("a Slack token", re.compile(r"\bxox[abprs]-[A-Za-z0-9-]{10,255}")),
    ("a Stripe key", re.compile(r"\b[rs]k_live_[A-Za-z0-9]{16,255}\b")),
    ("a Google API key", re.compile(r"\bAIza[A-Za-z0-9_-]{35}")),
)


def found_in(text: str) -> str | None:
    """Return what kind of secret a text holds, or None."""
    return next((kind for kind, pattern in _KINDS if pattern.search(text)), None)


def masked(text: str) -> str:
    """Return the text with every secret replaced by a word on what stood there."""
    for kind, pattern in _KINDS:
        text = pattern.sub(_MASK.format(kind=kind), text)
    return text
