"""What was exported comes back the same, and an export of Slack's comes in as people read it there."""

from __future__ import annotations

import json
import shutil
import zipfile
from pathlib import Path
from typing import Any

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

from teamchat.chat.records import page_of_place, page_of_thread
from teamchat.errors import OperatorError
from teamchat.ids import could_be_id, id_at, new_id
from teamchat.interfaces import Storage
from teamchat.operations.checking import Level
from teamchat.operations.checking.database import check_database
from teamchat.operations.exchange.bringing_in import Wishes, bring_in
from teamchat.operations.exchange.exporting import export_to
from teamchat.operations.exchange.slack_text import emoji, plain, text_of_blocks
from teamchat.operations.installation import Installation
from tests.harness import listening, running
from tests.operations.conftest import PIXEL, configure, talk, teamchat
from tests.operations.test_checking import lived_in
from tests.postgres import shared


def fresh(directory: Path) -> Installation:
    """Return an installation that was started once: it has an admin."""
    directory.mkdir()
    config = configure(directory / "c.json", storage={"path": str(directory / "data")})

    async def start() -> None:
        async with lived_in(config) as storage, storage.write() as tx:
            for table in ("message_images", "images", "reactions", "threads"):
                await tx.fetch(f"delete from {table}")
            await tx.fetch("delete from messages where parent_id is not null")
            for table in ("messages", "conversations"):
                await tx.fetch(f"delete from {table}")

    trio.run(start)
    shutil.rmtree(directory / "data" / "images", ignore_errors=True)
    return Installation.load(config, {})


def records(directory: Path) -> dict[str, Any]:
    """Return everything in an export but the time it was made."""
    found: dict[str, Any] = {}
    for file in sorted(directory.rglob("*")):
        if file.name == "export.json":
            found[file.name] = json.loads(file.read_bytes()) | {"exportedAt": 0}
        elif file.is_file():
            found[str(file.relative_to(directory))] = file.read_bytes()
    return found


async def sound(storage: Storage) -> None:
    """Expect that every rule of `teamchat check` holds."""
    await check_database(storage, "sqlite", _expect_ok)


def _expect_ok(finding: Any) -> None:
    assert finding.level is not Level.PROBLEM, finding


def test_what_was_exported_comes_back_the_same(tmp_path: Path) -> None:
    config = configure(tmp_path / "c.json", storage={"path": str(tmp_path / "data")})
    one, two = Installation.load(config, {}), fresh(tmp_path / "two")

    async def there_and_back() -> list[str]:
        async with lived_in(config):
            pass
        await export_to(one, tmp_path / "out")
        said = await bring_in(two, tmp_path / "out", Wishes())
        await export_to(two, tmp_path / "again")
        async with two.storage() as storage:
            await sound(storage)
        return said

    said = trio.run(there_and_back)
    assert said == [
        "Imported: 0 users, 0 channels, 1 conversations, 2 messages, 1 replies, 1 reactions, 1 images."
    ]
    before, after = records(tmp_path / "out"), records(tmp_path / "again")
    # The users and the channel were there by their email and their name, under other ids.
    ids = dict(zip(_ids(before), _ids(after), strict=True))
    for name in ("messages.jsonl", "images.jsonl", "conversations.jsonl", "users.jsonl"):
        changed = before[name].decode()
        for old, new in ids.items():
            changed = changed.replace(old, new)
        if name != "users.jsonl":
            assert _sorted_participants(changed) == _sorted_participants(after[name].decode())
    assert {name for name in before if name.startswith("images/")} == {
        name for name in after if name.startswith("images/")
    }
    [image] = [name for name in before if name.startswith("images/")]
    assert before[image] == after[image] == PIXEL


def _ids(exported: dict[str, Any]) -> list[str]:
    lines = [*exported["users.jsonl"].splitlines(), *exported["channels.jsonl"].splitlines()]
    return [json.loads(line)["id"] for line in lines]


def _sorted_participants(lines: str) -> list[Any]:
    found = [json.loads(line) for line in lines.splitlines()]
    return [one | {"participants": sorted(one.get("participants", []))} for one in found]


