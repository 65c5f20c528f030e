"""The service that sends the mails waiting in the outbox.

A mail is tried until it is taken, until its link has expired, or until it was refused for good as often as
``email.maxRetries`` allows. What a mail server says about one mail delays or ends only that mail. A mail
server that is down is tried with one mail at a time, less and less often, however many wait; once it answers
for one, all the others are sent. Neither a mailer nor the storage can end the service, and no line of the log
contains a recipient, a link or what a mail server said.
"""

from __future__ import annotations

import logging
import random
import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import trio

from teamchat.accounts.mail_turns import Turns
from teamchat.accounts.mails import Composer
from teamchat.accounts.outbox import LEASE_SECONDS, LONGEST_PAUSE_SECONDS, Outbox, QueuedMail
from teamchat.errors import MailDelayed, MailRefused, OperatorError, SettingsError
from teamchat.interfaces import Mail, Mailer, Service
from teamchat.interfaces.hookspecs import hookimpl
from teamchat.observability.logs import get_logger
from teamchat.observability.outages import Outage

if TYPE_CHECKING:
    from teamchat.application import Application

_REPLY_CODE = re.compile(r"(?<!\d)[45]\d\d(?!\d)")

_log = get_logger(__name__)

Compose = Callable[[QueuedMail], Awaitable[Mail]]


@dataclass(frozen=True)
class Rhythm:
    """How fast, and how patiently; in seconds."""

    at_once: int = 8
    deadline: float = 60.0
    first_pause: float = 1.0
    longest_pause: float = 30.0
    poll: float = 5.0
    """How often the outbox is read though nothing was announced: another server may have put a mail in."""
    hold: float = LEASE_SECONDS / 3
    """How often the lease of a mail under way is renewed."""

    def pause(self, failures: int, age: float = 0.0) -> float:
        """Return how long to pause after so many failures: about 1, 2, 4, … seconds, at most 30.

        A mail that is `age` seconds old waits an eighth of that, if that is longer, and ten minutes at most:
        where an invitation works for a week, its recipient's server is not asked 20,000 times.
        """
        most = max(self.longest_pause, min(age / 8, LONGEST_PAUSE_SECONDS))
        longest = min(most, self.first_pause * 2.0 ** min(failures - 1, 30))
        return longest * random.uniform(0.75, 1.0)  # noqa: S311 - spreads tries, hides nothing


class Line:
    """The line to the mail server: free, or closed for a while after failures that will pass."""

    def __init__(self, rhythm: Rhythm) -> None:
        self._rhythm = rhythm
        self._opens_at = 0.0
        self.failures = 0

    @property
    def width(self) -> int:
        """How many mails may be under way: one while it is not known whether the server is back."""
        return 1 if self.failures else self._rhythm.at_once

    def closed_for(self) -> float:
        """Return for how many seconds nothing must be sent."""
        return max(0.0, self._opens_at - trio.current_time())

    def worked(self) -> None:
        """Note that the server took a mail, or answered for one."""
        self.failures, self._opens_at = 0, 0.0

    def failed(self, failures_before: int) -> None:
        """Note a failure. Mails that were under way together fail together, and count as one."""
        if failures_before == self.failures:
            self.failures += 1
            self._opens_at = trio.current_time() + self._rhythm.pause(self.failures)


