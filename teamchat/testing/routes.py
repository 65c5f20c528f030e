"""What every plugin's routes must do, asked through a whole application without a network."""

# Tests assert; that is what they are.
# ruff: noqa: S101

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from uuid import UUID

from quart import Blueprint
from werkzeug.routing import AnyConverter, BaseConverter, FloatConverter, IntegerConverter, UUIDConverter

from teamchat.application import Application
from teamchat.settings import Settings
from teamchat.testing.auth import application
from teamchat.testing.bodies import MALFORMED_BODIES
from teamchat.web.app import create_app

_JSON = "application/json"
_MOST_LETTERS = 512


class RoutesContract(ABC):
    """Tests of routes. Subclass it with a name that begins with ``Test`` and give one method::

    class TestMotd(RoutesContract):
        def routes(self, app):
            return teamchat_motd.routes(app)
    """

    def settings(self) -> Settings:
        """Return the settings of the application. Override it if the routes need others."""
        return Settings()

    @abstractmethod
    def routes(self, app: Application) -> Sequence[Blueprint]:
        """Return the blueprints, as the hook ``routes`` does."""

    @asynccontextmanager
    async def serving(self, tmp_path: Path) -> AsyncIterator[tuple[Application, Any]]:
        """Yield an application and its site with the routes, for tests of your own.

        ``site.test_client()`` is Quart's client of it, without a network.
        """
        async with application(self.settings(), tmp_path) as app:
            yield app, create_app(app, list(self.routes(app)))

    async def test_there_are_routes_and_none_takes_the_place_of_teamchats_own(self, tmp_path: Path) -> None:
        async with self.serving(tmp_path) as (app, site):
            own, brought = _rules(create_app(app, [])), _rules(site)
            assert len(brought) > len(own), "there are no routes"
            assert len(brought) == len(set(brought)), "a route stands where there is one already"

    async def test_they_can_be_made_for_more_than_one_application(self, tmp_path: Path) -> None:
        async with self.serving(tmp_path / "first"), self.serving(tmp_path / "second"):
            pass

    async def test_d01_whoever_asks_gets_an_answer_and_errors_have_the_one_shape(
        self, tmp_path: Path
    ) -> None:
        async with self.serving(tmp_path) as (app, site):
            for method, path in self._brought(app, site):
                await self._check(site, method, path, {})

    async def test_d02_a_malformed_body_is_no_server_error(self, tmp_path: Path) -> None:
        async with self.serving(tmp_path) as (app, site):
            for method, path in self._brought(app, site):
                if method in {"POST", "PUT", "DELETE"}:
                    for body in MALFORMED_BODIES.values():
                        await self._check(
                            site, method, path, {"data": body, "headers": {"Content-Type": _JSON}}
                        )

    async def test_d07_head_works_wherever_get_does(self, tmp_path: Path) -> None:
        async with self.serving(tmp_path) as (app, site):
            for method, path in self._brought(app, site):
                if method == "GET":
                    got = await site.test_client().get(path)
                    asked = await site.test_client().head(path)
                    assert asked.status_code == got.status_code, (
                        f"GET {path} is answered with {got.status_code}, HEAD with {asked.status_code}"
                    )
                    assert await asked.get_data() == b"", f"the answer to HEAD {path} has a body"

    async def _check(self, site: Any, method: str, path: str, request: dict[str, Any]) -> None:
        answer = await site.test_client().open(path, method=method, **request)
        asked = f"{method} {path}"
        assert answer.status_code < 500, (
            f"{asked} is answered with {answer.status_code}: the log has the cause"
        )
        assert answer.headers["X-Content-Type-Options"] == "nosniff", f"{asked}: browsers may guess the type"
        if answer.status_code >= 400:
            assert answer.content_type == _JSON, f"{asked}: an error of {answer.status_code} is not JSON"
            told = list(await answer.get_json())
            assert told == ["error"], f"{asked}: an error has the field `error` and no other, not {told}"

    def _brought(self, app: Application, site: Any) -> Iterator[tuple[str, str]]:
        """Yield the methods and paths that the plugin brings; parameters are filled with a plain value."""
        own = set(_rules(create_app(app, [])))
        for rule in site.url_map.iter_rules():
            for method in sorted(rule.methods - {"HEAD", "OPTIONS"}):
                if (method, rule.rule) not in own:
                    filled = {name: _filled(rule._converters[name]) for name in rule.arguments}
                    yield method, site.url_map.bind("localhost").build(rule.endpoint, filled, method=method)


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
    return [
        (method, rule.rule)
        for rule in site.url_map.iter_rules()
        for method in rule.methods - {"HEAD", "OPTIONS"}
    ]
