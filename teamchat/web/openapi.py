"""The OpenAPI 3.1 document, made from the same declarations that serve the requests.

Only the event stream is described by hand, because it is not a request with one answer.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from itertools import groupby
from typing import Any

import msgspec

from teamchat import __version__
from teamchat.capabilities import DraftFields, MessageFields, UserFields
from teamchat.model.pages import PAGE_DEFAULT, PAGE_MOST
from teamchat.web.endpoints import Endpoint
from teamchat.web.problems import Error
from teamchat.web.responses import NoContent

Document = dict[str, Any]

_ANGLE = re.compile(r"<(?:\w+:)?([A-Za-z_]+)>")
_UNFIT = re.compile(r"[^A-Za-z0-9._-]")
_REF = "#/components/schemas/{name}"
_IMAGE_TYPES = ("image/jpeg", "image/png", "image/webp", "image/svg+xml")
_PROBLEMS = {
    "400": ("BadRequest", "The body or a parameter is invalid."),
    "401": ("Unauthorized", "Authentication is missing or invalid."),
    "403": ("Forbidden", "The caller may not do this."),
    "404": ("NotFound", "What the path names does not exist."),
    "408": ("Timeout", "The body did not arrive in time."),
    "409": ("Conflict", "What the path names is in another state."),
    "410": ("Gone", "What the path names was there, and comes back no more."),
    "412": ("PreconditionFailed", "There is another version of it."),
    "413": ("TooLarge", "The body is too large."),
    "415": ("UnsupportedMedia", "The body is encoded."),
    "416": ("RangeNotSatisfiable", "There are no such bytes in it."),
    "429": ("TooManyRequests", "A rate limit is exceeded."),
    "500": ("ServerError", "The server failed."),
    "460": ("ChecksumMismatch", "What arrived is not what its checksum is of."),
    "503": ("Unavailable", "The server can't do this now; nothing was changed."),
    "507": ("StorageFull", "There is no room for it."),
}
_WORDS = {str(status.value): f"{status.phrase}." for status in HTTPStatus}
_SECURITY: Document = {
    "accessToken": {"type": "http", "scheme": "bearer", "bearerFormat": "JWT"},
    "accessTokenInQuery": {"type": "apiKey", "in": "query", "name": "token"},
    "webhookToken": {"type": "http", "scheme": "bearer", "description": "The webhook's own token."},
    "linkToken": {"type": "http", "scheme": "bearer", "description": "The token of a link in a mail."},
}
_LIMIT: Document = {
    "name": "limit",
    "in": "query",
    "description": f"How many at most: {PAGE_DEFAULT} if not given; more than {PAGE_MOST} means {PAGE_MOST}.",
    "schema": {"type": "integer", "minimum": 1, "default": PAGE_DEFAULT},
}
_POSITIONS: Mapping[str, Document] = {
    name: {"name": name, "in": "query", "description": what, "schema": {"type": "string", "minLength": 1}}
    for name, what in (
        ("before", "The newest that are older than this id. Of these three, one at most."),
        ("after", "The oldest that are newer than this id."),
        ("around", "Half of what is older than this id, what has it, and half of what is newer."),
    )
}
_QUERY = {
    "limit": f"How many at most: {PAGE_DEFAULT} if not given; more than {PAGE_MOST} means {PAGE_MOST}.",
    "cursor": "What the answer before this one gave as `next`.",
    "archived": "`no` for those that are not archived, `only` for those that are; both if not given.",
    "joined": "`true` for those alone that the caller is in.",
    "size": "`thumb` for the thumbnail; without one it is the image.",
    "reaction": "The reaction, if the body does not name it.",
    "before": "What the answer before this one gave as `next`.",
    "actorId": "The id of the user who did it.",
    "action": "An action such as `user.role`; without a dot all that begin with it.",
    "targetId": "The id of what it was done to.",
}
_KEY: Document = {
    "name": "Idempotency-Key",
    "in": "header",
    "description": "Sent again within 24 hours, it makes nothing, and what it made is answered.",
    "schema": {"type": "string", "minLength": 1, "maxLength": 255},
}
_CONDITIONS: Sequence[Document] = [
    {"name": name, "in": "header", "description": what, "schema": {"type": "string"}}
    for name, what in (
        ("If-Match", 'The version that the caller has: `"3"`.'),
        ("If-None-Match", "`*`: there is none yet. Of these two, one at most."),
    )
]
_RETRY_AFTER: Document = {"Retry-After": {"description": "Seconds to wait.", "schema": {"type": "integer"}}}


def document(
    endpoints: Sequence[Endpoint],
    fields: Sequence[MessageFields] = (),
    drafts: Sequence[DraftFields] = (),
    users: Sequence[UserFields] = (),
) -> Document:
    """Return the document that describes `endpoints` and the event stream.

    `fields` are what capabilities add to messages, `drafts` what to the bodies of posts and edits, and
    `users` what to users.
    """
    endpoints = [endpoint for endpoint in endpoints if not endpoint.static]
    schemas, components = _schemas(endpoints)
    for one in fields:
        _add_fields(components, one.kind, ("Message",))
    for user in users:
        _add_fields(components, user.kind, ("User", "ListedUser"))
    for draft in drafts:
        _add_fields(components, draft.kind, ("Draft", "MessageEdit"))
        if draft.beside is not None:
            _add_fields(components, draft.beside, ("OneMessage", "Reply", "Edited"))
    paths: Document = {"/events": {"get": _events()}}
    ids = {"events"}
    for endpoint in endpoints:
        path = paths.setdefault(_ANGLE.sub(r"{\1}", endpoint.rule), {})
        operation = path[endpoint.method.lower()] = _operation(endpoint, schemas)
        if operation["operationId"] in ids:
            operation["operationId"] = f"{endpoint.section}_{operation['operationId']}"
        ids.add(operation["operationId"])
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "teamchat",
            "version": __version__,
            "description": "A self-hosted team chat server.",
            "license": {"name": "MIT", "identifier": "MIT"},
        },
        "servers": [{"url": "/"}],
        "paths": paths,
        "components": {
            "schemas": components,
            "responses": {name: _problem(status, text) for status, (name, text) in _PROBLEMS.items()},
            "securitySchemes": _SECURITY,
        },
    }


def _schemas(endpoints: Sequence[Endpoint]) -> tuple[dict[Any, Document], Document]:
    """Return the schema of each type, and the components they refer to.

    One section after the other, so that a plugin's type takes its name from none that stands there already:
    it is then called after its section too.
    """
    [error], components = msgspec.json.schema_components([Error], ref_template=_REF)
    schemas: dict[Any, Document] = {Error: error}
    for section, group in groupby(endpoints, key=lambda endpoint: endpoint.section):
        types = [one for endpoint in group for one in (endpoint.body, endpoint.answer) if _is_struct(one)]
        types = [one for one in dict.fromkeys(types) if one not in schemas]
        found, brought = msgspec.json.schema_components(types, ref_template=_REF)
        names = _names(section, brought, components)
        schemas |= dict(zip(types, _renamed(found, names), strict=True))
        components |= {names.get(name, name): _renamed(schema, names) for name, schema in brought.items()}
    return schemas, components


def _add_fields(components: Document, kind: type[msgspec.Struct], names: Sequence[str]) -> None:
    """Put the fields that a capability adds among the properties of what it adds them to."""
    [reference], brought = msgspec.json.schema_components([kind], ref_template=_REF)
    own = brought.pop(_name(reference["$ref"]))
    for name, schema in brought.items():
        components.setdefault(name, schema)
    for name in names:
        if name in components:
            components[name]["properties"] |= own["properties"]


def _names(section: str, brought: Document, there: Document) -> dict[str, str]:
    """Return the new names of components whose name something else has; who refers to them changes too."""
    names: dict[str, str] = {}
    while taken := [
        name
        for name, schema in brought.items()
        if name in there and name not in names and there[name] != _renamed(schema, names)
    ]:
        names |= {name: f"{_UNFIT.sub('-', section)}.{name}" for name in taken}
    return names


def _renamed(schema: Any, names: Mapping[str, str]) -> Any:
    """Return a schema that refers to components by their new names."""
    if isinstance(schema, dict):
        return {
            key: _REF.format(name=names.get(_name(value), _name(value)))
            if key == "$ref"
            else _renamed(value, names)
            for key, value in schema.items()
        }
    return [_renamed(one, names) for one in schema] if isinstance(schema, (list, tuple)) else schema


def _name(reference: str) -> str:
    return reference.rpartition("/")[2]


def _is_struct(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, msgspec.Struct)


def _operation(endpoint: Endpoint, schemas: dict[Any, Document]) -> Document:
    operation: Document = {
        "operationId": endpoint.name,
        "summary": (inspect.getdoc(endpoint.handler) or endpoint.name).partition("\n")[0],
        "tags": [endpoint.section],
        "security": _security(endpoint),
        "responses": _responses(endpoint, schemas),
    }
    if parameters := _parameters(endpoint):
        operation["parameters"] = parameters
    if endpoint.body is not None:
        content = {"application/json": {"schema": schemas[endpoint.body]}}
        operation["requestBody"] = {"required": not endpoint.optional, "content": content}
    if endpoint.streamed:
        operation["requestBody"] = {"content": {"application/offset+octet-stream": {}}}
    return operation


def _security(endpoint: Endpoint) -> list[Document]:
    if not endpoint.open:
        return [{"accessToken": []}]
    if endpoint.security:
        return [{endpoint.security: []}]
    return [{"linkToken": []}, {}] if endpoint.takes_bearer else []


def _parameters(endpoint: Endpoint) -> list[Document]:
    text = {"type": "string"}
    parameters = [
        {"name": name, "in": "path", "required": True, "schema": text} for name in endpoint.path_parameters
    ]
    known = {"limit": _LIMIT, **_POSITIONS} if endpoint.takes_page else {}
    parameters += [known.get(name) or _in_query(name) for name in endpoint.query]
    conditions = _CONDITIONS if endpoint.takes_condition else ()
    return parameters + ([_KEY] if endpoint.takes_key else []) + list(conditions)


def _in_query(name: str) -> Document:
    described = {"description": _QUERY[name]} if name in _QUERY else {}
    return {"name": name, "in": "query", **described, "schema": {"type": "string"}}


def _responses(endpoint: Endpoint, schemas: dict[Any, Document]) -> Document:
    statuses = {"400", "403", "404", "429", "500", "503"}
    if not endpoint.open or endpoint.takes_bearer or endpoint.body is not None:
        statuses |= {"401"}
    if endpoint.takes_condition:
        statuses |= {"410", "412"}
    if endpoint.body is not None or endpoint.streamed:
        statuses |= {"408", "413", "415"}
    statuses |= {str(status) for status in endpoint.statuses}
    responses: Document = {} if endpoint.answer is None else {"200": _success(endpoint, schemas)}
    if endpoint.answer is NoContent:
        responses = {"204": {"description": "Done."}}
    if endpoint.answer is bytes:
        responses["304"] = {"description": "The client has it already."}
    for status in sorted(statuses):
        responses[status] = _other(status)
    if endpoint.answer is None:
        responses["default"] = {"description": "A redirect, or whatever the extension answers."}
    return responses


def _other(status: str) -> Document:
    if status in _PROBLEMS:
        return {"$ref": f"#/components/responses/{_PROBLEMS[status][0]}"}
    return {"description": _WORDS.get(status, "Another answer.")}


def _success(endpoint: Endpoint, schemas: dict[Any, Document]) -> Document:
    if endpoint.answer is bytes:
        is_of_any_type = HTTPStatus.PARTIAL_CONTENT in endpoint.statuses
        content: Document = {kind: {} for kind in (["*/*"] if is_of_any_type else _IMAGE_TYPES)}
    elif endpoint.answer is str:
        content = {"text/plain": {"schema": {"type": "string"}}}
    elif isinstance(endpoint.answer, str):
        content = {endpoint.answer: {"schema": {"type": "string"}}}
    elif _is_struct(endpoint.answer):
        content = {"application/json": {"schema": schemas[endpoint.answer]}}
    else:
        content = {"application/json": {"schema": {}}}
    return {"description": "Done.", "content": content}


def _problem(status: str, text: str) -> Document:
    schema = {"$ref": _REF.format(name="Error")}
    problem: Document = {"description": text, "content": {"application/json": {"schema": schema}}}
    if status in {"429", "503"}:
        problem["headers"] = _RETRY_AFTER
    return problem


def _events() -> Document:
    stream = {
        "description": "A stream of `data: {type, payload}` lines.",
        "content": {"text/event-stream": {}},
    }
    text = {"type": "string"}
    return {
        "operationId": "events",
        "summary": "Open the event stream.",
        "tags": ["events"],
        "security": [{"accessToken": []}, {"accessTokenInQuery": []}],
        "parameters": [
            {
                "name": "ephemeral",
                "in": "query",
                "description": "Names of signals to get too, separated by commas.",
                "schema": text,
            },
            {
                "name": "scope",
                "in": "query",
                "description": "`joined` for those channels alone that the caller is in.",
                "schema": text,
            },
            {"name": "lastEventId", "in": "query", "description": "Resume after this event.", "schema": text},
            {"name": "Last-Event-ID", "in": "header", "description": "The same.", "schema": text},
        ],
        "responses": {
            "200": stream,
            **{s: {"$ref": f"#/components/responses/{_PROBLEMS[s][0]}"} for s in ("401", "429", "500")},
        },
    }
