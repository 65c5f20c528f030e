"""teamchat's own services are held to what those of plugins are."""

from __future__ import annotations

from pathlib import Path

from teamchat import EventListener, LoggedEvent, Mail
from teamchat.accounts.mail_sender import MailSender
from teamchat.accounts.outbox import QueuedMail
from teamchat.application import Application
from teamchat.interfaces import Service
from teamchat.server.listeners import Listeners
from teamchat.server.maintenance import Sweeper
from teamchat.testing import RoutesContract, ServiceContract
from teamchat.web import documents


class TestSweeper(ServiceContract):
    def make_service(self, app: Application) -> Service:
        return Sweeper(app)


class TestHub(ServiceContract):
    def make_service(self, app: Application) -> Service:
        return app.hub

    async def test_two_processes_may_run_it_at_once(self, tmp_path: Path) -> None:
        """Each process has a hub of its own."""


class TestListeners(ServiceContract):
    def make_service(self, app: Application) -> Service:
        class Ear:
            name = "ear"

            async def hear(self, event: LoggedEvent) -> None:
                del event

        listener: EventListener = Ear()
        return Listeners(app.storage, [listener])


class TestMailSender(ServiceContract):
    def make_service(self, app: Application) -> Service:
        async def compose(queued: QueuedMail) -> Mail:
            raise AssertionError("there is no mail to be composed")

        class Nowhere:
            async def send(self, mail: Mail) -> None:
                raise AssertionError("there is no mail to be sent")

        return MailSender(app.accounts.outbox, Nowhere(), compose, max_retries=1)


class TestDocuments(RoutesContract):
    def routes(self, app: Application):  # type: ignore[no-untyped-def]
        return documents.routes(app)
