"""The servers that a browser visits, and how people enter them, as in the web client's own tests."""

from collections.abc import Callable
from importlib import import_module
from typing import Any

import pytest

_web = import_module("plugins.teamchat-web.tests.conftest")
enter, serve, talk, visit = _web.enter, _web.serve, _web.talk, _web.visit
accessible, look = _web.accessible, _web.look


@pytest.fixture
def managed(serve: Callable[..., Any]) -> Any:
    """A `talk` where only who manages a channel pins there."""
    return _web.Talk(serve(pins={"pinPolicy": "managers"}))