class MailSender:
    """Sends the mails of the outbox, a few at once, and in turns for those who asked for them."""

    name = "mail sender"

    def __init__(
        self,
        outbox: Outbox,
        mailer: Mailer,
        compose: Compose,
        *,
        max_retries: int,
        rhythm: Rhythm | None = None,
    ) -> None:
        self._outbox = outbox
        self._mailer = mailer
        self._compose = compose
        self._max_retries = max_retries
        self._rhythm = Rhythm() if rhythm is None else rhythm
        self._line = Line(self._rhythm)
        self._turns = Turns()

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        failures = 0
        outage = Outage(_log, "the outbox can't be read and will be tried again", logging.ERROR)
        async with trio.open_nursery() as nursery:
            task_status.started()
            while True:
                try:
                    await self._go_on(nursery)
                    failures = 0
                    outage.is_over()
                except Exception as error:
                    failures += 1
                    outage.goes_on(error)
                    await trio.sleep(self._rhythm.pause(failures))

    async def _go_on(self, nursery: trio.Nursery) -> None:
        """Begin to send what is due, or wait until something may be."""
        free = self._line.width - self._turns.held
        pause = self._line.closed_for() if free > 0 else self._rhythm.poll
        if not pause:
            pause = await self._outbox.due_in()
        if not pause:
            claimed = await self._outbox.claim(free, self._turns.choose)
            for mail in claimed:
                await nursery.start(self._work_on, mail)
            # Those that are due may be of somebody who holds their share of the places already.
            pause = 0.0 if claimed else self._rhythm.poll
        if pause:
            await self._outbox.wait(min(pause, self._rhythm.poll))

    async def _work_on(self, mail: QueuedMail, *, task_status: trio.TaskStatus[None]) -> None:
        with self._turns.holding(mail.requester):
            task_status.started()
            try:
                await self._deal_with(mail)
            except Exception as error:  # The storage: what is not recorded is tried again after the lease.
                _log.error("a mail could not be dealt with", purpose=mail.purpose, exc_info=error)
        self._outbox.announce()

    async def _deal_with(self, mail: QueuedMail) -> None:
        if mail.is_decoy:
            # Written like any other, or the requests that follow would give away who has an account (D-16).
            await self._compose(mail)
            await self._outbox.drop(mail)
        elif self._outbox.has_expired(mail):
            _log.error(
                "a mail was given up, for its link has expired", purpose=mail.purpose, attempt=mail.tries
            )
            await self._outbox.drop(mail)
        else:
            failures_before = self._line.failures
            error = await self._hand_over(mail, await self._compose(mail))
            await self._record(mail, error, failures_before)

    async def _hand_over(self, queued: QueuedMail, mail: Mail) -> Exception | None:
        """Give a mail to the mailer, and hold it claimed meanwhile. Return what went wrong."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._hold, queued)
            error = await self._try(mail)
            nursery.cancel_scope.cancel()
        return error

    async def _try(self, mail: Mail) -> Exception | None:
        try:
            with trio.move_on_after(self._rhythm.deadline) as sending:
                await self._mailer.send(mail)
        except Exception as error:
            return error
        # Who asked for it may have named a recipient that makes a server slow: it counts for this mail.
        return MailDelayed("It took too long.") if sending.cancelled_caught else None

    async def _hold(self, mail: QueuedMail) -> None:
        while True:
            await trio.sleep(self._rhythm.hold)
            try:
                await self._outbox.hold(mail)
            except Exception as error:
                _log.error("a mail under way could not be held", exc_info=error)

    async def _record(self, mail: QueuedMail, error: Exception | None, failures_before: int) -> None:
        if error is None:
            self._line.worked()
            await self._forget_sent(mail)
        elif isinstance(error, MailRefused):
            self._line.worked()
            await self._refused(mail, error)
        elif isinstance(error, MailDelayed):
            self._line.worked()
            await self._delayed(mail, error)
        else:
            self._line.failed(failures_before)
            _log_failure(mail, error)
            await self._outbox.delay(mail, self._rhythm.pause(mail.tries))

    async def _refused(self, mail: QueuedMail, error: MailRefused) -> None:
        is_last = mail.refusals >= self._max_retries
        _log_answer(
            logging.ERROR if is_last else logging.WARNING,
            f"a mail was refused and {'is given up' if is_last else 'will be tried again'}",
            mail,
            error,
        )
        if is_last:
            await self._outbox.drop(mail)
        else:
            await self._outbox.refused(mail, self._pause(mail))

    async def _delayed(self, mail: QueuedMail, error: MailDelayed) -> None:
        _log_answer(logging.WARNING, "a mail was not taken yet and will be tried again", mail, error)
        await self._outbox.delay(mail, self._pause(mail))

    def _pause(self, mail: QueuedMail) -> float:
        return self._rhythm.pause(mail.tries, self._outbox.age(mail))

    async def _forget_sent(self, mail: QueuedMail) -> None:
        """Forget a sent mail even if the storage fails for a while: it would be sent twice."""
        failures = 0
        while True:
            try:
                return await self._outbox.sent(mail)
            except Exception as error:
                failures += 1
                _log.error("a mail was sent, and could not be forgotten yet", exc_info=error)
                await trio.sleep(self._rhythm.pause(failures))


def _log_answer(level: int, event: str, mail: QueuedMail, error: Exception) -> None:
    """Log what a server said of one mail: the code of its reply, for the rest may name the recipient."""
    code = _REPLY_CODE.search(str(error))
    _log.log(
        level,
        event,
        purpose=mail.purpose,
        attempt=mail.tries,
        failure=type(error).__name__,
        code=int(code[0]) if code else None,
    )


def _log_failure(mail: QueuedMail, error: Exception) -> None:
    """Log a failure that will pass: an operator's error by its sentence, another by where it was raised."""
    is_known = isinstance(error, OperatorError)
    _log.log(
        logging.ERROR if isinstance(error, SettingsError) else logging.WARNING,
        "a mail could not be sent and will be tried again",
        purpose=mail.purpose,
        attempt=mail.tries,
        failure=type(error).__name__,
        reason=str(error) if is_known else None,
        exc_info=None if is_known else error,
    )


def _composes(app: Application, composer: Composer) -> Compose:
    async def compose(queued: QueuedMail) -> Mail:
        link = app.accounts.links.url(queued.link_id, queued.purpose, queued.email)
        return composer.compose(queued, link, await app.chat.server_settings.name())

    return compose


@hookimpl
def services(app: Application) -> Sequence[Service]:
    """Offer the sender of mail, where mail is configured."""
    if app.mailer is None or app.composer is None or app.settings.email is None:
        return []
    return [
        MailSender(
            app.accounts.outbox,
            app.mailer,
            _composes(app, app.composer),
            max_retries=app.settings.email.max_retries,
        )
    ]
