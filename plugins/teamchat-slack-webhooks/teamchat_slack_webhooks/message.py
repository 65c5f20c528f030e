"""A payload as the text of one message.

What has blocks is shown by them, and its `text` stands in for them where there is no room, as in a notice of
Slack's: so it is left out beside them.  What the message can't hold is cut off, and it says so.
"""

from __future__ import annotations

from typing import Any

from teamchat import BadRequest
from teamchat_slack_webhooks import attachments, blocks
from teamchat_slack_webhooks.markup import converted, plain
from teamchat_slack_webhooks.shapes import list_in, text_in

_FENCE = "```"


def content_of(payload: dict[str, Any], most: int) -> str:
    """Return the text of a payload, of at most `most` characters.

    Raises `BadRequest` if it says nothing; its sentence begins with Slack's own word.
    """
    text = text_in(payload, "text")
    said = blocks.text_of(list_in(payload, "blocks")) or (
        plain(text) if payload.get("mrkdwn") is False else converted(text)
    )
    parts = [said, *attachments.texts_of(list_in(payload, "attachments"))]
    content = "\n\n".join(part.strip("\n") for part in parts if part.strip())
    if not content.strip():
        raise BadRequest("no_text: the payload has no text, and no blocks or attachments that say something.")
    return _cut(content, most)


def _cut(content: str, most: int) -> str:
    if len(content) <= most:
        return content
    end = f"\n\n… (cut off here: {len(content)} characters, and {most} is the most)"
    room = most - len(end) - len(_FENCE) - 1
    if room <= 0:
        return content[:most]
    kept = content[:room]
    if sum(line.startswith(_FENCE) for line in kept.split("\n")) % 2:
        kept += f"\n{_FENCE}"
    return kept + end
