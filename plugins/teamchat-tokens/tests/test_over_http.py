"""Tokens between two nodes on one database: what is revoked at one ends at the other."""

from __future__ import annotations

from pathlib import Path

import pytest

from teamchat.testing import listening, running
from tests.storages import storage_section


@pytest.mark.slow
async def test_a_token_that_is_revoked_at_one_node_ends_at_the_other(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    storage = storage_section(tmp_path / "data")
    async with (
        running(tmp_path / "a", storage=storage) as here,
        running(tmp_path / "b", storage=storage) as there,
        await here.sign_in() as ada,
    ):
        asked = {"name": "CI", "scopes": ["read", "events"]}
        made = (await ada.post("/me/tokens", json=asked)).json()["token"]
        async with there.client(made["token"]) as program, listening(program) as stream:
            assert (await program.get("/channels")).status_code == 200
            assert (await ada.delete(f"/me/tokens/{made['id']}")).status_code == 200
            with pytest.raises(AssertionError, match="the stream ended"):
                await stream.until("what never comes")
            assert (await program.get("/channels")).status_code == 401
