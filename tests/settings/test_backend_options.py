"""The keys of a section that are a backend's own."""

from __future__ import annotations

from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from msgspec import Meta, Struct

from teamchat.errors import SettingsError
from teamchat.interfaces import Backend
from teamchat.settings import backend_options, load
from teamchat.storage.sqlite import SqliteOptions, open_sqlite
from tests.settings.writing import SENTINEL, at, written


class PoolOptions(Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    url: str
    pool_size: Annotated[int, Meta(ge=1)] = 4
    hosts: list[str] = []
    role: Literal["primary", "any"] = "primary"
    password: Annotated[str, Meta(min_length=8)] = "12345678"
    schema: Annotated[str, Meta(min_length=1, max_length=9, pattern="^[a-z]+$", examples=["chat"])] = "chat"


@asynccontextmanager
async def opened(options: Struct) -> Any:
    yield options


POOL: Backend[Any] = Backend("pool", opened, PoolOptions)


def test_a_backends_options_are_filled_from_its_section(tmp_path: Path) -> None:
    settings = load(
        written(tmp_path, "[storage]\nbackend = 'pool'\nurl = { env = 'URL' }\npoolSize = 2\nhosts = ['a']"),
        {"URL": "from env", "TEAMCHAT_STORAGE__POOLSIZE": "3", "TEAMCHAT_STORAGE__HOSTS": "b,c"},
    )
    assert backend_options(settings.storage, POOL) == PoolOptions("from env", 3, ["b", "c"])
    assert "from env" not in repr(settings)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            "url = 'u'\npoolsize = 2",
            "storage.poolsize is not a key of the configuration. Did you mean poolSize?",
        ),
        (f"url = 'u'\npoolSize = '{SENTINEL}'", "storage.poolSize must be a whole number of at least 1."),
        ("url = 'u'\npoolSize = 0", "storage.poolSize must be a whole number of at least 1."),
        ("poolSize = 1", "storage.url is missing."),
        (f"url = 'u'\nrole = '{SENTINEL}'", "storage.role must be primary or any."),
        ("url = 'u'\npassword = 'short'", "storage.password must be text of at least 8 characters."),
        (
            f"url = 'u'\nschema = '{SENTINEL}'",
            "storage.schema must be text from 1 to 9 characters, such as chat.",
        ),
    ],
)
def test_a_mistake_in_a_backends_options_names_the_key(text: str, sentence: str, tmp_path: Path) -> None:
    section = load(written(tmp_path, f"[storage]\n{text}")).storage
    with pytest.raises(SettingsError) as caught:
        backend_options(section, POOL)
    assert str(caught.value) == sentence


def test_the_path_is_given_to_a_backend_that_has_one(tmp_path: Path) -> None:
    settings = at(tmp_path / "d")
    sqlite: Backend[Any] = Backend("sqlite", open_sqlite, SqliteOptions)
    assert backend_options(settings.storage, sqlite) == SqliteOptions(str(tmp_path / "d"))
    assert backend_options(settings.images, sqlite) == SqliteOptions(str(tmp_path / "d" / "images"))
    elsewhere = load(None, {"TEAMCHAT_IMAGES__PATH": "/elsewhere"})
    assert backend_options(elsewhere.images, sqlite) == SqliteOptions("/elsewhere")
