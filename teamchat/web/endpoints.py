"""Endpoints as declarations: method, path, body, answer, and a handler whose arguments are given by name.

One declaration serves the request and describes itself in the OpenAPI document. The order of checks is kept
here, for all endpoints (decision D-03): authentication, then `first` (existence and permission), then body
and parameters. `first` runs before an error of the body or a parameter is told; if an endpoint is open to
anonymous clients or takes uploads, it runs before any of the body is read.

A body may take minutes to arrive. So the caller is checked again once it has arrived, before anything is told
of it, and by the storage in every writing transaction of the handler (decision D-39).

A path's segments are texts, ``:name`` or ``<name>`` for any one segment, ``<int:name>`` for a whole number,
and, as the last, ``<path:name>`` for everything that is left.

A handler may name: ``app``, ``caller``, ``visitor``, ``bearer`` (the token in the Authorization header, or
None), ``body``, ``page``, ``key`` (Idempotency-Key), ``condition`` (of If-Match or If-None-Match, or None),
``request`` (a `Request`), and in snake_case any path parameter and any parameter named in `query` (None if
absent); ``from_`` stands for one whose name is a Python keyword.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Awaitable, Callable, Iterable, Sequence
from difflib import get_close_matches
from functools import lru_cache, partial
from keyword import iskeyword
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
from msgspec import Struct

from teamchat.accounts.acting import acting_for
from teamchat.accounts.audit import asked_by
from teamchat.accounts.idempotency import checked_key
from teamchat.accounts.scopes import SCOPES
from teamchat.capabilities import MessageBody
from teamchat.errors import BadRequest, DeclarationError, NotFound, Problem
from teamchat.web import reader
from teamchat.web.budget import USER
from teamchat.web.guard import bearer
from teamchat.web.responses import Response, response_of
from teamchat.web.token_scopes import PLACE_PARAMETERS, default_scopes

if TYPE_CHECKING:
    from teamchat.application import Application
    from teamchat.web.bodies import Body
    from teamchat.web.request import Request
    from teamchat.web.site import Site

Handler = TypeVar("Handler", bound=Callable[..., Awaitable[Any]])

Failed = Callable[["Application", Exception], Response]
"""Makes the answer of what an endpoint raised."""

_METHODS = frozenset({"GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"})
_READ_LATER = frozenset({"body", "page", "key", "condition"})
_ALWAYS = frozenset({"app", "visitor", "bearer", "request"}) | _READ_LATER
_INSIDE = frozenset({"site"})  # for teamchat's own endpoints; it is of the framework
_COLON = re.compile(r"(?<=/):([A-Za-z_]+)")
_ANGLE = re.compile(r"<(?:(int|path):)?([A-Za-z_]+)>")
_PATH = re.compile(r"(/([^<>{}/:?#%\s]*|<(int:)?[A-Za-z_]+>))*(/<path:[A-Za-z_]+>)?")
_CAPITAL = re.compile(r"(?<!^)(?=[A-Z])")
_MOST_PATH = 512
_MOST_DIGITS = 18  # fewer than a 64-bit number may have


class Answer(Struct, frozen=True, rename="camel"):
    """Base of what an endpoint answers: snake_case here, camelCase in JSON."""


class Success(Answer, frozen=True):
    """It is done."""

    success: bool = True


class Endpoint:
    """One declared endpoint. `section` is the name of the specification's section it belongs to."""

    def __init__(
        self,
        section: str,
        method: str,
        path: str,
        handler: Callable[..., Awaitable[Any]],
        *,
        answer: Any,
        body: type[Struct] | None = None,
        open: bool = False,
        first: Callable[..., Awaitable[None]] | None = None,
        upload: bool = False,
        streamed: bool = False,
        optional: bool = False,
        query: Sequence[str] = (),
        security: str | None = None,
        before_password_change: bool = False,
        failed: Failed | None = None,
        static: bool = False,
        statuses: Sequence[int] = (),
        scopes: Sequence[str] | None = None,
        within_places: bool | None = None,
        gives_way: bool = False,
    ) -> None:
        self.section, self.method, self.handler, self.name = section, method, handler, handler.__name__
        self.rule = _COLON.sub(r"<\1>", path)
        if method not in _METHODS:
            raise DeclarationError(f"{method} {path}: the method is none of {', '.join(sorted(_METHODS))}")
        if not _PATH.fullmatch(self.rule):
            raise DeclarationError(f"{method} {path}: the path is none that an endpoint can have")
        if not inspect.iscoroutinefunction(inspect.unwrap(handler)):
            raise DeclarationError(f"{method} {path}: the handler {self.name} must be an async function")
        forms = _ANGLE.findall(self.rule)
        self.path_parameters = [name for _, name in forms]
        self.answer, self.body, self.open, self.first = answer, body, open, first
        self.upload, self.optional, self.security = upload, optional, security
        self._before_password_change = before_password_change
        self._failed, self.static = failed, static
        self.streamed, self.statuses, self.gives_way = streamed, statuses, gives_way
        self.scopes = default_scopes(method, self.rule) if scopes is None else tuple(scopes)
        self.within_places = (
            not PLACE_PARAMETERS.isdisjoint(self.path_parameters) if within_places is None else within_places
        )
        if unknown_scopes := set(self.scopes) - set(SCOPES):
            raise DeclarationError(f"{method} {path}: there is no scope {', '.join(sorted(unknown_scopes))}")
        self._names = tuple(inspect.signature(handler).parameters)
        self._first_names = _names_of(first)
        wanted = set(self._names) | set(self._first_names)
        self.takes_page, self.takes_key = "page" in wanted, "key" in wanted
        self.takes_condition = "condition" in wanted
        self.takes_bearer, self._takes_visitor = "bearer" in wanted, "visitor" in wanted
        self.query = (*query, *(("limit", *reader.POSITIONS) if self.takes_page else ()))
        self._path = [(name, _snake(name), _FORMS[form]) for form, name in forms]
        self._query = [(name, _snake(name)) for name in query]
        self._early = upload or streamed or (open and first is not None)
        self._decode = msgspec.json.Decoder(body).decode if body is not None else None
        self._is_of_message = body is not None and issubclass(body, MessageBody)
        self._check_names(wanted)

    async def serve(self, site: Site, request: Request) -> Response:
        """Return the answer to one request. Raises what the handler raises."""
        try:
            return response_of(await self._serve(site, request))
        except Exception as error:
            if self._failed is None:
                raise
            return self._failed(site.core, error)

    async def _serve(self, site: Site, request: Request) -> Any:
        values = await self._admit(site, request)
        if self._early:
            await self._check_first(values)
        if self.streamed:
            reader.check_coding(request.headers)
            self._body(request, values)
        if not self.upload:
            return await self._finish(site, request, values)
        reader.check_coding(request.headers)
        await self._body(request, values).read(reader.UPLOAD_LIMIT)
        async with site.upload_turn():
            return await self._finish(site, request, values)

    async def _admit(self, site: Site, request: Request) -> dict[str, Any]:
        """Find out who asks, and for what; nothing of the body is read yet."""
        if not self.static:
            await site.guard.admit(request.scope)
        values: dict[str, Any] = {"app": site.core, "site": site, "request": request}
        if not self.open:
            caller = values["caller"] = await site.guard.caller(
                request.headers, before_password_change=self._before_password_change, scopes=self.scopes
            )
            request.scope[USER] = caller.user.id
            if caller.scopes is not None:
                site.guard.admit_token(caller, request.scope, within_places=self.within_places)
        if self._takes_visitor:
            values["visitor"] = site.guard.visitor(request.scope)
        if self.takes_bearer:
            values["bearer"] = bearer(request.headers)
        for name, argument, form in self._path:
            values[argument] = form(request.path_values[name])
        return values

    async def _finish(self, site: Site, request: Request, values: dict[str, Any]) -> Any:
        try:
            await self._read(request, values)
        except Problem:
            await self._ask_again(site, request, values)
            if not self._early:
                await self._check_first(values)
            raise
        if not self.gives_way:
            with site.going_first:
                return await self._handle(site, request, values)
        async with site.turn_behind_others():  # Once its body has come: nobody waits for a slow client.
            return await self._handle(site, request, values)

    async def _handle(self, site: Site, request: Request, values: dict[str, Any]) -> Any:
        await self._ask_again(site, request, values)
        if self.answer is bytes:  # It may be made piece by piece: room for that, before anything is opened.
            await site.answer_space.open_stream(request.scope)
        caller = values.get("caller")
        address = partial(site.guard.client_address, request.scope)
        with acting_for(caller), asked_by(None if caller is None else caller.user.id, address):
            try:
                return await self.handler(**{name: values[name] for name in self._names})
            except BadRequest:
                # What is wrong with a request is told to who may ask it alone (decision D-03).
                await self._check_first(values)
                raise

    async def _ask_again(self, site: Site, request: Request, values: dict[str, Any]) -> None:
        """Put the caller as they are now in the place of who they were before the body, or a turn, came."""
        waited = self.gives_way
        if self._decode is not None:  # For the body, or with it for a turn.
            waited = waited or self.upload or not request.body.came_with_head
        if waited and not self.open:
            values["caller"] = await site.guard.ask_again(values["caller"])

    async def _check_first(self, values: dict[str, Any]) -> None:
        if self.first is None:
            return
        with acting_for(values.get("caller")):
            await self.first(**{name: values[name] for name in self._first_names if name in values})

    async def _read(self, request: Request, values: dict[str, Any]) -> None:
        if self.query:
            parameters = reader.read_parameters(request.query_string, self.query)
            for name, argument in self._query:
                values[argument] = parameters.get(name)
            if self.takes_page:
                values["page"] = reader.read_page(parameters)
        if self.takes_key:
            values["key"] = checked_key(request.headers.get("Idempotency-Key"))
        if self.takes_condition:
            values["condition"] = reader.read_condition(
                request.headers.get("If-Match"), request.headers.get("If-None-Match")
            )
        if self._decode is not None:
            decode: Callable[[bytes], Any] = self._decode
            if self._is_of_message:
                decode = _decoder_of(values["app"].capabilities.drafts.extended(self.body))
            values["body"] = await reader.read_body(
                self._body(request, values).read,
                request.headers,
                decode,
                limit=reader.UPLOAD_LIMIT if self.upload else reader.BODY_LIMIT,
                optional=self.optional,
            )
            if self.upload:
                self._body(request, values).clear()  # What was decoded is as large once more.

    def _body(self, request: Request, values: dict[str, Any]) -> Body:
        """Return the body of a request, which breaks off when its caller's session ends."""
        body = request.body
        if not self.open:
            body.check = partial(values["site"].guard.ask_again, values["caller"])
        return body

    def _check_names(self, wanted: set[str]) -> None:
        arguments = [argument for _, argument, *_ in self._path] + [argument for _, argument in self._query]
        for name in arguments:
            if arguments.count(name) > 1 or name in {*_ALWAYS, *_INSIDE, "caller"}:
                raise DeclarationError(f"{self.method} {self.rule}: something else is called {name} already")
        known = {*_ALWAYS, *arguments, *(() if self.open else ("caller",))}
        if unknown := wanted - known - _INSIDE:
            names = ", ".join(f"{name}{_meant(name, known)}" for name in sorted(unknown))
            raise DeclarationError(f"{self.method} {self.rule}: nothing is called {names}")
        if too_early := {*_READ_LATER, *(one for _, one in self._query)}.intersection(self._first_names):
            raise DeclarationError(
                f"{self.method} {self.rule}: first is asked before there is {', '.join(sorted(too_early))}"
            )
        if ("body" in wanted) != (self.body is not None):
            raise DeclarationError(f"{self.method} {self.rule}: a body is declared or taken, but not both")


