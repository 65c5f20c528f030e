"""Health, server settings and channels (interface, part 4)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from conformance.tests.fake.asking import Ask, Refusal, route, success, unknown
from conformance.tests.fake.model import Channel, now
from conformance.tests.fake.wire import Response, as_json

if TYPE_CHECKING:
    from conformance.tests.fake.server import Fake


@route("GET", "/health", "open")
def health(fake: Fake, ask: Ask) -> Response:
    if fake.has("health-asks-token") and ask.bearer:
        fake.identify(ask, ask.bearer)
    if fake.has("health-as-json"):
        return as_json({"status": "OK"})
    return Response(200, b"All OK.\n" if fake.contrary else b"OK", {"Content-Type": "text/plain"})


@route("GET", "/server/settings")
def settings(fake: Fake, ask: Ask) -> dict[str, Any]:
    return {"name": fake.store.server_name}


@route("PUT", "/server/settings")
def change_settings(fake: Fake, ask: Ask) -> dict[str, Any]:
    ask.must_be_admin()
    name = ask.name()
    if not fake.has("settings-not-kept"):
        fake.store.server_name = name
    fake.tell("UPDATE_SERVER_SETTINGS", {"name": name})
    return {"name": name}


@route("GET", "/channels")
def channels(fake: Fake, ask: Ask) -> dict[str, Any]:
    listed = [_shown(one) for one in fake.store.channels.values()]
    return {"channels": listed[::-1] if fake.contrary else listed}


@route("POST", "/channels")
def new_channel(fake: Fake, ask: Ask) -> dict[str, Any]:
    ask.must_be_admin()
    name = _free_name(fake, ask)
    made = Channel(fake.store.new_id("c"), name, now(), ask.user.id)
    fake.store.channels[made.id] = made
    fake.tell("NEW_CHANNEL", _shown(made))
    return {"channel": _shown(made)}


@route("PUT", "/channels/:channelId")
def rename_channel(fake: Fake, ask: Ask) -> dict[str, Any]:
    channel = the_channel(fake, ask)
    ask.must_be_admin()
    if fake.has("channel-owner-only") and channel.created_by != ask.user.id:
        raise Refusal(403, "Only who made a channel may rename it")
    name = _free_name(fake, ask, channel)
    if not fake.has("channel-rename-lost"):
        channel.name = name
    fake.tell("UPDATE_CHANNEL", {"id": channel.id, "name": name})
    return {"channel": {"id": channel.id, "name": name, "updatedAt": now()}}


@route("DELETE", "/channels/:channelId")
def delete_channel(fake: Fake, ask: Ask) -> dict[str, Any]:
    channel = the_channel(fake, ask)
    ask.must_be_admin()
    del fake.store.channels[channel.id]
    for hook in [one for one in fake.store.webhooks.values() if one.channel == channel.id]:
        if not fake.has("channel-keeps-webhooks"):
            del fake.store.webhooks[hook.id]
    if not fake.has("channel-keeps-messages"):
        for message in list(fake.store.listed[channel.id]):
            fake.store.drop(message)
    fake.tell("DELETE_CHANNEL", {"id": channel.id, "name": channel.name})
    return success()


def the_channel(fake: Fake, ask: Ask) -> Channel:
    """Return the channel that the path names."""
    return fake.store.channels.get(ask.params["channelId"]) or unknown("channel")


def _free_name(fake: Fake, ask: Ask, own: Channel | None = None) -> str:
    name = ask.name()
    for channel in fake.store.channels.values():
        if channel is not own and channel.name.lower() == name.lower() and not fake.contrary:
            raise Refusal(400, "There is a channel of that name")
    return name


def _shown(channel: Channel) -> dict[str, Any]:
    return {"id": channel.id, "name": channel.name, "createdAt": channel.created}