def test_a_second_import_changes_nothing(tmp_path: Path) -> None:
    config = configure(tmp_path / "c.json", storage={"path": str(tmp_path / "data")})
    one, two = Installation.load(config, {}), fresh(tmp_path / "two")

    async def twice() -> list[str]:
        async with lived_in(config):
            pass
        await export_to(one, tmp_path / "out")
        await bring_in(two, tmp_path / "out", Wishes())
        await export_to(two, tmp_path / "first")
        said = await bring_in(two, tmp_path / "out", Wishes())
        await export_to(two, tmp_path / "second")
        return said

    assert trio.run(twice)[0].startswith("Imported: 0 users, 0 channels, 0 conversations, 0 messages")
    assert records(tmp_path / "first") == records(tmp_path / "second")


SLACK: dict[str, Any] = {
    "users.json": [
        {"id": "U1", "name": "grace", "is_owner": True,
         "profile": {"display_name": "Grace Hopper", "email": "grace@navy.example"},
         "updated": 1_500_000_000},
        {"id": "U2", "name": "alan", "profile": {"real_name": "Alan Turing", "email": "alan@example.org"}},
        {"id": "U3", "name": "gone", "deleted": True, "profile": {"email": "gone@example.org"}},
        {"id": "U4", "name": "no-email", "profile": {}},
        {"id": "UB", "name": "deploybot", "is_bot": True, "profile": {}},
    ],
    "channels.json": [
        {"id": "C1", "name": "general", "created": 1_400_000_000, "creator": "U1"},
        {"id": "C2", "name": "engineering", "created": 1_400_000_001, "creator": "U2"},
    ],
    "groups.json": [{"id": "G1", "name": "secret", "created": 1_400_000_002, "creator": "U1"}],
    "dms.json": [
        {"id": "D1", "created": 1_400_000_003, "members": ["U1", "U2"]},
        {"id": "D2", "created": 1_400_000_004, "members": ["U1", "U1"]},
    ],
    "engineering/2017-07-14.json": [
        {"type": "message", "subtype": "channel_join", "user": "U1", "ts": "1500000000.000001",
         "text": "joined"},
        {"type": "message", "user": "U1", "ts": "1500000000.000200", "thread_ts": "1500000000.000200",
         "text": "Hi <@U2>, see <https://example.org/?a=1&amp;b=2|the page> &lt;now&gt; in <#C1|general>",
         "edited": {"user": "U1", "ts": "1500000009.000000"},
         "reactions": [{"name": "+1::skin-tone-3", "users": ["U2", "U9"], "count": 2},
                       {"name": "shipit", "users": ["U1"], "count": 1}]},
        {"type": "message", "user": "U2", "ts": "1500000000.000100",
         "text": "earlier within the millisecond"},
        {"type": "message", "user": "U2", "ts": "1500000060.000000", "thread_ts": "1500000000.000200",
         "text": "a reply"},
        {"type": "message", "user": "U3", "ts": "1500000050.000000", "thread_ts": "1500000000.000200",
         "subtype": "thread_broadcast", "text": "an earlier reply"},
        {"type": "message", "subtype": "bot_message", "bot_id": "B1", "username": "Deploy",
         "ts": "1500000100.000000", "text": "", "attachments": [{"fallback": "Deployed &amp; done"}]},
        {"type": "message", "user": "U7", "ts": "1500000200.000000", "text": "from outside",
         "user_profile": {"real_name": "A Guest"}},
        {"type": "message", "user": "U1", "ts": "1500000300.000000", "text": "",
         "files": [{"id": "F1", "name": "pixel.svg"}, {"id": "F2", "name": "plan.pdf",
                    "url_private": "https://files.example.org/plan.pdf?t=xoxe-secret"}]},
        {"type": "message", "user": "U1", "ts": "1500000400.000000", "thread_ts": "1400000000.000000",
         "text": "a reply to what is not there"},
    ],
    "general/2017-07-14.json": [
        {"type": "message", "user": "U4", "ts": "1500000001.000000", "text": "hello"},
    ],
    "secret/2017-07-14.json": [
        {"type": "message", "user": "U1", "ts": "1500000002.000000", "text": "psst"},
    ],
    "D1/2017-07-15.json": [
        {"type": "message", "user": "U2", "ts": "1500080000.000000", "text": "between us"},
    ],
}  # fmt: skip


