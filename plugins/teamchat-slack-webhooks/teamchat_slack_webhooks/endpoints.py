"""The endpoint that stands in the place of Slack's: what is asked of a request, and in which order."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import parse_qsl

from teamchat import Unauthorized
from teamchat.web import Request, Section, check_coding
from teamchat_slack_webhooks.message import content_of
from teamchat_slack_webhooks.payload import read

if TYPE_CHECKING:
    from teamchat import Teamchat

PATH = "/webhooks/:webhookId/slack"
_MOST_PARAMETERS = 100


class _Asked(NamedTuple):
    """A request by a webhook, with the token that came with it."""

    webhook_id: str
    token: str


def section_for(app: Teamchat) -> Section:
    """Return the endpoint."""
    section = Section("slack-webhooks")
    most = app.settings.chat.max_message_length

    async def check(webhook_id: str, bearer: str | None, request: Request) -> None:
        await app.check_webhook(*_asked(webhook_id, bearer, request))

    @section.endpoint(
        "POST",
        PATH,
        answer=str,
        open=True,
        first=check,
        query=["token"],
        security="webhookToken",
        statuses=[408, 413, 415],
    )
    async def post_as_slack(webhook_id: str, bearer: str | None, request: Request, key: str | None) -> str:
        """Post what a tool sends to an incoming webhook of Slack's, in JSON or a form's field `payload`."""
        asked = _asked(webhook_id, bearer, request)
        check_coding(request.headers)
        payload = read(await request.body.read(), request.headers.get("Content-Type", ""))
        await app.post_by_webhook(*asked, content_of(payload, most), key, PATH)
        return "ok"

    return section


def _asked(webhook_id: str, bearer: str | None, request: Request) -> _Asked:
    """Return whose request it is by its own word. Raises `Unauthorized` without a token, or with several."""
    if bearer is not None:
        return _Asked(webhook_id, bearer)
    try:
        pairs = parse_qsl(
            request.query_string.decode("ascii"), errors="strict", max_num_fields=_MOST_PARAMETERS
        )
    except ValueError:
        raise Unauthorized from None
    tokens = [value for name, value in pairs if name == "token"]
    if len(tokens) != 1:
        raise Unauthorized
    return _Asked(webhook_id, tokens[0])
