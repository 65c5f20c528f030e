"""Routes with one thing wrong."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from quart import Blueprint, Response, request

from teamchat.application import Application
from teamchat.testing import RoutesContract
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


@found_by(test_there_are_routes_and_none_takes_the_place_of_teamchats_own="a route stands where there is one")
class TestTakesAnothersPlace(Contract):
    path = "/health"


@found_by(test_there_are_routes_and_none_takes_the_place_of_teamchats_own="there are no routes")
class TestBringsNothing(Contract):
    def routes(self, app: Application) -> Sequence[Blueprint]:
        return []


@found_by(test_d01_whoever_asks_gets_an_answer_and_errors_have_the_one_shape="GET /lunch is answered with")
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


@found_by(test_d02_a_malformed_body_is_no_server_error="POST /lunch is answered with 500")
class TestReadsBodiesCarelessly(Contract):
    methods = ("POST",)

    async def answer(self) -> Any:
        body = await request.get_data()
        return {"got": len(json.loads(body)) if body else 0}


@found_by(test_d07_head_works_wherever_get_does="GET /lunch is answered with 200, HEAD with 400")
class TestRefusesHead(Contract):
    async def answer(self) -> Any:
        return ({"error": "Look."}, 400) if request.method == "HEAD" else {"text": "soup"}
