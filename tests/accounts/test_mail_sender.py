"""The sender: every mail goes out once as far as that can be, and no failure of anything ends it."""

from __future__ import annotations

import io
import json
import logging
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import trio

from teamchat.accounts.mail_sender import Line, MailSender, Rhythm, services
from teamchat.accounts.mails import Composer
from teamchat.accounts.outbox import LEASE_SECONDS, LONGEST_PAUSE_SECONDS, Outbox, QueuedMail
from teamchat.errors import MailDelayed, MailRefused, OperatorError, SettingsError, StorageError
from teamchat.interfaces import Mail, Mailer, Storage
from teamchat.observability.logs import LineFormatter
from teamchat.settings import EmailSettings, Settings
from tests.accounts.conftest import Clock, World
from tests.storages import open_storage

PATIENCE = 20
# The storage works in threads, so time can't be faked here: it is scaled down instead.
QUICK = Rhythm(first_pause=0.005, longest_pause=0.04, poll=0.02)
LONG = 600.0
SECRET = "what the server said"


class Postman:
    """A mailer whose server does what the test says, by recipient; it keeps what it took."""

    def __init__(self) -> None:
        self.taken: list[str] = []
        self.tries: Counter[str] = Counter()
        self.most_at_once = 0
        self._at_once = 0
        self.holds_until = 0
        """How many have to be under way before the first is taken."""
        self._enough = trio.Event()
        self.does: Callable[[str, int], Exception | str | None] = lambda recipient, attempt: None

    async def send(self, mail: Mail) -> None:
        self.tries[mail.recipient] += 1
        self._at_once += 1
        self.most_at_once = max(self.most_at_once, self._at_once)
        if self._at_once >= self.holds_until:
            self._enough.set()
        try:
            await self._enough.wait()
            await trio.sleep(0.001)
            outcome = self.does(mail.recipient, self.tries[mail.recipient])
            if outcome == "hang":
                await trio.sleep_forever()
            if isinstance(outcome, Exception):
                raise outcome
        finally:
            self._at_once -= 1
        self.taken.append(mail.recipient)


async def compose(queued: QueuedMail) -> Mail:
    return Mail(queued.link_id, queued.email, "Hello", "https://chat.example.org/?token=v-3_k0", "html")


def sender(outbox: Outbox, mailer: Mailer, *, max_retries: int = 2, rhythm: Rhythm = QUICK) -> MailSender:
    return MailSender(outbox, mailer, compose, max_retries=max_retries, rhythm=rhythm)


async def queue(world: World, *emails: str, requester: str = "", is_decoy: bool = False) -> Outbox:
    accounts = world.accounts()
    async with world.storage.write() as tx:
        for email in emails:
            await accounts.links.issue_in(tx, "magic", email, requester=requester, is_decoy=is_decoy)
    accounts.outbox.announce()
    return accounts.outbox


class RunningClock(Clock):
    """A clock that goes on by itself, as fast as it does for the sender."""

    def __init__(self) -> None:
        super().__init__()
        self._began = trio.current_time()

    def __call__(self) -> int:
        return self.now + int((trio.current_time() - self._began) * 1000)


async def until(condition: Callable[[], Any]) -> None:
    with trio.fail_after(PATIENCE):
        while not condition():
            await trio.lowlevel.checkpoint()


async def until_empty(world: World) -> None:
    with trio.fail_after(PATIENCE):
        while await world.fetch("select 1 from mails"):
            await trio.lowlevel.checkpoint()


@pytest.fixture
async def live(world: World) -> World:
    """The world with a clock that goes on."""
    world.clock = RunningClock()
    return world


@pytest.fixture
def log() -> Iterator[Callable[[], list[dict[str, Any]]]]:
    """What was logged, as it would be written."""
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(LineFormatter())
    logging.getLogger().addHandler(handler)
    yield lambda: [json.loads(line) for line in stream.getvalue().splitlines()]
    logging.getLogger().removeHandler(handler)


async def test_a_mail_is_sent_once_and_its_link_stays(live: World, nursery: trio.Nursery) -> None:
    postman = Postman()
    await nursery.start(sender(await queue(live, "bob@example.org"), postman).run)
    await until_empty(live)
    await queue(live, "eve@example.org")  # another server's outbox: nothing was announced to this one
    await until(lambda: len(postman.taken) == 2)
    await until_empty(live)
    assert postman.taken == ["bob@example.org", "eve@example.org"]
    assert len(await live.fetch("select 1 from links")) == 2


