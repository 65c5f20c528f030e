"""What every plugin's routes must do, asked through a whole application without a network."""

# Tests assert; that is what they are.
# ruff: noqa: S101

from __future__ import annotations

import logging
import re
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple
from uuid import UUID

import msgspec
import pytest
from msgspec import Struct
from werkzeug.routing import AnyConverter, BaseConverter, FloatConverter, IntegerConverter, UUIDConverter

from teamchat.application import Application
from teamchat.chat import Draft
from teamchat.errors import PluginError
from teamchat.interfaces import Routes
from teamchat.settings import Settings
from teamchat.testing.auth import application
from teamchat.testing.bodies import MALFORMED_BODIES, fitting
from teamchat.web import problems
from teamchat.web.app import create_app

_JSON = "application/json"
_WITH_BODY = {"POST", "PUT", "PATCH", "DELETE"}
_MOST_LETTERS = 512


class RoutesContract(ABC):
    """Tests of routes. Subclass it with a name that begins with ``Test`` and give one method::

        class TestMotd(RoutesContract):
            def routes(self, app):
                return teamchat_motd.routes(app)

    Every route is asked without a token, with a user's and with an admin's. Parameters are filled with plain
    values; those named ``channelId``, ``messageId`` and ``userId`` with those of the admin that are there.
    """

    def settings(self) -> Settings:
        """Return the settings of the application. Override it if the routes need others."""
        return Settings()

    @abstractmethod
    def routes(self, app: Application) -> Sequence[Routes]:
        """Return the sections and blueprints, as the hook ``routes`` does."""

    @asynccontextmanager
    async def application(self, tmp_path: Path) -> AsyncIterator[Application]:
        """Open the application that the routes are asked in."""
        async with application(self.settings(), tmp_path) as app:
            yield app

    @asynccontextmanager
    async def serving(self, tmp_path: Path) -> AsyncIterator[tuple[Application, Any]]:
        """Yield an application and its site with the routes, for tests of your own.

        ``site.test_client()`` is Quart's client of it, without a network.
        """
        async with self.application(tmp_path) as app:
            yield app, create_app(app, list(self.routes(app)))

    async def test_there_are_routes_and_none_takes_the_place_of_teamchats_own(self, tmp_path: Path) -> None:
        async with self.application(tmp_path) as app:
            own = _rules(create_app(app, []))
            try:
                brought = _rules(create_app(app, list(self.routes(app))))
            except PluginError as error:
                pytest.fail(f"the routes are refused at start. {error}")
            assert len(brought) > len(own), "there are no routes"

    async def test_they_can_be_made_for_more_than_one_application(self, tmp_path: Path) -> None:
        async with self.serving(tmp_path / "first"), self.serving(tmp_path / "second"):
            pass

    async def test_d01_whoever_asks_gets_an_answer_and_errors_have_the_one_shape(
        self, tmp_path: Path
    ) -> None:
        async with self._asking(tmp_path) as asking:
            for asker, route in product(asking.askers, asking.routes):
                await asking.check(asker, route)

    async def test_a_body_that_fits_gets_an_answer(self, tmp_path: Path) -> None:
        async with self._asking(tmp_path) as asking:
            for asker, route in product(asking.askers, asking.routes):
                if route.body is not None:
                    await asking.check(asker, route, msgspec.json.encode(fitting(route.body)))

    async def test_x13_what_is_sent_again_under_its_key_is_not_made_again(self, tmp_path: Path) -> None:
        async with self._asking(tmp_path) as asking:
            for number, (asker, route) in enumerate(product(asking.askers, asking.routes)):
                if route.takes_key:
                    body = None if route.body is None else msgspec.json.encode(fitting(route.body))
                    keyed = asker.with_key(f"key {number}")
                    first, again = [await asking.ask(keyed, route, body) for _ in range(2)]
                    if first.status_code >= 400 or again.status_code == 409:
                        continue
                    assert await again.get_data() == await first.get_data(), (
                        f"{route.method} {route.path} takes an Idempotency-Key, and does it again under the "
                        "same one: let `teamchat.KeyedRequest` do it once"
                    )

    async def test_d02_a_malformed_body_is_no_server_error(self, tmp_path: Path) -> None:
        async with self._asking(tmp_path) as asking:
            for asker, route in product(asking.askers, asking.routes):
                if route.method in _WITH_BODY:
                    for body in MALFORMED_BODIES.values():
                        await asking.check(asker, route, body)

    async def test_d07_head_works_wherever_get_does(self, tmp_path: Path) -> None:
        async with self._asking(tmp_path) as asking:
            for asker, route in product(asking.askers, asking.routes):
                if route.method == "GET":
                    got, asked = await asking.ask(asker, route), await asking.ask(asker, route, method="HEAD")
                    assert asked.status_code == got.status_code, (
                        f"GET {route.path} is answered with {got.status_code}, "
                        f"HEAD with {asked.status_code} ({asker.who})"
                    )
                    assert await asked.get_data() == b"", f"the answer to HEAD {route.path} has a body"

    @asynccontextmanager
    async def _asking(self, tmp_path: Path) -> AsyncIterator[_Asking]:
        async with self.serving(tmp_path) as (app, site):
            askers, known = await _askers(app)
            routes = list(_brought(app, site, known))
            with _failures() as failures:
                yield _Asking(app, site, askers, routes, failures)


