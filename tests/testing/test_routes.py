"""The contract of routes fills every kind of parameter with what fits it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from quart import Blueprint

from teamchat.application import Application
from teamchat.testing import RoutesContract

ASKED = set[str]()
RULES = [
    "/menus/<int:week>",
    "/menus/<int(fixed_digits=4):year>/<int(min=9, max=12):month>",
    "/prices/<float:most>",
    "/prices/<float(max=3):most>/<int(signed=True):change>",
    "/meals/<any(soup, salad):kind>",
    "/orders/<uuid:order>",
    "/codes/<string(length=2):code>",
    "/names/<string(minlength=7):name>",
    "/files/<path:file>",
    "/words/<word>",
]


class TestLunch(RoutesContract):
    @pytest.fixture(autouse=True)
    def _every_route_is_reached(self, request: pytest.FixtureRequest) -> Any:
        ASKED.clear()
        yield
        if "whoever_asks" in request.node.name:
            assert set(RULES) == ASKED

    def routes(self, app: Application) -> Sequence[Blueprint]:
        blueprint = Blueprint("lunch", __name__)
        for rule in RULES:
            blueprint.add_url_rule(rule, rule.translate({ord("."): "-"}), self.answer(rule))
        return [blueprint]

    def answer(self, rule: str) -> Any:
        async def answer(**filled: Any) -> Any:
            ASKED.add(rule)
            return {"filled": [str(value) for value in filled.values()]}

        return answer
