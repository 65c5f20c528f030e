"""What every capability, service and verb must do, asked of Web Push."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import msgspec
import pytest
import trio
from teamchat_web_push.command import PUSH
from teamchat_web_push.loopback import Browser, LoopbackService
from teamchat_web_push.service import Pushing
from teamchat_web_push.subscriptions import SubscriptionDraft, Subscriptions
from teamchat_web_push.vapid import VapidKey

from teamchat import Command, Service, Storage
from teamchat.application import Application
from teamchat.settings import PluginsSettings, Settings, StorageSettings
from teamchat.storage.sqlite import SqliteOptions, open_sqlite
from teamchat.testing import DEADLINE, CapabilityContract, CommandContract, ServiceContract
from tests.push_world import LOCAL, PushContract

ADMIN = "admin@localhost"


class TestWebPush(PushContract, CapabilityContract):
    """The contract of capabilities, for this one."""

    __test__ = True


class TestPushing(ServiceContract):
    def make_service(self, app: Application) -> Service:
        notices = app.notices
        assert notices is not None
        return Pushing(app, notices, LOCAL, VapidKey(app.storage, "mailto:admin@example.org"))

    @asynccontextmanager
    async def application(self, tmp_path: Path) -> AsyncIterator[Application]:
        async with PushContract().application(tmp_path) as app:
            yield app


class OnSqlite(PushContract):
    def open_storage(self, directory: Path) -> AbstractAsyncContextManager[Storage]:
        return open_sqlite(SqliteOptions(path=str(directory)))


class TestPush(CommandContract):
    arguments = ("test", ADMIN)

    @pytest.fixture(autouse=True)
    def _browser(self, tmp_path: Path) -> Iterator[None]:
        """Have the admin's browser subscribed, and its push service run for as long as the test."""
        (tmp_path / "data").mkdir()
        self.browser: Browser | None = None
        has_begun, scope = threading.Event(), trio.CancelScope()

        async def serve() -> None:
            nonlocal here
            here = trio.lowlevel.current_trio_token()
            with scope:
                async with LoopbackService().running() as service:
                    self.browser = service.browser()
                    await subscribe(tmp_path / "data", self.browser)
                    has_begun.set()
                    await trio.sleep_forever()

        here: trio.lowlevel.TrioToken | None = None
        serving = threading.Thread(target=trio.run, args=(serve,))
        serving.start()
        assert has_begun.wait(DEADLINE)
        yield
        assert here is not None
        here.run_sync_soon(scope.cancel)
        serving.join(DEADLINE)

    def command(self) -> Command:
        return PUSH

    def settings(self, tmp_path: Path) -> Settings:
        push = {"contact": "mailto:admin@example.org", "allowedHosts": ["127.0.0.1"]}
        return Settings(
            storage=StorageSettings(path=str(tmp_path / "data")),
            plugins=PluginsSettings(options={"push": push}),
        )

    def test_each_device_gets_a_push_that_its_browser_can_read(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert self.run(self.settings(tmp_path)) == 0
        assert self.browser is not None
        assert len(self.browser.payloads) == 1
        assert "Phone: " in capsys.readouterr().out


async def subscribe(directory: Path, browser: Browser) -> None:
    """Have the admin of a new server take pushes in a browser."""
    async with OnSqlite().application(directory) as app:
        _, signed_in = await app.accounts.sign_in(ADMIN, "192.0.2.1", "tests")
        caller = await app.accounts.authenticate(signed_in.access_token)
        draft = msgspec.convert({**browser.subscription, "deviceName": "Phone"}, SubscriptionDraft)
        await Subscriptions(app, LOCAL.allowed_hosts).add(caller, draft)