class Section:
    """Declared endpoints that belong together: a section of the specification, or a plugin's."""

    def __init__(self, name: str) -> None:
        if not name or "." in name:
            raise DeclarationError(f"a section's name is a text without dots, not {name!r}")
        self.name = name
        self.endpoints: list[Endpoint] = []

    def endpoint(
        self,
        method: str,
        path: str,
        *,
        answer: Any = None,
        body: type[Struct] | None = None,
        open: bool = False,
        first: Callable[..., Awaitable[None]] | None = None,
        upload: bool = False,
        streamed: bool = False,
        optional: bool = False,
        query: Sequence[str] = (),
        security: str | None = None,
        before_password_change: bool = False,
        failed: Failed | None = None,
        static: bool = False,
        statuses: Sequence[int] = (),
        scopes: Sequence[str] | None = None,
        within_places: bool | None = None,
        gives_way: bool = False,
    ) -> Callable[[Handler], Handler]:
        """Declare an endpoint; the decorated handler is left as it was.

        - `method`: ``GET``, ``POST``, ``PUT``, ``PATCH`` or ``DELETE``; ``HEAD`` comes with ``GET``.
        - `path`: texts, and ``:name`` or ``<name>`` for any one segment, ``<int:name>`` for a whole number,
          and, as the last, ``<path:name>`` for everything that is left.
        - `answer`: the struct that the handler returns, `str` for plain text, `bytes` for a file, None for
          another `Response`; the media type of a text response may be given here, such as
          ``"text/javascript"``.
        - `body`: the struct that the body is read into; a request has to send one, at least ``{}``.
        - `open`: no access token is needed, and there is no ``caller``.
        - `first`: a function that checks existence and permission, before an error of the body or of a
          parameter is told. It may name ``app``, ``request``, ``caller``, ``visitor``, ``bearer`` and the
          parts of the path.
        - `upload`: the body may have up to 32 MiB of JSON, and `first` is called before any of it is read.
        - `streamed`: the handler reads a body of any kind as it arrives, from ``request.body.pieces``. As
          with `upload`, `first` is called before that. Reading ends when the session does.
        - `optional`: the body may be missing; it then has the defaults.
        - `query`: the names of the query parameters; the handler gets each as a text, or None if it is
          absent. A parameter that contains a NUL is answered with 400.
        - `security`: the name of the OpenAPI scheme of the token that an open endpoint takes.
        - `before_password_change`: it also serves sessions whose password must be changed before anything
          else (decision D-43).
        - `failed`: a function of ``app`` and the exception, which turns what was raised into an answer.
        - `static`: the endpoint serves files of a client: it is not part of the interface or of the OpenAPI
          document, and not counted by ``server.rateLimit``.
        - `statuses`: statuses that the OpenAPI document names besides the usual ones. With 206, the ``bytes``
          of the answer may have any media type; without it, they are an image.
        - `scopes`: a token needs one of these (extension K-1); if it is empty, the endpoint is only for
          sessions. The default is ``read`` for GET and ``write`` for all others, ``admin`` below
          ``/admin/``, and none below ``/auth/``.
        - `within_places`: says that a token which is limited to some places can read and change nothing of
          others here; endpoints without this refuse such tokens. By default it is true if the path names a
          place or a message, because these are looked up by `Teamchat.room` and the like.
        - `gives_way`: all other requests go first. Of these requests, two are handled at a time over all
          endpoints, and each lets others pass for at most 3 ms. One that has waited for ten seconds is
          answered with 503 and ``Retry-After``.
        """

        def declare(handler: Handler) -> Handler:
            declared = Endpoint(
                self.name,
                method,
                path,
                handler,
                answer=answer,
                body=body,
                open=open,
                first=first,
                upload=upload,
                streamed=streamed,
                optional=optional,
                query=query,
                security=security,
                before_password_change=before_password_change,
                failed=failed,
                static=static,
                statuses=statuses,
                scopes=scopes,
                within_places=within_places,
                gives_way=gives_way,
            )
            self._check_name(declared)
            self.endpoints.append(declared)
            return handler

        return declare

    def _check_name(self, declared: Endpoint) -> None:
        """Refuse a second handler of one name: Quart and the OpenAPI document know views by it."""
        name = declared.name
        for other in self.endpoints:
            if other.name == name:
                raise DeclarationError(
                    f"section {self.name}: {declared.method} {declared.rule} and {other.method} {other.rule} "
                    f"have handlers of the same name, {name}"
                )


