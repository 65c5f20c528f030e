"""Webhooks: other systems post into one channel, each with its own token (decision D-32)."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from teamchat.application import Application
from teamchat.chat.drafts import Draft
from teamchat.errors import Unauthorized
from teamchat.model import Caller, Webhook
from teamchat.web.endpoints import Answer, Section, Success
from teamchat.web.responses import Response
from teamchat.web.sections.messages import OneMessage, answered

section = Section("webhooks")


class NewWebhook(Struct, frozen=True, rename="camel"):
    """A webhook to make: the bot's name, the channel it posts to, and whether it may mention all of it."""

    name: str
    channel_id: str
    may_mention_all: bool = False


class WebhookList(Answer, frozen=True):
    """All webhooks, without their tokens."""

    webhooks: Sequence[Webhook]


class OneWebhook(Answer, frozen=True):
    """A new webhook; its token is shown here and never again."""

    webhook: Webhook


async def _check_manage(app: Application, caller: Caller) -> None:
    await app.chat.webhooks.check_manage(caller)


async def _check_post(app: Application, webhook_id: str, bearer: str | None) -> None:
    if bearer is None:
        raise Unauthorized
    await app.chat.webhooks.check_post(webhook_id, bearer)


@section.endpoint("GET", "/webhooks", scopes=("admin",), answer=WebhookList)
async def list_webhooks(app: Application, caller: Caller) -> WebhookList:
    """List the webhooks (admin)."""
    return WebhookList(await app.chat.webhooks.list(caller))


@section.endpoint(
    "POST", "/webhooks", scopes=("admin",), body=NewWebhook, answer=OneWebhook, first=_check_manage
)
async def create_webhook(app: Application, caller: Caller, body: NewWebhook) -> OneWebhook:
    """Make a webhook (admin)."""
    made = await app.chat.webhooks.create(
        caller, body.name, body.channel_id, may_mention_all=body.may_mention_all
    )
    return OneWebhook(made)


@section.endpoint("DELETE", "/webhooks/:webhookId", scopes=("admin",), answer=Success)
async def delete_webhook(app: Application, caller: Caller, webhook_id: str) -> Success:
    """Delete a webhook (admin)."""
    await app.chat.webhooks.delete(caller, webhook_id)
    return Success()


@section.endpoint(
    "POST",
    "/webhooks/:webhookId/messages",
    body=Draft,
    answer=OneMessage,
    open=True,
    first=_check_post,
    security="webhookToken",
)
async def post_by_webhook(
    app: Application, webhook_id: str, bearer: str | None, body: Draft, key: str | None
) -> Answer | Response:
    """Post a message as a webhook."""
    if bearer is None:
        raise Unauthorized
    message, beside = await app.chat.webhooks.submit(webhook_id, bearer, body, key)
    return answered(OneMessage(message), beside)