async def test_d16_a_decoy_is_sent_to_nobody(live: World, nursery: trio.Nursery) -> None:
    postman = Postman()
    outbox = await queue(live, "nobody@example.org", is_decoy=True)
    await nursery.start(sender(outbox, postman).run)
    await until_empty(live)
    assert postman.tries == {}


async def test_d16_a_decoy_is_written_as_any_mail_so_that_what_follows_takes_as_long(
    live: World, nursery: trio.Nursery
) -> None:
    written: list[str] = []

    async def compose(queued: QueuedMail) -> Mail:
        written.append(queued.email)
        return Mail(id=queued.link_id, recipient=queued.email, subject="s", text="t", html="h")

    outbox = await queue(live, "nobody@example.org", is_decoy=True)
    await nursery.start(MailSender(outbox, Postman(), compose, max_retries=2, rhythm=QUICK).run)
    await until_empty(live)
    assert written == ["nobody@example.org"]


async def test_a_few_are_sent_at_once_and_all_in_the_end(live: World, nursery: trio.Nursery) -> None:
    postman = Postman()
    few = postman.holds_until = QUICK.at_once // 2
    emails = [f"user{number}@example.org" for number in range(40)]
    await nursery.start(sender(await queue(live, *emails), postman).run)
    await until_empty(live)
    assert sorted(postman.taken) == sorted(emails)
    assert postman.most_at_once == few, "one requester leaves places to others"


async def test_a_failure_that_passes_delays_a_mail_and_never_loses_it(
    live: World, nursery: trio.Nursery
) -> None:
    postman = Postman()
    postman.does = lambda _, attempt: OSError(SECRET) if attempt <= 5 else None
    await nursery.start(sender(await queue(live, "bob@example.org"), postman).run)
    await until_empty(live)
    assert postman.tries["bob@example.org"] == 6
    assert postman.taken == ["bob@example.org"]


async def test_a_mail_that_takes_too_long_is_tried_again(live: World, nursery: trio.Nursery) -> None:
    postman = Postman()
    postman.does = lambda _, attempt: "hang" if attempt == 1 else None
    rhythm = replace(QUICK, deadline=0.1)
    await nursery.start(sender(await queue(live, "bob@example.org"), postman, rhythm=rhythm).run)
    await until_empty(live)
    assert postman.taken == ["bob@example.org"]


async def test_a_recipient_that_is_delayed_keeps_no_other_waiting(live: World, nursery: trio.Nursery) -> None:
    """A stranger may name as many as they like: a server that answers 450 for them is not down."""
    postman = Postman()
    postman.does = lambda recipient, _: MailDelayed("450") if recipient.startswith("bad") else None
    rhythm = replace(QUICK, first_pause=LONG, longest_pause=LONG)
    bad = [f"bad{number}@example.org" for number in range(60)]
    outbox = await queue(live, *bad, requester="network:bad")
    await nursery.start(sender(outbox, postman, rhythm=rhythm).run)
    await queue(live, "bob@example.org", requester="network:good")
    await until(lambda: postman.taken)
    await until(lambda: postman.tries.total() == 61)
    assert postman.taken == ["bob@example.org"]
    assert set(postman.tries.values()) == {1}, "each waits for itself alone"


async def test_recipients_that_make_the_server_slow_take_no_more_than_their_places(
    live: World, nursery: trio.Nursery
) -> None:
    postman = Postman()
    postman.does = lambda recipient, _: "hang" if recipient.startswith("slow") else None
    for network in ("one", "two"):
        slow = [f"slow{number}-{network}@example.org" for number in range(60)]
        outbox = await queue(live, *slow, requester=f"network:{network}")
    await nursery.start(sender(outbox, postman).run)
    await until(lambda: postman.most_at_once == 6)
    good = [f"good{number}@example.org" for number in range(20)]
    await queue(live, *good, requester="network:good")
    await until(lambda: len(postman.taken) == len(good))
    assert sorted(postman.taken) == sorted(good)


async def test_a_mail_that_takes_too_long_says_nothing_of_the_server(
    live: World, nursery: trio.Nursery
) -> None:
    postman = Postman()
    postman.does = lambda recipient, _: "hang" if recipient.startswith("slow") else None
    rhythm = replace(QUICK, deadline=0.01, first_pause=LONG, longest_pause=LONG)
    await nursery.start(sender(await queue(live, "slow@example.org"), postman, rhythm=rhythm).run)
    await until(lambda: postman.tries["slow@example.org"])
    await queue(live, "bob@example.org")
    await until(lambda: postman.taken == ["bob@example.org"])


