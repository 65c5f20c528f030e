"""Writes the reference of the HTTP interface from the OpenAPI documents that the server gives of itself.

A server has one way to sign in, and either requires invitations or not; here all of them are asked for their
endpoints, and those are put together.
"""

from __future__ import annotations

import itertools
import re
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import trio

from teamchat.application import open_application
from teamchat.plugins import Plugins
from teamchat.settings import (
    AuthSettings,
    EmailSettings,
    OAuthPreset,
    OAuthSettings,
    Settings,
    StorageSettings,
)
from teamchat.web.app import create_app
from teamchat.web.openapi import document

MODES = ("password", "magic-link", "dev")
INVITES = (True, False)
_TITLES = {"oauth": "OAuth", "reactions": "Reacting"}  # an object is called Reactions
_ACCESS = {
    "accessToken": "an access token",
    "accessTokenInQuery": "an access token in the query parameter `token`",
    "webhookToken": "the webhook's token",
    "linkToken": "the token of a link",
}
Tree = dict[str, Any]
Variant = tuple[str, bool]


def rendered() -> str:
    """Return every endpoint and every object, as Markdown."""
    paths: Tree = {}
    schemas: Tree = {}
    found_in: dict[str, list[Variant]] = {}
    for variant, described in trio.run(documents).items():
        schemas |= described["components"]["schemas"]
        for path, methods in described["paths"].items():
            for method, operation in methods.items():
                name = f"{method.upper()} {path}"
                paths[name] = operation
                found_in.setdefault(name, []).append(variant)
    parts: list[str] = []
    for tag in _tags(paths):
        parts.append(f"## {_TITLES.get(tag, tag.capitalize())}\n")
        for name, operation in paths.items():
            if tag in operation["tags"]:
                parts += _endpoint(name, operation, found_in[name])
    bodies = {_named(operation["requestBody"]) for operation in paths.values() if "requestBody" in operation}
    parts.append("## Objects\n")
    for name in sorted(schemas):
        parts += [f"### {name}\n", *_object(schemas[name], is_body=name in bodies)]
    return "\n".join(parts)


async def documents() -> dict[Variant, Tree]:
    """Return what a server says of itself, for each way to sign in with invitations and without."""
    return {variant: await _document(*variant) for variant in itertools.product(MODES, INVITES)}


async def _document(mode: str, is_invite_required: bool) -> Tree:
    plugins = Plugins.load()
    plugins.require()
    with tempfile.TemporaryDirectory() as directory:
        settings = Settings(
            auth=AuthSettings(auth_mode=mode, is_invite_required=is_invite_required),
            storage=StorageSettings(path=directory),
            email=EmailSettings(
                backend="files", path=str(Path(directory) / "mails"), sender="chat@localhost"
            ),
            oauth=OAuthSettings(presets={"github": OAuthPreset(client_id="id", client_secret="secret")}),  # noqa: S106
        )
        async with plugins.sign_in(settings) as modes, open_application(settings, plugins) as app:
            site = create_app(app, [*plugins.sign_in_routes(app, modes), *plugins.routes(app)])
            described: Tree = document(site.endpoints)
            return described


def _tags(paths: Tree) -> list[str]:
    """Return the sections, the ways to sign in first: a client begins there."""
    tags = dict.fromkeys(tag for operation in paths.values() for tag in operation["tags"])
    return sorted(tags, key=lambda tag: not (tag.endswith("sign-in") or tag == "oauth"))


def _named(body: Tree) -> str:
    schema: Tree = body["content"]["application/json"]["schema"]
    return str(schema.get("$ref", "")).rpartition("/")[2]


def _endpoint(name: str, operation: Tree, found_in: list[Variant]) -> Iterator[str]:
    yield f"### `{name}`\n"
    yield f"{operation['summary']} {_needs(operation, found_in)}\n"
    if parameters := [each for each in operation.get("parameters", ()) if each["in"] != "path"]:
        yield "| Parameter | In | Type | Meaning |\n|---|---|---|---|"
        for each in parameters:
            yield f"| `{each['name']}` | {each['in']} | {_type(each['schema'])} | {each['description']} |"
        yield ""
    if body := operation.get("requestBody"):
        schema = body["content"]["application/json"]["schema"]
        yield f"Body{'' if body['required'] else ' (may be left out)'}: {_type(schema)}.\n"
    yield f"Answer: {_answer(operation['responses'])}.\n"


def _needs(operation: Tree, found_in: list[Variant]) -> str:
    ways = [_ACCESS[name] for way in operation.get("security", ()) for name in way]
    needs = f"Needs {' or '.join(ways)}." if ways else "Open."
    modes = dict.fromkeys(mode for mode, _ in found_in)
    if len(modes) < len(MODES):
        needs += f" Mode: {', '.join(f'`{mode}`' for mode in modes)}."
    if all(not is_invite_required for _, is_invite_required in found_in):
        needs += " Only where `auth.isInviteRequired` is false."
    return needs


def _answer(responses: Tree) -> str:
    if "200" not in responses:
        return "a redirect"
    content: Tree = responses["200"]["content"]
    if "application/json" in content:
        schema = content["application/json"]["schema"]
        return f"200, {_type(schema)}" if schema else "200, JSON"
    kinds = [f"`{kind}`" for kind in content if kind != "text/plain"]
    return f"200, {' or '.join(kinds) or 'text'}"


def _object(schema: Tree, *, is_body: bool) -> Iterator[str]:
    fields: Tree = schema.get("properties", {})
    if "description" in schema:
        yield told(schema["description"], fields) + "\n"
    yield "| Field | Type | |\n|---|---|---|"
    for name, field in fields.items():
        # What has a default may be left out of a body, and is always there in an answer.
        is_sure = name in schema.get("required", ()) or ("default" in field and not is_body)
        may = "may be left out" if is_body else "may be missing"
        yield f"| `{name}` | {_type(field)} | {'' if is_sure else may} |"
    yield ""


def told(description: str, fields: Iterable[str]) -> str:
    """Return a docstring as prose, with the names that fields have in JSON and without references."""
    text = " ".join(description.split()).replace("``", "`")
    text = re.sub(r" \((?:decision|interface)[^)]*\)", "", text)
    names = {re.sub(r"(?=[A-Z])", "_", name).lower(): name for name in fields}
    return re.sub(r"`(\w+)`", lambda word: f"`{names.get(word[1], word[1])}`", text)


def _type(schema: Tree) -> str:
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "anyOf" in schema:
        return " or ".join(_type(each) for each in schema["anyOf"])
    kind = schema.get("type", "anything")
    if kind == "array":
        return f"list of {_type(schema.get('items', {}))}"
    if kind == "object" and "additionalProperties" in schema:
        return f"map to {_type(schema['additionalProperties'])}"
    return str(kind)
