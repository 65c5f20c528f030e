"""A grant that answers what a test says, so that each profile function meets a provider's own shapes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from teamchat import Grant, OAuthFailed, OAuthProvider, Profile
from teamchat.testing import Said

Read = Callable[..., Any]


@pytest.fixture
def read() -> Read:
    async def read(provider: OAuthProvider, **said: Any) -> Profile:
        grant: Grant = Said(provider, **said)
        return await provider.profile(grant)

    return read


@pytest.fixture
def refused(read: Read) -> Read:
    """Expect a refusal, and the one reason that there is for it."""

    async def refused(provider: OAuthProvider, **said: Any) -> None:
        with pytest.raises(OAuthFailed) as failed:
            await read(provider, **said)
        assert failed.value.reason == "email_not_verified"
        assert str(failed.value) == "email_not_verified"

    return refused