async def test_a_server_that_was_down_is_back_once_it_answers_for_a_mail(
    live: World, nursery: trio.Nursery
) -> None:
    """Were only a mail that is taken a sign of life, those that are not would hold the others up."""
    postman = Postman()

    def does(recipient: str, attempt: int) -> Exception | None:
        if attempt == 1:
            return OSError(SECRET)
        return MailDelayed("450") if recipient.startswith("bad") else None

    postman.does = does
    bad = [f"bad{number}@example.org" for number in range(20)]
    await nursery.start(sender(await queue(live, *bad), postman).run)
    await until(lambda: postman.tries.total() >= 8)
    await queue(live, "bob@example.org")
    await until(lambda: postman.taken == ["bob@example.org"])


async def test_a_mail_that_is_delayed_is_given_up_when_its_link_expires(
    live: World, nursery: trio.Nursery
) -> None:
    postman = Postman()

    def delay(_: str, attempt: int) -> Exception:
        if attempt == 5:
            live.clock.pass_seconds(900)
        return MailDelayed("450")

    postman.does = delay
    await nursery.start(sender(await queue(live, "bob@example.org"), postman).run)
    await until_empty(live)
    assert postman.tries["bob@example.org"] == 5
    assert len(await live.fetch("select 1 from links")) == 1


@pytest.mark.parametrize("max_retries", [0, 2])
async def test_a_mail_that_is_refused_for_good_is_tried_max_retries_times_again(
    live: World, nursery: trio.Nursery, max_retries: int
) -> None:
    postman = Postman()
    postman.does = lambda *_: MailRefused("The mail server answered 550 to RCPT.")
    outbox = await queue(live, "bob@example.org")
    await nursery.start(sender(outbox, postman, max_retries=max_retries).run)
    await until_empty(live)
    assert postman.tries["bob@example.org"] == 1 + max_retries
    assert len(await live.fetch("select 1 from links")) == 1


async def test_a_failure_that_passes_does_not_count_as_a_refusal(live: World, nursery: trio.Nursery) -> None:
    postman = Postman()
    refused, passing = MailRefused("550"), TimeoutError(SECRET)
    does: dict[int, Exception | None] = {1: refused, 2: passing, 3: passing, 4: refused}
    postman.does = lambda _, attempt: does.get(attempt)
    await nursery.start(sender(await queue(live, "bob@example.org"), postman).run)
    await until_empty(live)
    assert postman.taken == ["bob@example.org"]


@pytest.mark.slow
async def test_a_server_that_is_down_is_asked_ever_less_often_however_many_mails_wait(
    live: World, nursery: trio.Nursery
) -> None:
    postman, began = Postman(), trio.current_time()
    rhythm = Rhythm(first_pause=0.02, longest_pause=0.08, poll=0.02)
    is_down = True
    postman.does = lambda *_: ConnectionRefusedError(SECRET) if is_down else None
    emails = [f"user{number}@example.org" for number in range(200)]
    await nursery.start(sender(await queue(live, *emails), postman, rhythm=rhythm).run)
    await until(lambda: postman.tries.total() >= 12)
    # At first as many as may go at once; then one at a time, with pauses that have grown to the longest.
    assert trio.current_time() - began > 0.75 * (0.02 + 0.04 + 5 * 0.08)
    is_down = False
    await until_empty(live)
    assert sorted(postman.taken) == sorted(emails)


async def test_a_mail_that_always_fails_holds_up_no_other(live: World, nursery: trio.Nursery) -> None:
    postman = Postman()
    postman.does = lambda recipient, _: OSError(SECRET) if recipient.startswith("bad") else None
    bad = [f"bad{number}@example.org" for number in range(10)]
    await nursery.start(sender(await queue(live, *bad), postman).run)
    await until(lambda: postman.tries.total() >= 20)
    good = [f"good{number}@example.org" for number in range(10)]
    await queue(live, *good)
    await until(lambda: len(postman.taken) == len(good))
    assert sorted(postman.taken) == sorted(good)


async def test_a_mail_whose_link_has_expired_is_dropped_and_not_sent(
    world: World, nursery: trio.Nursery
) -> None:
    postman = Postman()
    outbox = await queue(world, "bob@example.org")
    world.clock.pass_seconds(900)
    await nursery.start(sender(outbox, postman).run)
    await until_empty(world)
    assert postman.tries == {}


async def test_a_mail_is_tried_until_its_link_expires(live: World, nursery: trio.Nursery) -> None:
    postman = Postman()

    def fail(_: str, attempt: int) -> Exception:
        if attempt == 5:
            live.clock.pass_seconds(900)
        return OSError(SECRET)

    postman.does = fail
    await nursery.start(sender(await queue(live, "bob@example.org"), postman).run)
    await until_empty(live)
    assert postman.tries["bob@example.org"] == 5


