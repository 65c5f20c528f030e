"""Ways to sign in with one thing wrong: whoever gives an email is in, as in dev mode."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, ClassVar

from msgspec import Struct
from quart import Blueprint, request

from teamchat import AuthMode
from teamchat.application import Application
from teamchat.settings import Settings
from teamchat.testing import AuthModeContract
from teamchat.web import Section, Visitor
from tests.testing.faults import found_by


class Body(Struct):
    email: str


class Token(Struct, rename="camel"):
    access_token: str


class Mode:
    """`teamchat.AuthMode`. What is wrong is in the subclasses."""

    path = "/auth/door"

    def check(self, settings: Settings) -> None:
        pass

    def routes(self, app: Application) -> Blueprint:
        section = Section("door")

        @section.endpoint("POST", self.path, body=Body, answer=Token, open=True)
        async def enter(app: Application, visitor: Visitor, body: Body) -> Token:
            _, tokens = await app.accounts.sign_in(body.email, visitor.ip, visitor.user_agent)
            return Token(self.token(tokens.access_token))

        return section

    def token(self, given: str) -> str:
        return given


class Contract(AuthModeContract):
    mode: type[Mode]

    def settings(self) -> Settings:
        return Settings()

    @asynccontextmanager
    async def open_mode(self) -> AsyncIterator[AuthMode]:
        yield self.mode()

    async def sign_in(self, app: Application, client: Any) -> str:
        answer = await client.post(self.mode.path, json={"email": "admin@localhost"})
        return (await answer.get_json())["accessToken"]


@found_by(test_its_routes_lie_under_auth="these do not: ['/door']")
class TestLiesElsewhere(Contract):
    class mode(Mode):  # noqa: N801
        path = "/door"


@found_by(
    test_a_sign_in_gives_an_access_token_that_the_server_takes="does not take the token of sign_in()",
    test_a_sign_in_is_a_session_that_can_be_ended="Authentication is missing or invalid.",
)
class TestGivesATokenOfItsOwn(Contract):
    class mode(Mode):  # noqa: N801
        def token(self, given: str) -> str:
            return "of-my-own"


@found_by(test_d02_a_malformed_body_is_400="with a malformed body (empty) must be 400, not 200")
class TestTakesAnyBody(Contract):
    class mode(Mode):  # noqa: N801
        def routes(self, app: Application) -> Blueprint:
            blueprint = Blueprint("door", __name__)

            @blueprint.post(self.path)
            async def enter() -> dict[str, str]:
                try:
                    email = json.loads(await request.get_data())["email"]
                except Exception:
                    email = "admin@localhost"
                _, tokens = await app.accounts.sign_in(email, "127.0.0.1", "")
                return {"accessToken": tokens.access_token}

            return blueprint


@found_by(test_its_routes_can_be_made_for_more_than_one_application="there is one already")
class TestServesOneApplication(Contract):
    class mode(Mode):  # noqa: N801
        served: ClassVar[set[int]] = set()

        def routes(self, app: Application) -> Blueprint:
            if self.served:
                raise RuntimeError("there is one already")
            self.served.add(id(app))
            return super().routes(app)

    @asynccontextmanager
    async def open_mode(self) -> AsyncIterator[AuthMode]:
        yield self.mode()
        self.mode.served.clear()


@found_by(test_people_register_by_a_route_of_its_own_if_at_all="traits().lets_register has to say")
class TestRegistersUnsaid(Contract):
    class mode(Mode):  # noqa: N801
        def routes(self, app: Application) -> Blueprint:
            section = Section("door")

            async def enter(app: Application, visitor: Visitor, body: Body) -> Token:
                _, tokens = await app.accounts.sign_in(body.email, visitor.ip, visitor.user_agent)
                return Token(tokens.access_token)

            async def register(app: Application, visitor: Visitor, body: Body) -> Token:
                return await enter(app, visitor, body)

            section.endpoint("POST", self.path, body=Body, answer=Token, open=True)(enter)
            if not app.settings.auth.is_invite_required:
                section.endpoint("POST", "/auth/new", body=Body, answer=Token, open=True)(register)
            return section
