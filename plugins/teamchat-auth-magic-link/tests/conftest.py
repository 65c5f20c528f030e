"""Accounts on a real storage, as those of `tests.accounts`."""

from __future__ import annotations

from tests.accounts.conftest import world

__all__ = ["world"]