async def test_two_senders_on_one_storage_send_each_mail_once(live: World, nursery: trio.Nursery) -> None:
    first, second = Postman(), Postman()
    emails = [f"user{number}@example.org" for number in range(60)]
    outbox = await queue(live, *emails)
    await nursery.start(sender(outbox, first).run)
    await nursery.start(sender(live.accounts().outbox, second).run)
    await until_empty(live)
    assert sorted(first.taken + second.taken) == sorted(emails)


async def test_a_mail_that_a_crashed_server_had_under_way_is_sent_by_the_next(
    tmp_path: Path, nursery: trio.Nursery
) -> None:
    async with open_storage(tmp_path) as storage:
        world, hanging = World(storage), Postman()
        hanging.does = lambda *_: "hang"
        async with trio.open_nursery() as crashing:
            outbox = await queue(world, "bob@example.org", "eve@example.org")
            await crashing.start(sender(outbox, hanging, rhythm=Rhythm()).run)
            await until(lambda: hanging.tries.total() == 2)
            crashing.cancel_scope.cancel()
    async with open_storage(tmp_path) as storage:
        again, postman = World(storage, world.clock), Postman()
        again.clock.pass_seconds(LEASE_SECONDS)
        async with trio.open_nursery() as running:
            await running.start(sender(again.accounts().outbox, postman).run)
            await until_empty(again)
            running.cancel_scope.cancel()
    assert sorted(postman.taken) == ["bob@example.org", "eve@example.org"]


async def test_a_mail_that_takes_long_stays_with_who_sends_it(world: World, nursery: trio.Nursery) -> None:
    postman = Postman()
    postman.does = lambda *_: "hang"
    outbox = await queue(world, "bob@example.org")
    await nursery.start(sender(outbox, postman, rhythm=Rhythm(hold=0.01)).run)
    await until(lambda: postman.tries)
    for _ in range(3):
        world.clock.pass_seconds(LEASE_SECONDS - 1)
        with trio.fail_after(PATIENCE):
            while await outbox.due_in() < LEASE_SECONDS:
                await trio.lowlevel.checkpoint()
    assert await outbox.claim(1) == []


