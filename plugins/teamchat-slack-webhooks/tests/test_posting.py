"""Posting as tools post to Slack, through the whole application, on the storage that the tests run on."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import msgspec
import pytest
from teamchat_slack_webhooks import SLACK_WEBHOOKS

from teamchat import Capability, Forbidden, Posting, Storage
from teamchat.application import Application
from teamchat.mentions import MENTIONS
from teamchat.model import Caller, Message, Webhook
from teamchat.model.pages import Page
from teamchat.read_state import LEVELS, READ_STATE, THREADS
from teamchat.testing import CapabilityContract
from teamchat.web.access_log import AccessLog
from teamchat.web.app import App, create_app
from tests.storages import open_storage
from tests.web.client import Answer, Client, declared

TOOLS = import_module("plugins.teamchat-slack-webhooks.tests.tools").TOOLS
FORM = "application/x-www-form-urlencoded"


class TestSlackWebhooks(CapabilityContract):
    def capability(self) -> Capability:
        return SLACK_WEBHOOKS

    def open_storage(self, directory: Path) -> AbstractAsyncContextManager[Storage]:
        directory.mkdir(parents=True, exist_ok=True)
        return open_storage(directory)


@dataclass
class World:
    """A server with an admin, a channel, and a webhook of it."""

    app: Application
    site: App
    ada: Caller
    hook: Webhook

    @property
    def path(self) -> str:
        return f"/webhooks/{self.hook.id}/slack"

    async def send(self, body: Any, token: str | None = None, **options: Any) -> Answer:
        client = Client(self.site, self.hook.token if token is None else token or None)
        return await client.call("POST", options.pop("path", self.path), body, **options)

    async def messages(self) -> list[Message]:
        """Return what was said, oldest first."""
        page = await self.app.chat.messages.page(self.ada, self.hook.channel_id, Page(50))
        return [*page.messages]


@asynccontextmanager
async def opened(tmp_path: Path, *beside: Capability) -> AsyncIterator[World]:
    class Contract(TestSlackWebhooks):
        def beside(self) -> list[Capability]:
            return [*beside]

    async with Contract().application(tmp_path) as app:
        _, signed_in = await app.accounts.sign_in("admin@localhost", "192.0.2.1", "tests")
        ada = await app.accounts.authenticate(signed_in.access_token)
        [channel] = await app.chat.channels.list(ada)
        hook = await app.chat.webhooks.create(ada, "Alerts", channel.id)
        yield World(app, create_app(app, app.capabilities.routes), ada, hook)


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with opened(tmp_path) as world:
        yield world


def as_form(payload: Any) -> dict[str, Any]:
    raw = urlencode({"payload": msgspec.json.encode(payload)}).encode()
    return {"raw": raw, "headers": [("content-type", FORM)]}


async def test_each_tool_is_answered_ok_and_its_message_stands_in_the_channel(world: World) -> None:
    for payload, is_form, expected in TOOLS.values():
        answer = await (world.send(None, **as_form(payload)) if is_form else world.send(payload))
        assert (answer.status, answer.body) == (200, b"ok")
        assert answer.headers["content-type"].startswith("text/plain")
        said = (await world.messages())[-1]
        assert said.content == expected
        author = said.author
        assert (author.id, author.user_name, author.is_bot) == (f"webhook:{world.hook.id}", "Alerts", True)


async def test_the_token_may_stand_in_the_query_here_and_nowhere_else(world: World) -> None:
    token, payload = world.hook.token, {"text": "hello"}
    assert (await world.send(payload, "", path=f"{world.path}?token={token}")).status == 200
    for query in ("", "?token=", f"?token={token}x", f"?token={token}&token={token}", "?token=%FF"):
        (await world.send(payload, "", path=world.path + query)).problem(401)
    usual = f"/webhooks/{world.hook.id}/messages"
    (await world.send({"content": "x"}, "", path=f"{usual}?token={token}")).problem(401)
    for method, path in (("GET", "/channels"), ("GET", "/webhooks"), ("POST", f"{usual}/slack")):
        answer = await Client(world.site).call(method, f"{path}?token={token}", payload)
        assert answer.status in {401, 404}
    assert len(await world.messages()) == 1


async def test_the_token_is_asked_for_before_anything_of_the_body_is_read(world: World) -> None:
    client = Client(world.site, "0" * 64)
    answer = await client.call("POST", world.path, pieces=[b"{", b'"text": "x"}'])
    answer.problem(401)
    assert answer.pulled == 0


async def test_d32_whose_token_it_is_decides_as_at_the_usual_endpoint(world: World) -> None:
    other = await world.app.chat.webhooks.create(world.ada, "Other", world.hook.channel_id)
    (await world.send({"text": "x"}, path=f"/webhooks/{other.id}/slack")).problem(403)
    (await world.send({"text": "x"}, path=f"/webhooks/{'0' * 32}/slack")).problem(404)
    unknown = await world.send({"text": "x"}, "0" * 64, path=f"/webhooks/{'0' * 32}/slack")
    known = await world.send({"text": "x"}, "0" * 64)
    assert unknown.body == known.body
    known.problem(401)
    await world.app.chat.channels.archive(world.ada, world.hook.channel_id, is_archived=True)
    (await world.send({"text": "x"})).problem(403)
    await world.app.chat.webhooks.delete(world.ada, world.hook.id)
    (await world.send({"text": "x"})).problem(401)


async def test_what_says_nothing_or_can_not_be_read_is_refused_in_one_shape(world: World) -> None:
    assert (await world.send({})).problem(400).startswith("no_text: ")
    assert (await world.send(None, raw=b"{")).problem(400).startswith("invalid_payload: ")
    (await world.send({"text": "a"}, headers=[("content-encoding", "gzip")])).problem(415)
    (await world.send({"text": "a" * 300_000})).problem(413)
    assert {408, 413, 415} <= declared(world.site, "post_as_slack")
    assert (await world.send({"text": "a\0b"})).status == 200
    assert [said.content for said in await world.messages()] == ["ab"]
    answer = await world.send(None, raw=b'{"text": "\\ud800"}')
    assert answer.status == 400


async def test_x13_a_retry_posts_once_and_the_key_is_refused_for_anything_else(world: World) -> None:
    key = [("idempotency-key", "again")]
    for _ in range(2):
        assert (await world.send({"text": "once"}, headers=key)).body == b"ok"
    (await world.send({"text": "twice"}, headers=key)).problem(400)
    usual = f"/webhooks/{world.hook.id}/messages"
    (await world.send({"content": "once"}, headers=key, path=usual)).problem(400)
    assert [said.content for said in await world.messages()] == ["once"]


async def test_message_filters_see_it_and_may_refuse_it(world: World) -> None:
    class Strict:
        name = "strict"

        async def filter(self, posting: Posting) -> str:
            if "secret" in posting.content:
                raise Forbidden("No secrets here.")
            return posting.content.upper()

    world.app.chat.filters.use([Strict()])
    assert (await world.send({"text": "a secret"})).problem(403) == "No secrets here."
    assert (await world.send({"text": "loud"})).status == 200
    assert [said.content for said in await world.messages()] == ["LOUD"]


async def test_what_is_too_long_is_cut_and_not_refused(world: World) -> None:
    assert (await world.send({"text": "w" * 20_000})).status == 200
    [said] = await world.messages()
    assert len(said.content) <= 16_000
    assert said.content.endswith("(cut off here: 20000 characters, and 16000 is the most)")


async def test_e8_a_wide_mention_is_one_for_webhooks_alone_that_may(tmp_path: Path) -> None:
    async with opened(tmp_path, READ_STATE, THREADS, LEVELS, MENTIONS) as world:
        wide = await world.app.chat.webhooks.create(
            world.ada, "Wide", world.hook.channel_id, may_mention_all=True
        )
        name = world.ada.user.user_name
        for hook in (world.hook, wide):
            payload = {"text": f"<!channel> <@U1|{name}>"}
            answer = await world.send(payload, hook.token, path=f"/webhooks/{hook.id}/slack")
            assert answer.status == 200
        narrow, broad = [msgspec.to_builtins(one)["entities"] for one in await world.messages()]
        assert [one["type"] for one in narrow] == ["user"]
        assert sorted(one["type"] for one in broad) == ["user", "wide"]


async def test_no_log_has_the_token_or_the_text(world: World, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    logged = AccessLog(world.site, lambda _: "192.0.2.1")
    for token, body in ((world.hook.token, b'{"text": "between us"}'), ("f" * 64, b"{}")):
        await Client(logged).call("POST", f"{world.path}?token={token}", raw=body)
    lines = caplog.text
    assert lines.count(world.path) >= 2
    for secret in (world.hook.token, "f" * 64, "between us", "token="):
        assert secret not in lines


async def test_d39_a_webhook_that_is_deleted_while_a_body_arrives_posts_nothing(world: World) -> None:
    async def deleted() -> None:
        await world.app.chat.webhooks.delete(world.ada, world.hook.id)

    (await world.send({"text": "too late"}, held=deleted)).problem(401)
    assert await world.messages() == []
