"""What tools send: JSON, or a form with JSON in its field `payload`, as Slack's incoming webhooks take both.

Nothing else is asked of what stands in it here: tools send fields that Slack forgot long ago, and what has an
odd shape is passed over where it is read (`parts`).
"""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qsl

import msgspec

from teamchat import BadRequest
from teamchat.web import decode_body

_MOST_FIELDS = 100
_decode = msgspec.json.Decoder(dict[str, Any]).decode


def read(body: bytes, content_type: str) -> dict[str, Any]:
    """Return the payload of a request. Raises `BadRequest`; its sentence begins with Slack's own word."""
    kind = content_type.partition(";")[0].strip().lower()
    if kind == "multipart/form-data":
        raise _invalid("a form must be application/x-www-form-urlencoded.")
    # curl -d says that it sends a form, whatever it sends.
    if kind == "application/x-www-form-urlencoded" and not body.lstrip().startswith(b"{"):
        body = _of_form(body)
    try:
        return decode_body(body, _decode)  # type: ignore[no-any-return]
    except BadRequest as error:
        raise _invalid(error.sentence) from None


def _of_form(body: bytes) -> bytes:
    """Return the field `payload` of a form."""
    try:
        fields = parse_qsl(
            body.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=_MOST_FIELDS
        )
    except ValueError:
        raise _invalid("the form can't be read.") from None
    found = [value for name, value in fields if name == "payload"]
    if len(found) != 1:
        raise _invalid("the form must have one field that is called payload.")
    return found[0].encode()


def _invalid(why: str) -> BadRequest:
    return BadRequest(f"invalid_payload: {why}")