@pytest.fixture
def slack(tmp_path: Path) -> Path:
    directory = tmp_path / "slack"
    for name, content in SLACK.items():
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / name).write_text(json.dumps(content))
    (directory / "__uploads" / "F1").mkdir(parents=True)
    (directory / "__uploads" / "F1" / "pixel.svg").write_bytes(PIXEL)
    return directory


async def said_in(storage: Storage, channel: str) -> list[Any]:
    async with storage.read() as tx:
        [(id_,)] = await tx.fetch("select id from channels where name = $1", channel)
        return await page_of_place(tx, id_, 200, None)


def test_an_export_of_slacks_comes_in_as_people_read_it_there(tmp_path: Path, slack: Path) -> None:
    installation = fresh(tmp_path / "one")

    async def imported() -> list[str]:
        wishes = Wishes(report=tmp_path / "report.jsonl")
        said = await bring_in(installation, slack, wishes)
        async with installation.storage() as storage:
            await sound(storage)
            page = await said_in(storage, "engineering")
            assert [message.content for message in page] == [
                "earlier within the millisecond",
                "Hi @Alan Turing, see the page (https://example.org/?a=1&b=2) <now> in #general",
                "Deployed & done",
                "from outside",
                "[file: plan.pdf]",
                "a reply to what is not there",
            ]
            first = page[1]
            assert first.created_at == 1_500_000_000_000
            assert first.updated_at == 1_500_000_009_000
            assert list(first.reactions) == ["👍", ":shipit:"]
            assert len(first.reactions["👍"]) == 2
            assert first.author.user_name == "Grace Hopper"
            assert page[2].author.is_bot
            assert page[2].author.user_name == "Deploy"
            assert page[3].author.user_name == "A Guest"
            assert len(page[4].images) == 1
            async with storage.read() as tx:
                replies = await page_of_thread(tx, first.id, 50, None)
                assert [reply.content for reply in replies] == ["an earlier reply", "a reply"]
                users = await tx.fetch(
                    "select user_name, email, is_admin, removed_at is null from users order by user_name"
                )
            assert ("Grace Hopper", "grace@navy.example", 1, 1) in users
            assert ("Alan Turing", "alan@example.org", 0, 1) in users
            assert ("gone", "", 0, 0) in users
            assert ("no-email", "", 0, 0) in users
            # "general" is the channel General that every installation begins with.
            assert [message.content for message in await said_in(storage, "General")] == ["hello"]
            async with storage.read() as tx:
                [(direct,)] = await tx.fetch("select id from conversations")
                page = await page_of_place(tx, direct, 50, None)
                assert [message.content for message in page] == ["between us"]
                assert await tx.fetch("select 1 from channels where name = 'secret'") == []
                assert await tx.fetch("select 1 from messages where content like '%xoxe%'") == []
        async with installation.images() as store:
            [image] = await _images(installation)
            chunks = await store.get(image)
            assert chunks is not None
            assert b"".join([chunk async for chunk in chunks]) == PIXEL
        return said

    said = trio.run(imported)
    assert said[0] == (
        "Imported: 8 users, 1 channels, 1 conversations, 8 messages, 2 replies, 3 reactions, 1 images."
    )
    assert any("1 × private channel (it would be visible to all; see --private)" in line for line in said)
    assert any("1 × notice (channel_join" in line for line in said)
    assert any("1 × file (only images" in line for line in said)
    assert any("1 × thread (no such thread here" in line for line in said)
    report = (tmp_path / "report.jsonl").read_text()
    assert "engineering/2017-07-14.json/1500000300.000000/F2" in report
    assert "psst" not in report
    again = trio.run(bring_in, installation, slack, Wishes())
    assert again[0].startswith(
        "Imported: 0 users, 0 channels, 0 conversations, 0 messages, 0 replies, 0 reac"
    )


