"""Nobody can tell something hidden from them from what was never there (extension rules X-2 to X-4, X-13).

The questions are made from the declared endpoints (`tests.leaks.questions`); what is hidden, and from whom,
stands in `tests.leaks.things`; what may be told all the same, with its rule, in `tests.leaks.by_design`.
"""

from __future__ import annotations

import fcntl
import os
import pickle
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
import trio

from tests.leaks.asking import Report, ask_everything
from tests.leaks.conftest import QUESTIONS
from tests.leaks.parameters import CHANNEL_NAME, by_the_moment, name_of, parameters_of
from tests.leaks.things import THINGS, Make, a_channel_beyond_a_token, a_private_channel
from tests.leaks.world import open_world

MOST_SHOWN = 10
LEAST_ASKED = {
    "a_private_channel": 8_000,
    "an_archived_channel": 3_000,
    "a_channel_that_was_public": 3_500,
    "a_group": 8_000,
    "notes": 2_500,
    "a_direct_conversation": 4_500,
    "a_channel_beyond_a_token": 1_000,
    "a_public_channel_beyond_a_token": 1_000,
    "a_past_that_was_not_shown": 3_500,
    "a_conversation_beyond_a_token": 800,
    "a_channel_that_is_being_removed": 8_000,
    "a_thread_that_is_being_removed": 4_000,
    "a_session": 6,
}
"""How many questions there are at least; each is asked about the hidden thing and about nothing."""


async def asked(make: Make, directory: Path) -> tuple[Report, set[tuple[str, str]]]:
    """Ask everything about a thing; return that, and which parameters of endpoints could name it."""
    async with open_world(directory) as world:
        thing = await make(world)
        report = await ask_everything(thing, world.site.endpoints)
        return report, {
            (name_of(endpoint), parameter.key)
            for endpoint in world.site.endpoints
            for parameter in parameters_of(endpoint)
            if parameter.kind not in (None, CHANNEL_NAME)  # by a name nobody is given anything
        }


NAMES = [
    pytest.param(
        make.__name__,
        marks=[] if make in (a_private_channel, a_channel_beyond_a_token) else [pytest.mark.slow],
    )
    for make in THINGS
]


Asked = tuple[Report, set[tuple[str, str]]]


@pytest.fixture(scope="session")
def report_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Asked]:
    """Return what gives what came of a thing: it is asked once a run, whichever process wants it first."""
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent  # That of the run, with a folder in it for each process.

    def report_of(thing: str) -> Asked:
        with (folder / f"leaks-{thing}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            kept = folder / f"leaks-{thing}.pickle"
            if not kept.exists():
                [make] = [make for make in THINGS if make.__name__ == thing]
                with TemporaryDirectory() as directory:
                    kept.write_bytes(pickle.dumps(trio.run(asked, make, Path(directory))))
            return pickle.loads(kept.read_bytes())

    return report_of


@pytest.mark.slow
@pytest.mark.parametrize("thing", NAMES)
def test_x3_what_is_hidden_is_answered_as_if_nobody_ever_had_it(
    report_of: Callable[[str], Asked], thing: str, record_property: Callable[[str, object], None]
) -> None:
    report, _ = report_of(thing)
    record_property(QUESTIONS, (thing, report.asked, len(report.differences)))
    assert report.asked >= LEAST_ASKED[thing]
    shown = report.differences[:MOST_SHOWN]
    assert not shown, f"{len(report.differences)} answers tell:\n" + "\n".join(shown)


@pytest.mark.slow
def test_who_sees_it_is_given_what_the_others_ask_for_in_vain_at_every_endpoint_that_takes_an_id(
    report_of: Callable[[str], Asked],
) -> None:
    reports = [report_of(make.__name__) for make in THINGS]
    answered = {one for report, _ in reports for one in report.answered}
    never = {one for _, taken in reports for one in taken} - answered - by_the_moment()
    assert not never, f"nothing that is there was ever asked for by {sorted(never)}"
