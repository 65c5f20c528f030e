"""What all tests share, those of the plugins and of the conformance suite too."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests import storages


@pytest.fixture(autouse=True)
def _storages_end_with_their_test() -> Iterator[None]:
    yield
    storages.forget()