async def _images(installation: Installation) -> list[str]:
    async with installation.storage() as storage, storage.read() as tx:
        return [name for (name,) in await tx.fetch("select filename from images")]


def test_private_channels_come_only_when_asked_for_and_from_a_zip_file_too(
    tmp_path: Path, slack: Path
) -> None:
    installation = fresh(tmp_path / "one")
    packed = tmp_path / "slack.zip"
    with zipfile.ZipFile(packed, "w") as archive:
        for file in slack.rglob("*"):
            archive.write(file, Path("My workspace") / file.relative_to(slack))

    async def imported() -> None:
        await bring_in(installation, packed, Wishes(includes_private=True))
        async with installation.storage() as storage:
            assert [message.content for message in await said_in(storage, "secret")] == ["psst"]
            page = await said_in(storage, "engineering")
            assert page[4].images

    trio.run(imported)


def test_what_is_no_export_is_refused_and_a_damaged_one_is_named(tmp_path: Path, slack: Path) -> None:
    installation = fresh(tmp_path / "one")
    (tmp_path / "empty").mkdir()
    with pytest.raises(OperatorError, match="There is no"):
        trio.run(bring_in, installation, tmp_path / "nowhere", Wishes())
    with pytest.raises(OperatorError, match="is neither an export"):
        trio.run(bring_in, installation, tmp_path / "empty", Wishes())
    (slack / "engineering" / "2017-07-14.json").write_text("[{")
    with pytest.raises(OperatorError, match=r"2017-07-14.json in the export is damaged"):
        trio.run(bring_in, installation, slack, Wishes())
    trio.run(export_to, installation, tmp_path / "out")
    (tmp_path / "out" / "messages.jsonl").write_text('{"id": 1}\n')
    with pytest.raises(OperatorError, match=r"messages.jsonl, line 1, is no record of messages"):
        trio.run(bring_in, installation, tmp_path / "out", Wishes())
    with pytest.raises(OperatorError, match="is there already"):
        trio.run(export_to, installation, tmp_path / "out")


ODD: list[Any] = [5, 1.5, True, "x", "\0", [], [None], ["x"], [[]], {"a": 1}, 10**30, -1]
READ = {
    "users.json": ["id", "name", "profile", "updated"],
    "channels.json": ["id", "name", "created"],
    "dms.json": ["id", "members", "created"],
    "general/2017-07-14.json": ["ts", "thread_ts", "type", "subtype", "user", "text", "username", "bot_id",
                                "bot_profile", "user_profile", "reactions", "files", "edited",
                                "attachments", "blocks"],
}  # fmt: skip


@pytest.mark.parametrize("name", READ)
def test_records_of_another_form_are_left_out_and_the_rest_comes_in(
    tmp_path: Path, slack: Path, name: str
) -> None:
    plain = SLACK[name][0]
    odd: list[Any] = [plain | {key: value} for key in READ[name] for value in ODD] + [{}, 5, None]
    odd += [plain | {"edited": {"ts": "x"}, "ts": "1500000009.000000"}]
    odd += [plain | {"reactions": [{"name": "a", "users": 5}], "ts": "1500000010.000000"}]
    (slack / name).write_text(json.dumps([*odd, *SLACK[name]]))
    installation = fresh(tmp_path / "one")
    said = trio.run(bring_in, installation, slack, Wishes())
    assert any("record" in line for line in said)

    async def greetings() -> int:
        async with installation.storage() as storage, storage.read() as tx:
            return len(await tx.fetch("select 1 from messages where content = 'hello'"))

    assert trio.run(greetings) >= 1


