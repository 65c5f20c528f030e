"""Pairs of servers, one for each way to sign in and each storage; tests share them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from tests.two_servers.nodes import Pair, close_clients, pair


@pytest.fixture(autouse=True)
async def _no_client_outlives_its_test() -> AsyncIterator[None]:
    yield
    await close_clients()


@pytest.fixture(scope="session", params=["sqlite", pytest.param("postgres", marks=pytest.mark.slow)])
def storage_kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="session")
def dev(storage_kind: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    """Two servers at which an email is enough to sign in."""
    with pair(storage_kind, tmp_path_factory.mktemp("dev")) as nodes:
        yield nodes


@pytest.fixture(scope="session")
def by_mail(storage_kind: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    """Two servers that send links to sign in."""
    directory = tmp_path_factory.mktemp("by-mail")
    with pair(storage_kind, directory, auth={"authMode": "magic-link"}, email=_email(directory)) as nodes:
        yield nodes


@pytest.fixture(scope="session")
def by_password(storage_kind: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    """Two servers that want passwords, and send invitations."""
    directory = tmp_path_factory.mktemp("by-password")
    auth = {"authMode": "password", "isInviteRequired": True}
    with pair(storage_kind, directory, auth=auth, email=_email(directory)) as nodes:
        yield nodes


def _email(directory: Path) -> dict[str, object]:
    return {"backend": "files", "path": str(directory / "mails"), "sender": "chat@example.org"}
