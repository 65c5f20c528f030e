"""A NUL, which PostgreSQL keeps in no text, is no failure of the server wherever it stands (decision D-04).

Every endpoint, those of plugins too, is asked with one in each text of its path, its query and its body.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode
from uuid import uuid4

import pytest
from msgspec import inspect

from teamchat.capabilities import MessageBody
from teamchat.web.endpoints import Endpoint
from tests.leaks.parameters import name_of, needed_headers, plugins_own
from tests.leaks.things import by_webhook, fill
from tests.leaks.world import World, open_world
from tests.web.client import Client

NUL = "\x00"
_Values = Mapping[str, Any]
_PUSHED_TO = {
    "endpoint": "https://192.0.2.1.invalid/device",
    "p256dh": "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4",
    "auth": "BTBZMqHH6r4Tts7J_aSIgg",
}
_FITTING: Mapping[str, Any] = {
    **_PUSHED_TO,
    "content": "hello",
    "days": [1],
    "draftId": str(uuid4()),
    "email": "somebody@example.org",
    "from": "22:00",
    "password": "a long password",
    "q": "hello",
    "reason": "tests",
    "role": "user",
    "scopes": ["read"],
    "to": "07:00",
    "tz": "UTC",
}
"""What parameters and fields hold; of those that are not needed, the content alone is there in each body."""


@pytest.mark.slow
async def test_d04_a_nul_is_no_failure_wherever_it_stands(tmp_path: Path) -> None:
    async with open_world(tmp_path) as world:
        (values, token), direct, group = await _values(world), await _direct(world), await _group(world)
        failed = []
        for endpoint in world.site.endpoints:
            name = name_of(endpoint)
            client = Client(world.site, token) if name in by_webhook() else world.people["admin"].client
            headers = list(needed_headers().get(name, {}).items())
            special = direct if "conversationId" in endpoint.path_parameters else {}
            special = group if endpoint.rule.startswith("/groups/") else special
            for where, target, body in _requests(world, endpoint, {**values, **special}):
                answer = await client.call(endpoint.method, target, body, headers=headers)
                if answer.status >= 500:
                    failed.append(f"{name}, {where}")
    assert not failed


async def _values(world: World) -> tuple[_Values, str]:
    """Return what there is, by the names of parameters and fields; and the token of a webhook."""
    admin, client = world.people["admin"], world.people["admin"].client
    users = [(await world.person(name)).id for name in ("bob", "eve")]
    channel = (await client.ok("POST", "/channels", {"name": "asked about"}))["channel"]["id"]
    ids = await fill(admin, f"/channels/{channel}")
    webhook = await client.ok("POST", "/webhooks", {"name": "tests", "channelId": channel})
    bot = await client.ok("POST", "/bots", {"userName": "helper"})
    given = await client.ok("POST", f"/bots/{bot['bot']['id']}/tokens", {"name": "x", "scopes": ["read"]})
    values = {
        **_FITTING,
        "botId": bot["bot"]["id"],
        "channelId": channel,
        "filename": ids["image"][0],
        "id": users[0],
        "messageId": ids["message"][0],
        "placeId": channel,
        "replyId": ids["message"][1],
        "targetUserId": users[0],
        "tokenId": given["token"]["id"],
        "userId": users[0],
        "userIds": users,
        "webhookId": webhook["webhook"]["id"],
    }
    for module in plugins_own():
        for key, kind in getattr(module, "PARAMETERS", {}).items():
            if key.startswith("path ") and kind in ids:
                values.setdefault(key.removeprefix("path "), ids[kind][0])
    return values, webhook["webhook"]["token"]


async def _direct(world: World) -> _Values:
    """Return what else stands for the same in the paths of conversations."""
    client, user_id = world.people["admin"].client, (await world.person("bob")).id
    opened = (await client.ok("POST", "/conversations", {"targetUserId": user_id}))["conversation"]["id"]
    said = await client.ok("POST", f"/conversations/{opened}/messages", {"content": "hello"})
    return {"conversationId": opened, "messageId": said["message"]["id"]}


async def _group(world: World) -> _Values:
    """Return what else stands for the same in the paths of groups."""
    users = [(await world.person(name)).id for name in ("bob", "eve")]
    made = await world.people["admin"].client.ok("POST", "/groups", {"userIds": users})
    return {"channelId": made["channel"]["id"]}


def _requests(world: World, endpoint: Endpoint, values: _Values) -> Iterator[tuple[str, str, Any]]:
    """Yield where a NUL stands, the target and the body, for each text that an endpoint takes."""
    kind = None
    if endpoint.body is not None:
        is_message = issubclass(endpoint.body, MessageBody)
        drafts = world.app.capabilities.drafts
        kind = inspect.type_info(drafts.extended(endpoint.body) if is_message else endpoint.body)
    body = None if kind is None else _plain(kind, "", values)
    needed = {"q": values["q"]} if "q" in endpoint.query else {}
    path = _path(endpoint, values)
    for name in endpoint.path_parameters:
        yield name, _path(endpoint, {**values, name: NUL}), body
    for name in endpoint.query:
        yield f"?{name}", f"{path}?{urlencode({**needed, name: NUL})}", body
    if kind is not None:
        for where, with_nul in _with_nul(kind, "", body, values):
            yield f"body{where}", path, with_nul


def _path(endpoint: Endpoint, values: _Values) -> str:
    parts = []
    for part in endpoint.rule.split("/"):
        name = part.strip("<>").rpartition(":")[2]
        parts.append(quote(values.get(name, "word"), safe="") if part.startswith("<") else part)
    return "/".join(parts)


def _plain(kind: inspect.Type, name: str, values: _Values) -> Any:
    """Return what a body, or a part of it, may look like."""
    if name in values:
        return values[name]
    match kind:
        case inspect.StructType(fields=fields):
            return {
                one.encode_name: _plain(one.type, one.encode_name, values)
                for one in fields
                if one.required or one.encode_name == "content"
            }
        case inspect.UnionType(types=types):
            return _plain(types[0], name, values)
        case inspect.ListType(item_type=item, min_length=least):
            return [_plain(item, "", values)] * (least or 0)
        case inspect.DictType():
            return {}
        case inspect.IntType(ge=least):
            return least or 1
        case inspect.BoolType():
            return True
        case inspect.LiteralType(values=choices):
            return choices[0]
    return "word"


def _with_nul(kind: inspect.Type, name: str, plain: Any, values: _Values) -> Iterator[tuple[str, Any]]:
    """Yield where a text stands in a body, and what it looks like with a NUL in that."""
    match kind:
        case inspect.StructType(fields=fields):
            whole = _plain(kind, "", values) if plain is None else plain
            for one in fields:
                inner = one.encode_name
                for where, given in _with_nul(one.type, inner, whole.get(inner), values):
                    yield f".{inner}{where}", {**whole, inner: given}
        case inspect.UnionType(types=types):
            for one in types:
                yield from _with_nul(one, name, plain, values)
        case inspect.ListType(item_type=item):
            whole = values.get(name, []) if plain is None else plain
            for where, given in _with_nul(item, "", None, values):
                yield f"[]{where}", [given, *whole[1:]]
        case inspect.DictType(key_type=key, value_type=value):
            for where, given in _with_nul(key, "", None, values):
                yield f" key{where}", {given: _plain(value, "", values)}
            for where, given in _with_nul(value, "", None, values):
                yield f" value{where}", {"f" * 32: given}
        case inspect.StrType():
            yield "", NUL
            yield "", f"{plain or 'word'}{NUL}"