def test_a_day_that_is_lists_in_lists_is_damaged(tmp_path: Path, slack: Path) -> None:
    (slack / "general" / "2017-07-14.json").write_text("[" * 5000 + "]" * 5000)
    with pytest.raises(OperatorError, match=r"2017-07-14.json in the export is damaged"):
        trio.run(bring_in, fresh(tmp_path / "one"), slack, Wishes())


@pytest.mark.parametrize("time", [10**30, 2**48, -1])
def test_a_time_that_none_can_be_is_no_record(tmp_path: Path, time: int) -> None:
    installation = fresh(tmp_path / "one")
    trio.run(export_to, installation, tmp_path / "out")
    user = {"id": "0" * 32, "userName": "Eve", "email": "eve@example.org", "createdAt": time}
    (tmp_path / "out" / "users.jsonl").write_text(json.dumps(user) + "\n")
    with pytest.raises(OperatorError, match=r"users.jsonl, line 1, is no record of users"):
        trio.run(bring_in, installation, tmp_path / "out", Wishes())


@pytest.mark.parametrize(
    "odd",
    [
        {"author": {"id": "webhook:1", "userName": "a\0b", "isBot": True}},
        {"author": {"id": "\0", "userName": "a"}},
        {"reactions": {"\0": ["u"]}},
        {"reactions": {"a": ["\0"]}},
        {"threadId": "\0"},
        {"images": ["\0"]},
    ],
)
def test_no_part_of_a_message_may_hold_what_can_not_be_stored(tmp_path: Path, odd: dict[str, Any]) -> None:
    installation = fresh(tmp_path / "one")
    trio.run(export_to, installation, tmp_path / "out")
    channel = json.loads((tmp_path / "out" / "channels.jsonl").read_text().splitlines()[0])["id"]
    message = {"id": "1" * 32, "channelId": channel, "content": "hello", "createdAt": 1}
    author = {"author": {"id": "u", "userName": "a"}}
    (tmp_path / "out" / "messages.jsonl").write_text(json.dumps(message | author | odd) + "\n")
    said = trio.run(bring_in, installation, tmp_path / "out", Wishes())
    assert any("can't be stored" in line for line in said)


async def test_clients_of_a_running_server_reload_and_see_what_came_in(tmp_path: Path, slack: Path) -> None:
    config = tmp_path / "teamchat.json"
    async with running(tmp_path) as server:
        async with await server.sign_in() as ada, listening(ada, lastEventId="") as events:
            await talk(ada)
            general = (await ada.get("/channels")).json()["channels"][0]["id"]
            path = f"/channels/{general}/messages"
            assert len((await ada.get(path)).json()["messages"]) == 1
            report = tmp_path / "report.jsonl"
            await trio.to_thread.run_sync(
                lambda: teamchat("import", "--config", config, slack, "--report", report)
            )
            await events.until("RESYNC")
            shown = [message["content"] for message in (await ada.get(path)).json()["messages"]]
            assert shown == ["hello", "Straße 🦊\n"]
            await trio.to_thread.run_sync(lambda: teamchat("export", "--config", config, tmp_path / "out"))
        await server.end()
    assert (tmp_path / "out").stat().st_mode & 0o077 == 0
    assert all(file.stat().st_mode & 0o077 == 0 for file in (tmp_path / "out").rglob("*"))


@pytest.mark.parametrize(
    ("marked", "read"),
    [
        ("<@U1> <@U2|alan> <@U3>", "@Grace @alan @U3"),
        ("<!here> <!channel> <!subteam^S1|@ops> <!subteam^S2>", "@here @channel @ops @S2"),
        ("<!date^1392734382^{date}|Feb 18>", "Feb 18"),
        ("<https://a.example> <https://a.example|https://a.example>", "https://a.example https://a.example"),
        ("<mailto:a@b.example|a@b.example> <tel:123|123>", "a@b.example 123"),
        ("a &lt;b&gt; &amp;amp; <not closed", "a <b> &amp; <not closed"),
        ("<#C1> <#C9|other> <#C8>", "#general #other #C8"),
    ],
)
def test_slacks_markup_is_shown_as_text(marked: str, read: str) -> None:
    assert plain(marked, {"U1": "Grace"}, {"C1": "general"}) == read


