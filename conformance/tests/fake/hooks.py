"""Webhooks (interface, part 4, Webhooks)."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Any

from conformance.tests.fake.asking import Ask, Refusal, route, success, unknown
from conformance.tests.fake.messages import new_message, shown
from conformance.tests.fake.model import Webhook, now

if TYPE_CHECKING:
    from conformance.tests.fake.server import Fake


@route("GET", "/webhooks")
def webhooks(fake: Fake, ask: Ask) -> dict[str, Any]:
    ask.must_be_admin()
    listed = [one.shown() for one in fake.store.webhooks.values()]
    if fake.has("webhooks-list-tokens"):
        listed = [{**one.shown(), "token": one.token} for one in fake.store.webhooks.values()]
    if fake.has("webhooks-own-only"):
        listed = [one for one in listed if one["createdBy"] == ask.user.id]
    return {"webhooks": listed}


@route("POST", "/webhooks")
def new_webhook(fake: Fake, ask: Ask) -> dict[str, Any]:
    ask.must_be_admin()
    name, channel = ask.name(), ask.text("channelId")
    if channel not in fake.store.channels and not fake.has("webhook-of-anything"):
        unknown("channel")
    token = "f" * 64 if fake.has("webhook-token-constant") else secrets.token_hex(32)
    if fake.has("webhook-token-short"):
        token = token[:40]
    made = Webhook(fake.store.new_id("w"), name, channel, token, now(), ask.user.id)
    fake.store.webhooks[made.id] = made
    told = {"id": made.id, "name": made.name, "channelId": made.channel}
    fake.tell("NEW_WEBHOOK", {**told, "token": token} if fake.has("webhook-event-token") else told)
    return {"webhook": {**made.shown(), "token": token}}


@route("DELETE", "/webhooks/:webhookId")
def delete_webhook(fake: Fake, ask: Ask) -> dict[str, Any]:
    found = fake.store.webhooks.get(ask.params["webhookId"]) or unknown("webhook")
    ask.must_be_admin()
    if not fake.has("webhook-delete-lost"):
        del fake.store.webhooks[found.id]
    fake.tell("DELETE_WEBHOOK", {"id": found.id, "channelId": found.channel})
    return success()


@route("POST", "/webhooks/:webhookId/messages", "webhook")
def post(fake: Fake, ask: Ask) -> dict[str, Any]:
    owner = next((one for one in fake.store.webhooks.values() if one.token == ask.bearer), None)
    named = fake.store.webhooks.get(ask.params["webhookId"])
    if fake.has("webhook-token-not-asked") and named is not None:
        owner = named
    if owner is None:
        raise Refusal(401, "The webhook's token is needed")
    if named is None:
        raise Refusal(401 if fake.contrary else 404, "There is no such webhook")
    if named is not owner and not fake.has("webhook-token-of-another"):
        raise Refusal(401 if fake.contrary else 403, "That is the token of another webhook")
    place = named.channel
    if fake.has("webhook-posts-anywhere"):
        place = ask.body.get("channelId", place)
    author = {"id": f"webhook:{named.id}", "userName": named.name, "isBot": True}
    if fake.has("webhook-author-plain"):
        author = {"id": named.id, "userName": named.name}
    told = shown(fake, new_message(fake, ask, place, ask.content(), author=author))
    fake.tell("NEW_MESSAGE", told)
    return {"message": told}
