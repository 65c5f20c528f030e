"""What several modules of tests share."""

from __future__ import annotations

import pytest
import trio

from conformance.tests.worlds import play_all_worlds
from teamchat_conformance.runner import Result


@pytest.fixture(scope="session")
def results() -> dict[str, Result]:
    """What was found in each world; they are played once."""
    return trio.run(play_all_worlds)