@given(st.text())
def test_text_without_marks_is_left_as_it_is(text: str) -> None:
    if not set(text) & set("<>&"):
        assert plain(text, {}, {}) == text


def test_emoji_have_their_sign_or_keep_their_name() -> None:
    assert [emoji("+1"), emoji("wave::skin-tone-6"), emoji("own_emoji")] == ["👍", "👋", ":own_emoji:"]


def test_text_of_blocks_is_found_however_deep() -> None:
    rich = [{"type": "rich_text", "elements": [{"elements": [{"type": "text", "text": "deep"}]}]}]
    assert text_of_blocks(rich) == "deep"
    assert text_of_blocks([{"type": "section", "text": {"type": "mrkdwn", "text": "*bold*"}}]) == "*bold*"
    assert text_of_blocks(None) == ""


@given(st.integers(0, 2**47), st.integers(0, 2**47), st.text(), st.integers(0, 1023), st.integers(0, 1023))
def test_made_ids_are_the_same_again_and_sort_by_their_time(
    one: int, other: int, about: str, within: int, beyond: int
) -> None:
    made = id_at(one, about, within)
    assert could_be_id(made)
    assert made == id_at(one, about, within)
    if (one, within) < (other, beyond):
        assert made < id_at(other, about, beyond)


def test_made_ids_of_the_past_stand_before_those_of_today() -> None:
    assert id_at(1_500_000_000_000, "x") < new_id()


class Broken(Exception):
    """Stands for kill -9: whatever was not committed is gone."""


@pytest.mark.parametrize("after", [1, 2, 3])
def test_an_import_that_broke_off_goes_on_and_ends_the_same(
    after: int, tmp_path: Path, slack: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("teamchat.operations.exchange.importing._PAGE", 2)
    whole, broken = fresh(tmp_path / "whole"), fresh(tmp_path / "broken")

    def break_off(_: str, done: int, total: int) -> None:
        if done >= 2 * after:
            raise Broken

    async def both() -> None:
        await bring_in(whole, slack, Wishes())
        with pytest.raises(Broken):
            await bring_in(broken, slack, Wishes(), break_off)
        await bring_in(broken, slack, Wishes())
        async with broken.storage() as storage:
            await sound(storage)
        await export_to(whole, tmp_path / "one")
        await export_to(broken, tmp_path / "other")

    trio.run(both)
    one, other = records(tmp_path / "one"), records(tmp_path / "other")
    assert one["export.json"]["counts"] == other["export.json"]["counts"]
    assert _without_general(one, whole) == _without_general(other, broken)


def _without_general(exported: dict[str, Any], installation: Installation) -> list[Any]:
    """Return the messages, General's under a name of its own: each installation has another id for it."""

    async def id_of_general() -> str:
        async with installation.storage() as storage, storage.read() as tx:
            return str((await tx.fetch("select id from channels where name = 'General'"))[0][0])

    text = exported["messages.jsonl"].decode().replace(trio.run(id_of_general), "general")
    return [json.loads(line) for line in text.splitlines()]


def test_slacks_export_comes_into_postgresql_too(tmp_path: Path, slack: Path) -> None:
    url = shared().url(shared().new_database())
    section = {"backend": "postgres", "url": url, "path": str(tmp_path / "data")}
    config = configure(tmp_path / "c.json", storage=section)
    installation = Installation.load(config, {})

    async def imported() -> list[str]:
        async with lived_in(config):
            pass
        said = await bring_in(installation, slack, Wishes())
        await bring_in(installation, slack, Wishes())
        async with installation.storage() as storage:
            await check_database(storage, "postgres", _expect_ok)
            page = await said_in(storage, "engineering")
        await export_to(installation, tmp_path / "out")
        assert len(page) == 6
        return said

    assert "8 messages, 2 replies, 3 reactions, 1 images" in trio.run(imported)[0]
    assert json.loads((tmp_path / "out" / "export.json").read_text())["counts"]["messages"] == 13
