"""Writes the reference of the HTTP interface from the OpenAPI documents that the server gives of itself.

A server has one way to sign in; here each is asked for its own endpoints, and they are put together.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
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
_ACCESS = {
    "accessToken": "an access token",
    "accessTokenInQuery": "an access token in the query parameter `token`",
    "webhookToken": "the webhook's token",
    "linkToken": "the token of a link",
}
Tree = dict[str, Any]


def rendered() -> str:
    """Return every endpoint and every object, as Markdown."""
    documents = trio.run(_documents)
    paths: Tree = {}
    schemas: Tree = {}
    modes: dict[str, list[str]] = {}
    for mode, described in documents.items():
        schemas |= described["components"]["schemas"]
        for path, methods in described["paths"].items():
            for method, operation in methods.items():
                name = f"{method.upper()} {path}"
                paths[name] = operation
                modes.setdefault(name, []).append(mode)
    tags = dict.fromkeys(tag for operation in paths.values() for tag in operation["tags"])
    parts: list[str] = []
    for tag in tags:
        parts.append(f"## {tag.capitalize()}\n")
        for name, operation in paths.items():
            if tag in operation["tags"]:
                parts += _endpoint(name, operation, modes[name])
    parts.append("## Objects\n")
    for name in sorted(schemas):
        parts += [f"### {name}\n", *_object(schemas[name])]
    return "\n".join(parts)


async def _documents() -> dict[str, Tree]:
    return {mode: await _document(mode) for mode in MODES}


async def _document(mode: str) -> Tree:
    plugins = Plugins.load()
    plugins.require()
    with tempfile.TemporaryDirectory() as directory:
        settings = Settings(
            auth=AuthSettings(auth_mode=mode),
            storage=StorageSettings(path=directory),
            email=EmailSettings(
                backend="files", path=str(Path(directory) / "mails"), sender="chat@localhost"
            ),
            oauth=OAuthSettings(presets={"github": OAuthPreset(client_id="id", client_secret="secret")}),  # noqa: S106
        )
        backend = plugins.auth_mode(mode)
        async with backend.open(backend.options()) as way_in, open_application(settings, plugins) as app:
            site = create_app(app, [way_in.routes(app), *plugins.routes(app)])
            described: Tree = document(site.endpoints)
            return described


def _endpoint(name: str, operation: Tree, modes: list[str]) -> Iterator[str]:
    yield f"### `{name}`\n"
    yield f"{operation['summary']} {_needs(operation, modes)}\n"
    if parameters := [each for each in operation.get("parameters", ()) if each["in"] != "path"]:
        yield "| Parameter | In | Type | Meaning |\n|---|---|---|---|"
        for each in parameters:
            meaning = each.get("description", "")
            yield f"| `{each['name']}` | {each['in']} | {_type(each['schema'])} | {meaning} |"
        yield ""
    if body := operation.get("requestBody"):
        schema = body["content"]["application/json"]["schema"]
        yield f"Body{'' if body['required'] else ' (may be left out)'}: {_type(schema)}.\n"
    yield f"Answer: {_answer(operation['responses'])}.\n"


def _needs(operation: Tree, modes: list[str]) -> str:
    ways = [_ACCESS[name] for way in operation.get("security", ()) for name in way]
    needs = f"Needs {' or '.join(ways)}." if ways else "Open."
    return needs if len(modes) == len(MODES) else f"{needs} Mode: {', '.join(f'`{mode}`' for mode in modes)}."


def _answer(responses: Tree) -> str:
    if "200" not in responses:
        return str(responses["default"]["description"].rstrip(".").lower())
    kind, content = next(iter(responses["200"]["content"].items()))
    if kind != "application/json":
        return f"200, `{kind}`"
    return f"200, {_type(content['schema'])}" if content["schema"] else "200, JSON"


def _object(schema: Tree) -> Iterator[str]:
    if "description" in schema:
        yield schema["description"] + "\n"
    required = schema.get("required", ())
    yield "| Field | Type | |\n|---|---|---|"
    for name, field in schema.get("properties", {}).items():
        yield f"| `{name}` | {_type(field)} | {'' if name in required else 'may be missing'} |"
    yield ""


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