class Failing:
    """A storage that fails while `is_broken`; what a sender does to it meanwhile is counted."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self.is_broken = False
        self.failures = 0

    @asynccontextmanager
    async def read(self) -> AsyncIterator[Any]:
        self._fail()
        async with self._storage.read() as tx:
            yield tx

    @asynccontextmanager
    async def write(self) -> AsyncIterator[Any]:
        self._fail()
        async with self._storage.write() as tx:
            yield tx

    def _fail(self) -> None:
        if self.is_broken:
            self.failures += 1
            raise StorageError("The disk is full.")


async def test_the_sender_outlives_a_storage_that_fails_and_sends_nothing_twice(
    live: World, nursery: trio.Nursery
) -> None:
    failing: Any = Failing(live.storage)
    outbox, postman = Outbox(failing, live.clock), Postman()
    await nursery.start(sender(outbox, postman).run)

    def break_once_sent(*_: Any) -> None:
        failing.is_broken = True

    postman.does = break_once_sent
    await queue(live, "bob@example.org")
    await until(lambda: failing.failures >= 5)
    failing.is_broken, postman.does = False, lambda *_: None
    await until_empty(live)
    await queue(live, "eve@example.org")
    await until_empty(live)
    assert postman.taken == ["bob@example.org", "eve@example.org"]


async def test_a_mail_under_way_outlives_a_storage_that_fails(live: World, nursery: trio.Nursery) -> None:
    failing: Any = Failing(live.storage)
    outbox, postman, is_over = Outbox(failing, live.clock), Postman(), trio.Event()

    class Waiting:
        async def send(self, mail: Mail) -> None:
            await is_over.wait()
            await postman.send(mail)

    await queue(live, "bob@example.org")
    await nursery.start(sender(outbox, Waiting(), rhythm=replace(QUICK, hold=0.005)).run)
    with trio.fail_after(PATIENCE):
        while await live.fetch("select 1 from mails where tries = 0"):
            await trio.lowlevel.checkpoint()
    failing.is_broken = True
    await until(lambda: failing.failures >= 5)
    failing.is_broken = False
    is_over.set()
    await until_empty(live)
    assert postman.taken == ["bob@example.org"]


async def test_a_mail_that_can_not_be_composed_ends_nothing(live: World, nursery: trio.Nursery) -> None:
    postman = Postman()

    async def fail_for_bob(queued: QueuedMail) -> Mail:
        if queued.email == "bob@example.org":
            raise KeyError(SECRET)
        return await compose(queued)

    outbox = await queue(live, "bob@example.org", "eve@example.org")
    await nursery.start(MailSender(outbox, postman, fail_for_bob, max_retries=2, rhythm=QUICK).run)
    await until(lambda: postman.taken == ["eve@example.org"])


async def test_the_log_names_the_failure_and_the_try_and_nothing_of_the_mail(
    live: World, nursery: trio.Nursery, log: Callable[[], list[dict[str, Any]]]
) -> None:
    postman = Postman()
    does = {
        1: OSError(f"{SECRET} bob@example.org"),
        2: OperatorError("The mail server answered 451 to MAIL."),
        3: SettingsError("email.password: the mail server refused it."),
        4: MailDelayed(f"450 4.2.0 {SECRET} bob@example.org"),
    }
    postman.does = lambda recipient, attempt: does.get(
        attempt, MailRefused(f"550 5.1.1 {SECRET} {recipient}")
    )
    await nursery.start(sender(await queue(live, "bob@example.org"), postman, max_retries=1).run)
    await until_empty(live)
    lines = [line for line in log() if line["logger"] == "teamchat.accounts.mail_sender"]
    assert [(line["level"], line["attempt"], line["failure"]) for line in lines] == [
        ("warning", 1, "OSError"),
        ("warning", 2, "OperatorError"),
        ("error", 3, "SettingsError"),
        ("warning", 4, "MailDelayed"),
        ("warning", 5, "MailRefused"),
        ("error", 6, "MailRefused"),
    ]
    assert lines[0]["error"]["type"] == "builtins.OSError"
    assert lines[1]["reason"] == "The mail server answered 451 to MAIL."
    assert [line["code"] for line in lines[3:]] == [450, 550, 550]
    written = json.dumps(lines)
    assert "bob" not in written
    assert SECRET not in written
    assert "v-3_k0" not in written


def test_pauses_double_up_to_half_a_minute_and_never_agree() -> None:
    for failures, seconds in ((1, 1), (2, 2), (3, 4), (4, 8), (5, 16), (6, 30), (50, 30), (10_000, 30)):
        pauses = {Rhythm().pause(failures) for _ in range(50)}
        assert 0.75 * seconds <= min(pauses) < max(pauses) <= seconds


def test_a_mail_that_waits_for_days_is_tried_ever_less_often() -> None:
    def tries_within(seconds: float) -> int:
        age, tries = 0.0, 1
        while (age := age + Rhythm().pause(tries, age)) < seconds:
            tries += 1
        return tries

    assert 12 <= tries_within(900) <= 30
    assert tries_within(7 * 86_400) < 2_000
    assert Rhythm().pause(100, 7 * 86_400) <= LONGEST_PAUSE_SECONDS


async def test_mails_that_fail_together_count_as_one_failure(autojump_clock: Any) -> None:
    line = Line(Rhythm())
    assert (line.width, line.closed_for()) == (8, 0)
    for _ in range(4):
        line.failed(0)
    assert line.width == 1
    assert 0.75 <= line.closed_for() <= 1
    await trio.sleep(1)
    assert (line.width, line.closed_for()) == (1, 0)
    line.failed(1)
    assert 1.5 <= line.closed_for() <= 2
    line.worked()
    assert (line.width, line.closed_for()) == (8, 0)


async def test_the_service_exists_where_mail_is_configured_and_sends_what_accounts_queue(
    live: World, nursery: trio.Nursery
) -> None:
    settings, postman, mails = Settings(email=EmailSettings(email_subject="Come in")), Postman(), []

    class Keeping:
        async def send(self, mail: Mail) -> None:
            mails.append(mail)
            await postman.send(mail)

    async def name() -> str:
        return "Our chat"

    accounts = live.accounts()
    app: Any = SimpleNamespace(
        settings=settings,
        accounts=accounts,
        mailer=Keeping(),
        composer=Composer.build(settings),
        chat=SimpleNamespace(server_settings=SimpleNamespace(name=name)),
    )
    [service] = services(app)
    assert service.name == "mail sender"
    await nursery.start(service.run)
    async with live.storage.write() as tx:
        await accounts.links.issue_in(tx, "magic", "bob@example.org")
    accounts.links.announce()
    await until_empty(live)
    [(link_id,)] = await live.fetch("select id from links")
    [mail] = mails
    assert mail.subject == "Come in"
    assert accounts.links.url(link_id, "magic", "bob@example.org") in mail.text
    assert "Our chat" in mail.text
    app.mailer = app.composer = None
    assert services(app) == []