@lru_cache(maxsize=64)
def _decoder_of(body: type[Struct]) -> Callable[[bytes], Any]:
    return msgspec.json.Decoder(body).decode


def _names_of(first: Callable[..., Awaitable[None]] | None) -> Sequence[str]:
    if first is None:
        return ()
    parameters = inspect.signature(first).parameters.values()
    return tuple(one.name for one in parameters if one.kind is not one.VAR_KEYWORD)


def _plain(value: str) -> str:
    """Return a path parameter; what no id or file name can hold names nothing (NUL, a line break)."""
    if len(value) > _MOST_PATH or not value.isprintable():
        raise NotFound
    return value


def _whole(value: str) -> int:
    """Return a path parameter that is a number; one of more digits than ids have names nothing."""
    if len(value) > _MOST_DIGITS:
        raise NotFound
    return int(value)


_FORMS: dict[str, Callable[[str], Any]] = {"": _plain, "path": _plain, "int": _whole}


def _meant(name: str, known: Iterable[str]) -> str:
    """Ask whether a name that is known was meant; a handler names in snake_case what a path has otherwise."""
    close = get_close_matches(_snake(name), list(known), n=1)
    return f" (did you mean {close[0]}?)" if close else ""


def _snake(name: str) -> str:
    argument = _CAPITAL.sub("_", name).lower()
    return f"{argument}_" if iskeyword(argument) else argument
