"""The claim as a badge: a picture, and the JSON that services which draw badges read."""

from __future__ import annotations

import json
from html import escape

from teamchat_conformance.report.document import Document

LABEL = "teamchat conformance"
_COLOURS = {
    "conforming": ("brightgreen", "#2e7d4f"),
    "incomplete": ("yellow", "#8a6d00"),
    "non-conforming": ("red", "#b3382c"),
}
_CHARACTER = 6.6
_PADDING = 10


def as_json(document: Document) -> str:
    """Return the badge in the form of an endpoint badge, schema version 1."""
    named = {
        "schemaVersion": 1,
        "label": LABEL,
        "message": document.claim.says,
        "color": _COLOURS[document.claim.word][0],
    }
    return json.dumps(named, indent=2) + "\n"


def as_svg(document: Document) -> str:
    """Return the badge as a picture of its own."""
    message = escape(document.claim.says)
    left, right = (round(len(text) * _CHARACTER) + 2 * _PADDING for text in (LABEL, document.claim.says))
    colour = _COLOURS[document.claim.word][1]
    return f"""<svg xmlns="http://www.w3.org/2000/svg" width="{left + right}" height="20" role="img" \
aria-label="{LABEL}: {message}">
<title>{LABEL}: {message}</title>
<clipPath id="r"><rect width="{left + right}" height="20" rx="4"/></clipPath>
<g clip-path="url(#r)"><rect width="{left}" height="20" fill="#41464d"/>\
<rect x="{left}" width="{right}" height="20" fill="{colour}"/></g>
<g fill="#fff" text-anchor="middle" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">
<text x="{left / 2:g}" y="14" textLength="{left - 2 * _PADDING}">{LABEL}</text>
<text x="{left + right / 2:g}" y="14" textLength="{right - 2 * _PADDING}">{message}</text></g>
</svg>
"""
