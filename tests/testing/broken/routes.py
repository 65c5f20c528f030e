"""Routes with one thing wrong."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import count
from typing import Annotated, Any

from msgspec import Meta, Struct
from quart import Blueprint, Response, request

from teamchat.application import Application
from teamchat.model import Caller
from teamchat.testing import RoutesContract
from teamchat.web import Section
from tests.testing.faults import found_by


class Contract(RoutesContract):
    methods: Sequence[str] = ("GET",)
    path = "/lunch"

    def routes(self, app: Application) -> Sequence[Blueprint]:
        blueprint = Blueprint("lunch", __name__)
        blueprint.add_url_rule(self.path, view_func=self.answer, methods=self.methods)
        return [blueprint]

    async def answer(self) -> Any:
        return {"text": "soup"}


EVERY_TEST = [name for name in vars(RoutesContract) if name.startswith("test_")]
WHOEVER_ASKS = "test_d01_whoever_asks_gets_an_answer_and_errors_have_the_one_shape"
REFUSED = "its route GET /health belongs to teamchat itself"


@found_by(**dict.fromkeys(EVERY_TEST, REFUSED))
class TestTakesAnothersPlace(Contract):
    path = "/health"


@found_by(test_there_are_routes_and_none_takes_the_place_of_teamchats_own="there are no routes")
class TestBringsNothing(Contract):
    def routes(self, app: Application) -> Sequence[Blueprint]:
        return []


@found_by(**{WHOEVER_ASKS: "GET /lunch (without a token) is answered with 500"})
class TestStumbles(Contract):
    async def answer(self) -> Any:
        raise RuntimeError("no soup today")


@found_by(test_d01_whoever_asks_gets_an_answer_and_errors_have_the_one_shape="an error of 404 is not JSON")
class TestTellsErrorsInItsOwnWay(Contract):
    async def answer(self) -> Any:
        return Response("no soup today", status=404)


@found_by(test_d01_whoever_asks_gets_an_answer_and_errors_have_the_one_shape="no other, not ['error', 'why']")
class TestTellsMoreInErrors(Contract):
    async def answer(self) -> Any:
        return {"error": "There is no soup.", "why": "It is Sunday."}, 404


@found_by(test_d02_a_malformed_body_is_no_server_error="POST /lunch (without a token) is answered with 500")
class TestReadsBodiesCarelessly(Contract):
    methods = ("POST",)

    async def answer(self) -> Any:
        body = await request.get_data()
        return {"got": len(json.loads(body)) if body else 0}


@found_by(test_d07_head_works_wherever_get_does="GET /lunch is answered with 200, HEAD with 400")
class TestRefusesHead(Contract):
    async def answer(self) -> Any:
        return ({"error": "Look."}, 400) if request.method == "HEAD" else {"text": "soup"}


IN_WORDS = "GET /menu ({}) is answered with 500: unexpected failure: RuntimeError at "


class Guarded(RoutesContract):
    """A declared endpoint, which nobody reaches without a token."""

    handler: Any

    def routes(self, app: Application) -> Sequence[Blueprint]:
        section = Section("menu")
        section.endpoint("GET", "/menu", answer=str)(self.handler)
        return [section]


async def always(caller: Caller) -> str:
    raise RuntimeError(caller.user.id)


async def for_admins(caller: Caller) -> str:
    if caller.user.is_admin:
        raise RuntimeError(caller.user.id)
    return "soup"


@found_by(**{WHOEVER_ASKS: IN_WORDS.format("with a user's token")})
class TestStumblesOverWhoeverIsSignedIn(Guarded):
    handler = staticmethod(always)


@found_by(**{WHOEVER_ASKS: IN_WORDS.format("with an admin's token")})
class TestStumblesOverAdmins(Guarded):
    handler = staticmethod(for_admins)


class Order(Struct):
    dish: str
    count: Annotated[int, Meta(ge=2)]
    sauces: list[str]
    note: str | None = None


@found_by(test_a_body_that_fits_gets_an_answer="POST /orders (with a user's token) is answered with 500")
class TestStumblesOverWhatItAskedFor(RoutesContract):
    def routes(self, app: Application) -> Sequence[Blueprint]:
        section = Section("orders")

        @section.endpoint("POST", "/orders", answer=str, body=Order)
        async def order(body: Order) -> str:
            raise RuntimeError(body.dish)

        return [section]


@found_by(test_x13_what_is_sent_again_under_its_key_is_not_made_again="POST /orders takes an Idempotency-Key")
class TestOrdersAgain(RoutesContract):
    def routes(self, app: Application) -> Sequence[Blueprint]:
        section, made = Section("orders"), count()

        @section.endpoint("POST", "/orders", answer=str, body=Order)
        async def order(body: Order, key: str | None) -> str:
            return f"{body.dish} {next(made)} for {key}"

        return [section]


@found_by(**{WHOEVER_ASKS: "GET /channels/"})
class TestStumblesOverAChannelThatIsThere(RoutesContract):
    def routes(self, app: Application) -> Sequence[Blueprint]:
        section = Section("menu")

        @section.endpoint("GET", "/channels/:channelId/menu", answer=str)
        async def menu(channel_id: str) -> str:
            if channel_id != "word":
                raise RuntimeError
            return "soup"

        return [section]
