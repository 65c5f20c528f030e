"""What the tests of the pages share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.docs.machine import Machine
from tests.docs.mailbox import Mailbox, smtp

smtp_server = smtp.smtp_server
HERE = Path(__file__).parent
QUICK = "test_first_steps.py"


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What a page types starts programs again and again: all but the first steps is slow."""
    for item in items:
        typed = {"machine", "bare"} & set(getattr(item, "fixturenames", ()))
        if typed and item.path.parent == HERE and item.path.name != QUICK:
            item.add_marker(pytest.mark.slow)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """An operator's machine on which nothing was done yet; its servers are in dev mode."""
    return Machine(tmp_path)


@pytest.fixture
def bare(tmp_path: Path) -> Machine:
    """The same, where nothing but the page says how people sign in."""
    return Machine(tmp_path, {})


@pytest.fixture
def mailbox(smtp_server: Callable[..., Any]) -> Mailbox:
    """Where the mails of a server go that stands on a page's table [email]."""
    return Mailbox(smtp_server("tls", asks=True))