class _Asker(NamedTuple):
    """Somebody who asks: in words, and with which headers."""

    who: str
    headers: Mapping[str, str]

    def with_key(self, key: str) -> _Asker:
        return self._replace(headers={**self.headers, "Idempotency-Key": key})


class _Route(NamedTuple):
    """A method and a path that the plugin brings; `body` is declared for it, if it is declared at all."""

    method: str
    path: str
    body: type[Struct] | None
    takes_key: bool


class _Asking(NamedTuple):
    """Whoever asks, whatever there is to ask for, and what the server logged meanwhile."""

    app: Application
    site: Any
    askers: Sequence[_Asker]
    routes: Sequence[_Route]
    failures: list[str]

    async def ask(self, asker: _Asker, route: _Route, body: bytes | None = None, method: str = "") -> Any:
        self.failures.clear()
        headers = dict(asker.headers) if body is None else {**asker.headers, "Content-Type": _JSON}
        given = {} if body is None else {"data": body}
        client = self.site.test_client()
        return await client.open(route.path, method=method or route.method, headers=headers, **given)

    async def check(self, asker: _Asker, route: _Route, body: bytes | None = None) -> None:
        answer = await self.ask(asker, route, body)
        asked = f"{route.method} {route.path} ({asker.who})"
        cause = "; ".join(self.failures) or "the log has no cause"
        assert answer.status_code < 500, f"{asked} is answered with {answer.status_code}: {cause}"
        assert answer.headers["X-Content-Type-Options"] == "nosniff", f"{asked}: browsers may guess the type"
        if answer.status_code >= 400:
            assert answer.content_type == _JSON, f"{asked}: an error of {answer.status_code} is not JSON"
            fields = list(await answer.get_json())
            assert fields == ["error"], f"{asked}: an error has the field `error` and no other, not {fields}"


async def _askers(app: Application) -> tuple[Sequence[_Asker], Mapping[str, str]]:
    """Return nobody, a user and an admin; and ids that parameters may name."""
    accounts, address = app.accounts, "192.0.2.1"
    admin, of_admin = await accounts.sign_in(app.settings.chat.initial_user.email, address, "tests")
    caller = await accounts.authenticate(of_admin.access_token)
    await accounts.users.add(caller, "somebody@example.org")
    _, of_user = await accounts.sign_in("somebody@example.org", address, "tests")
    [channel, *_] = await app.chat.channels.list(caller)
    askers = [
        _Asker("without a token", {}),
        _Asker("with a user's token", {"Authorization": f"Bearer {of_user.access_token}"}),
        _Asker("with an admin's token", {"Authorization": f"Bearer {of_admin.access_token}"}),
    ]
    message = await app.chat.messages.post(caller, channel.id, Draft("What is on today?"))
    return askers, {"channelId": channel.id, "messageId": message.id, "userId": admin.id}


def _brought(app: Application, site: Any, known: Mapping[str, str]) -> Iterator[_Route]:
    """Yield the routes that the plugin brings; parameters are filled with a plain value."""
    own = set(_rules(create_app(app, [])))
    for rule in site.quart.url_map.iter_rules():
        for method in sorted(rule.methods - {"HEAD", "OPTIONS"}):
            if (method, rule.rule) not in own:
                filled = {name: known.get(name) or _filled(rule._converters[name]) for name in rule.arguments}
                path = site.quart.url_map.bind("localhost").build(rule.endpoint, filled, method=method)
                declared = site.endpoint_of(rule)
                if declared is None:
                    yield _Route(method, path, None, takes_key=False)
                else:
                    yield _Route(method, path, declared.body, declared.takes_key)


@contextmanager
def _failures() -> Iterator[list[str]]:
    """Yield a list of what the server logs of requests that failed."""
    failures: list[str] = []

    class Handler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            failures.append(record.getMessage())

    handler, logger = Handler(logging.ERROR), logging.getLogger(problems.__name__)
    logger.addHandler(handler)
    try:
        yield failures
    finally:
        logger.removeHandler(handler)


def _filled(converter: BaseConverter) -> Any:
    """Return a plain value of a parameter: a number where a number stands, and mostly a word."""
    match converter:
        case IntegerConverter() | FloatConverter():
            return next((limit for limit in (converter.min, converter.max) if limit is not None), 7)
        case AnyConverter():
            return min(converter.items)
        case UUIDConverter():
            return UUID(int=7)
    words = ("word", *("w" * letters for letters in range(1, _MOST_LETTERS)))
    return next((word for word in words if re.fullmatch(converter.regex, word)), "word")


def _rules(site: Any) -> list[tuple[str, str]]:
    return [(method, route.path) for route in site.routes for method in route.asked]
