"""How providers are kept found while the server runs, and what the configuration may say of them."""

from __future__ import annotations

import logging
from typing import Any

import pytest
import trio
from teamchat_oidc.discovery import AGAIN_SECONDS, RETRY_SECONDS, Discovery
from teamchat_oidc.failures import NotBelieved
from trio.testing import MockClock

from teamchat import SettingsError
from teamchat.settings import load


class Fake:
    """A provider that answers when it is told to."""

    id = "company"

    def __init__(self, *, is_up: bool, takes: float = 0) -> None:
        self.is_up, self.takes = is_up, takes
        self.asked: list[float] = []

    async def find(self) -> None:
        self.asked.append(trio.current_time())
        await trio.sleep(self.takes)
        if not self.is_up:
            raise NotBelieved("ConnectError")


async def test_a_provider_that_is_down_is_tried_each_minute_and_told_of_once(
    autojump_clock: MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    fake: Any = Fake(is_up=False)
    async with trio.open_nursery() as nursery:
        began = trio.current_time()
        await nursery.start(Discovery([fake]).run)
        await trio.sleep(3 * RETRY_SECONDS + 1)
        assert [at - began for at in fake.asked] == [0, 60, 120, 180]
        fake.is_up = True
        await trio.sleep(RETRY_SECONDS)
        assert len(fake.asked) == 5
        await trio.sleep(AGAIN_SECONDS)
        assert len(fake.asked) == 6
        nursery.cancel_scope.cancel()
    assert caplog.text.count("can't be asked") == 1
    assert caplog.text.count("found again") == 1


async def test_a_provider_that_does_not_answer_holds_the_start_up_for_two_seconds(
    autojump_clock: MockClock,
) -> None:
    slow: Any = Fake(is_up=True, takes=3600)
    async with trio.open_nursery() as nursery:
        began = trio.current_time()
        await nursery.start(Discovery([slow]).run)
        assert trio.current_time() - began == 2
        nursery.cancel_scope.cancel()


GOOD = {
    "id": "company",
    "name": "Work",
    "issuer": "https://id.example.org",
    "clientId": "a",
    "clientSecret": "b",
}


def configured(tmp_path: Any, **over: Any) -> Any:
    lines = [f"{name} = {value!r}" for name, value in (GOOD | over).items()]
    file = tmp_path / "teamchat.toml"
    file.write_text("[[oauth.oidc]]\n" + "\n".join(lines).replace("True", "true"))
    return load(file, {}).oauth.oidc[0]


def test_a_provider_needs_its_issuer_and_the_credentials_there(tmp_path: Any) -> None:
    found = configured(tmp_path)
    assert (found.scopes, found.claims.groups, found.admin_groups) == ("openid email profile", "groups", [])
    for local in ("http://127.0.0.1:8080/realms/x", "http://localhost:8080", "http://[::1]:8080"):
        assert configured(tmp_path, issuer=local).issuer == local


@pytest.mark.parametrize(
    "wrong",
    [
        {"issuer": "http://id.example.org"},
        {"issuer": "http://127.0.0.1.example.org"},
        {"issuer": "https://id.example.org?x=1"},
        {"issuer": "https://id.example.org#x"},
        {"issuer": "https://user@id.example.org"},
        {"issuer": "ftp://id.example.org"},
        {"id": "Work"},
        {"id": "logout"},
        {"id": "providers"},
        {"scopes": "email"},
        {"clientSecret": ""},
        {"redirectUri": "javascript:x"},
        {"unknown": 1},
    ],
    ids=str,
)
def test_what_can_not_work_is_refused_by_its_key(tmp_path: Any, wrong: dict[str, Any]) -> None:
    [key] = wrong
    with pytest.raises(SettingsError, match=key):
        configured(tmp_path, **wrong)
