"""An export of Slack's comes in as people read it there, and what does not is named."""

from __future__ import annotations

import codecs
import json
import os
import zipfile
from pathlib import Path
from typing import Any

import pytest
import trio
from teamchat_pins.tables import MOST_PINS

from teamchat.chat.pages import page_of_room, page_of_thread
from teamchat.errors import OperatorError
from teamchat.interfaces import Storage
from teamchat.model.pages import Page
from teamchat.operations.import_export.bringing_in import Wishes, bring_in
from teamchat.operations.import_export.exporting import export_to
from teamchat.operations.installation import Installation
from teamchat.testing import listening
from tests.harness import running
from tests.operations.conftest import PIXEL, configure, talk, teamchat
from tests.operations.exchanging import fresh, records, sound
from tests.operations.slack_workspace import SLACK, write_workspace
from tests.operations.test_checking import lived_in
from tests.postgres import shared


@pytest.fixture
def slack(tmp_path: Path) -> Path:
    return write_workspace(tmp_path / "slack")


async def said_in(storage: Storage, channel: str) -> list[Any]:
    async with storage.read() as tx:
        [(id_,)] = await tx.fetch("select id from rooms where name = $1", channel)
        return (await page_of_room(tx, id_, Page(200), 0)).messages


@pytest.mark.slow
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
                replies = (await page_of_thread(tx, first.id, Page(), 0)).messages
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
                [(direct,)] = await tx.fetch("select id from rooms where kind = 'direct'")
                page = (await page_of_room(tx, direct, Page(), 0)).messages
                assert [message.content for message in page] == ["between us"]
                assert await tx.fetch("select 1 from messages where content like '%xoxe%'") == []
                [engineering] = await tx.fetch(
                    "select topic, description, archived_at is null, is_private from rooms where name = $1",
                    "engineering",
                )
                assert engineering == ("What we build", "", 0, 0)
        async with installation.images() as store:
            [image] = await _images(installation)
            chunks = await store.get(image)
            assert chunks is not None
            assert b"".join([chunk async for chunk in chunks]) == PIXEL
        return said

    said = trio.run(imported)
    assert said == [
        "Imported: 9 users, 1 channels, 1 private channels, 1 groups, 1 notes, 1 conversations, 9 messages, "
        "2 replies, 3 reactions, 1 images, 1 mentions, 2 pins, 1 profiles.",
        "Admins from now on: grace@navy.example.",
        "Left out: 1 × file (its bytes are not in the export; its name stands in the message)",
        "Left out: 1 × list (there is nothing like it here)",
        "Left out: 1 × notice (channel_join: told by Slack, said by nobody)",
        "Left out: 1 × pin (not of a message)",
        "Left out: 1 × record of pins (its message was left out)",
        "Not quite as it was: 1 × channel (some of its members are no users here)",
        "Not quite as it was: 1 × group (some of its members are no users here)",
        "Not quite as it was: 1 × reaction (an emoji of your own, or a rare one, keeps its name)",
        "Not quite as it was: 1 × reply (was shown in its channel too; it stands in its thread alone)",
        "Not quite as it was: 1 × reply (what it replies to is not in the export; it stands by itself)",
        "Not quite as it was: 2 × user (a bot; a name at messages, no account)",
        "Not quite as it was: 1 × user (deactivated in Slack; a name at messages, no account)",
        "Not quite as it was: 1 × user (no email; a name at messages, no account)",
        "Not quite as it was: 3 × user (not among the users of the export; a name at messages, no account)",
        "Merged with what is here: 1 × channel (there is a channel of that name; it goes on there)",
        f"{tmp_path / 'report.jsonl'} names each of them.",
    ]
    report = (tmp_path / "report.jsonl").read_text()
    notes = [json.loads(line) for line in report.splitlines()]
    assert {tuple(note.values())[:3] for note in notes} == {
        ("left out", "file", "engineering/2017-07-14.json/1500000300.000000/F2"),
        ("left out", "list", "canvases.json"),
        ("left out", "notice", "engineering/2017-07-14.json/1500000000.000001"),
        ("left out", "pin", "C2 (engineering)"),
        ("left out", "record of pins", "C2 (engineering)/1500000000.000001"),
        ("changed", "channel", "G1 (secret)"),
        ("changed", "group", "M1 (mpdm-grace--alan--gone-1)"),
        ("changed", "reaction", "engineering/2017-07-14.json/1500000000.000200"),
        ("changed", "reply", "engineering/2017-07-14.json/1500000050.000000"),
        ("changed", "reply", "engineering/2017-07-14.json/1500000400.000000"),
        ("changed", "user", "UB (deploybot)"),
        ("changed", "user", "USLACKBOT (slackbot)"),
        ("changed", "user", "U3 (gone)"),
        ("changed", "user", "U4 (no-email)"),
        ("changed", "user", "U7 (A Guest)"),
        ("changed", "user", "U8 (U8)"),
        ("changed", "user", "U9 (U9)"),
        ("merged", "channel", "C1 (general)"),
    }
    assert "psst" not in report
    again = trio.run(bring_in, installation, slack, Wishes())
    assert again[0] == (
        "Imported: 0 users, 0 channels, 0 conversations, 0 messages, 0 replies, 0 reactions, 0 images."
    )
    assert again[1] == (
        "There already: 9 users, 1 channels, 1 private channels, 1 groups, 1 notes, 1 conversations, "
        "8 messages, 3 replies, 0 reactions, 1 images, 1 mentions, 2 pins, 1 profiles."
    )


async def _images(installation: Installation) -> list[str]:
    async with installation.storage() as storage, storage.read() as tx:
        return [name for (name,) in await tx.fetch("select filename from images")]


ODD: list[Any] = [5, 1.5, True, "x", "\0", [], [None], ["x"], [[]], {"a": 1}, 10**30, -1]
READ = {
    "users.json": ["id", "name", "profile", "updated", "tz"],
    "channels.json": ["id", "name", "created", "creator", "members", "topic", "is_archived", "is_general",
                      "pins"],
    "groups.json": ["id", "name", "members", "purpose"],
    "dms.json": ["id", "members", "created"],
    "general/2017-07-14.json": ["ts", "thread_ts", "type", "subtype", "user", "text", "username", "bot_id",
                                "bot_profile", "user_profile", "reactions", "files", "edited",
                                "attachments", "blocks"],
}  # fmt: skip


@pytest.mark.slow
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


@pytest.mark.slow
def test_h2_of_more_pins_than_a_place_has_each_that_is_left_out_is_named(tmp_path: Path, slack: Path) -> None:
    times = [f"{1_500_001_000 + number}.000000" for number in range(MOST_PINS + 3)]
    day = [{"type": "message", "user": "U1", "ts": ts, "text": "to be kept"} for ts in times]
    (slack / "secret" / "2017-07-15.json").write_text(json.dumps(day))
    [secret] = SLACK["groups.json"]
    pins = [{"id": ts, "type": "C", "created": 1_500_002_000, "user": "U1"} for ts in reversed(times)]
    (slack / "groups.json").write_text(json.dumps([secret | {"pins": pins}]))
    installation = fresh(tmp_path / "one")
    trio.run(bring_in, installation, slack, Wishes(report=tmp_path / "report.jsonl"))

    async def pinned() -> int:
        async with installation.storage() as storage, storage.read() as tx:
            rows = await tx.fetch(
                "select 1 from pins join rooms on rooms.id = room_id where rooms.name = 'secret'"
            )
            return len(rows)

    assert trio.run(pinned) == MOST_PINS
    notes = [json.loads(line) for line in (tmp_path / "report.jsonl").read_text().splitlines()]
    beyond = [note["where"] for note in notes if note["why"] == f"a place has {MOST_PINS} at most"]
    assert beyond == [f"G1 (secret)/{ts}" for ts in times[MOST_PINS:]]


def test_what_a_mac_has_put_beside_a_day_is_passed_over(tmp_path: Path, slack: Path) -> None:
    (slack / "general" / "._2017-07-14.json").write_bytes(b"\0\5\x16\7")
    said = trio.run(bring_in, fresh(tmp_path / "one"), slack, Wishes())
    assert said[0].startswith("Imported: ")


def test_what_people_say_of_themselves_and_words_in_bold_come_along(tmp_path: Path, slack: Path) -> None:
    grace, alan, *rest = SLACK["users.json"]
    profile = {"real_name": "Grace Hopper", "title": "Rear admiral ", "pronouns": "she/her"}
    grace = grace | {"profile": grace["profile"] | profile, "tz": "America/New_York"}
    (slack / "users.json").write_text(json.dumps([grace, alan, *rest]))
    said = {"type": "message", "user": "U1", "ts": "1500000009.000000", "text": "*now*, <@U2>"}
    (slack / "general" / "2017-07-15.json").write_text(json.dumps([said]))
    installation = fresh(tmp_path / "one")
    trio.run(bring_in, installation, slack, Wishes())

    async def found() -> tuple[list[Any], list[str], list[Any]]:
        async with installation.storage() as storage, storage.read() as tx:
            columns = "full_name, title, pronouns, timezone"
            profiles = await tx.fetch(f"select {columns} from profiles order by full_name")
            [(entities,)] = await tx.fetch(
                "select entities from mentions join messages on id = message_id where content like '%now**%'"
            )
            texts = [each.content for each in await said_in(storage, "General")]
            return profiles, texts, json.loads(entities)

    profiles, texts, entities = trio.run(found)
    assert profiles == [
        ("Alan Turing", "", "", ""),
        ("Grace Hopper", "Rear admiral", "she/her", "America/New_York"),
    ]
    assert "**now**, @Alan Turing" in texts
    assert [one["offset"] for one in entities] == [len("**now**, ")]


def test_a_byte_order_mark_and_half_a_character_hold_up_nothing(tmp_path: Path, slack: Path) -> None:
    users = (slack / "users.json").read_bytes()
    (slack / "users.json").write_bytes(codecs.BOM_UTF8 + users)
    cut = {"type": "message", "user": "U1", "ts": "1500000009.000000", "text": "cut in the middle of \ud83d"}
    (slack / "general" / "2017-07-15.json").write_text(json.dumps([cut]))
    installation = fresh(tmp_path / "one")
    trio.run(bring_in, installation, slack, Wishes())

    async def texts() -> list[str]:
        async with installation.storage() as storage:
            return [each.content for each in await said_in(storage, "General")]

    assert "cut in the middle of ?" in trio.run(texts)


def test_a_day_that_is_lists_in_lists_is_damaged(tmp_path: Path, slack: Path) -> None:
    (slack / "general" / "2017-07-14.json").write_text("[" * 5000 + "]" * 5000)
    with pytest.raises(OperatorError, match=r"2017-07-14.json in the export is damaged"):
        trio.run(bring_in, fresh(tmp_path / "one"), slack, Wishes())


@pytest.mark.slow
async def test_clients_of_a_running_server_reload_and_see_what_came_in(tmp_path: Path, slack: Path) -> None:
    config = tmp_path / "teamchat.json"
    async with running(tmp_path) as server:
        async with await server.sign_in() as ada, listening(ada, last_event_id="") as events:
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


class Broken(Exception):
    """Stands for kill -9: whatever was not committed is gone."""


@pytest.mark.slow
@pytest.mark.parametrize("after", [1, 2, 3])
def test_an_import_that_broke_off_goes_on_and_ends_the_same(
    after: int, tmp_path: Path, slack: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("teamchat.operations.import_export.importing._PAGE", 2)
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
            return str((await tx.fetch("select id from rooms where name = 'General'"))[0][0])

    text = exported["messages.jsonl"].decode().replace(trio.run(id_of_general), "general")
    return [json.loads(line) for line in text.splitlines()]


@pytest.mark.slow
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
            await sound(storage, "postgres")
            page = await said_in(storage, "engineering")
        await export_to(installation, tmp_path / "out")
        assert len(page) == 6
        return said

    assert "9 messages, 2 replies, 3 reactions, 1 images" in trio.run(imported)[0]
    assert json.loads((tmp_path / "out" / "export.json").read_text())["counts"]["messages"] == 14


@pytest.mark.slow
def test_a_whole_organisation_and_files_of_before_2018_come_in(tmp_path: Path, slack: Path) -> None:
    (slack / "users.json").rename(slack / "org_users.json")
    day = json.loads((slack / "engineering" / "2017-07-14.json").read_text())
    [message] = [message for message in day if message.get("files")]
    message["file"] = message.pop("files")[0]
    (slack / "engineering" / "2017-07-14.json").write_text(json.dumps(day))
    said = trio.run(bring_in, fresh(tmp_path / "one"), slack, Wishes())
    assert said[0].startswith("Imported: 9 users")
    assert said[0].endswith("1 images, 1 mentions, 2 pins, 1 profiles.")


@pytest.mark.slow
@pytest.mark.parametrize("where", ["engineering", "G1", "C9"])
def test_a_shared_message_is_quoted_where_that_has_come_along(
    tmp_path: Path, slack: Path, where: str
) -> None:
    path = slack / "general" / "2017-07-14.json"
    day = json.loads(path.read_text())
    channel, ts = {"engineering": ("C2", "1500000000.000100")}.get(where, (where, "1500000002.000000"))
    shared = {"channel_id": channel, "ts": ts, "is_share": True, "text": "what was said", "id": 1}
    odd = [
        5,
        None,
        {"is_share": True},
        {"is_share": "x", "channel_id": 1, "ts": []},
        shared | {"is_share": False},
    ]
    day[0]["attachments"] = [*odd, shared]
    path.write_text(json.dumps(day))
    installation = fresh(tmp_path / "one")
    said = trio.run(bring_in, installation, slack, Wishes())
    trio.run(export_to, installation, tmp_path / "out")
    quotes = (tmp_path / "out" / "capabilities" / "quotes.jsonl").read_text().splitlines()
    assert len(quotes) == (0 if where == "C9" else 1)
    assert ("1 quotes" in said[0]) == bool(quotes)
    texts = {
        one["id"]: one["content"]
        for line in (tmp_path / "out" / "messages.jsonl").read_text().splitlines()
        if (one := json.loads(line))
    }
    for quote in map(json.loads, quotes):
        assert texts[quote["messageId"]] == "hello"
        assert texts[quote["quotedMessageId"]] == {"C2": "earlier within the millisecond"}.get(
            channel, "psst"
        )


@pytest.mark.slow
def test_a_report_that_can_not_be_written_is_told_before_anything_comes_in(
    tmp_path: Path, slack: Path
) -> None:
    installation = fresh(tmp_path / "one")
    with pytest.raises(OperatorError, match="Give another --report"):
        trio.run(bring_in, installation, slack, Wishes(report=tmp_path / "nowhere" / "report.jsonl"))
    trio.run(export_to, installation, tmp_path / "out")
    assert json.loads((tmp_path / "out" / "export.json").read_text())["counts"]["users"] == 2


@pytest.mark.slow
def test_no_report_takes_the_place_of_another_or_of_any_other_file(tmp_path: Path, slack: Path) -> None:
    installation, report = fresh(tmp_path / "one"), tmp_path / "report.jsonl"
    report.write_text("of an earlier import")
    with pytest.raises(OperatorError, match=r"^There is no .*typo\.zip\.$"):
        trio.run(bring_in, installation, tmp_path / "typo.zip", Wishes(report=report))
    with pytest.raises(OperatorError, match="is neither"):
        trio.run(bring_in, installation, tmp_path / "one", Wishes(report=report))
    for number in (2, 3):
        said = trio.run(bring_in, installation, slack, Wishes(report=report))
        assert said[-1] == f"{tmp_path / f'report-{number}.jsonl'} names each of them."
        assert (tmp_path / f"report-{number}.jsonl").read_text().startswith('{"outcome"')
    assert report.read_text() == "of an earlier import"
    assert len(list(tmp_path.glob("report*"))) == 3


def as_zip(slack: Path, packed: Path) -> None:
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in slack.rglob("*"):
            archive.write(file, file.relative_to(slack))


def test_a_day_that_unpacks_to_more_than_a_day_is_not_read(
    tmp_path: Path, slack: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("teamchat.operations.import_export.slack.files.MOST_LIST_BYTES", 2 * 1024**2)
    (slack / "general" / "2017-07-15.json").write_text("[" + " " * 3 * 1024**2 + "]")
    as_zip(slack, tmp_path / "slack.zip")
    installation = fresh(tmp_path / "one")
    for path in (slack, tmp_path / "slack.zip"):
        with pytest.raises(OperatorError, match=r"2017-07-15.json in the export is longer than 2 MiB"):
            trio.run(bring_in, installation, path, Wishes())


@pytest.mark.slow
@pytest.mark.parametrize("what", ["bytes", "encryption", "method", "end"])
def test_a_zip_file_that_is_damaged_is_told(what: str, tmp_path: Path, slack: Path) -> None:
    packed = tmp_path / "slack.zip"
    as_zip(slack, packed)
    data = bytearray(packed.read_bytes())
    name = b"general/2017-07-14.json"
    in_directory = data.rindex(name) - 46  # PKWARE's APPNOTE, 4.3.12
    if what == "bytes":
        data[data.index(name) + len(name) + 5] ^= 0xFF
    elif what == "end":
        del data[-10:]
    else:
        data[in_directory + (8 if what == "encryption" else 10)] ^= 0x41
    packed.write_bytes(data)
    with pytest.raises(OperatorError, match=r"is damaged|nor a ZIP file that can be read"):
        trio.run(bring_in, fresh(tmp_path / "one"), packed, Wishes())


@pytest.mark.slow
def test_nothing_outside_the_export_is_read(tmp_path: Path, slack: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.svg").write_bytes(PIXEL.replace(b"<rect", b"<!-- a secret --><rect"))
    upload = slack / "__uploads" / "F1" / "pixel.svg"
    upload.unlink()
    upload.symlink_to(outside / "secret.svg")
    said = trio.run(bring_in, fresh(tmp_path / "one"), slack, Wishes())
    assert said[0].endswith("0 images, 1 mentions, 2 pins, 1 profiles.")
    assert "Left out: 1 × image (its bytes are not in the export)" in said
    upload.unlink()
    day = slack / "general" / "2017-07-14.json"
    day.rename(outside / "day.json")
    day.symlink_to(outside / "day.json")
    with pytest.raises(OperatorError, match="is damaged"):
        trio.run(bring_in, fresh(tmp_path / "two"), slack, Wishes())
    day.unlink()
    os.mkfifo(day)
    with pytest.raises(OperatorError, match="is damaged"):
        trio.run(bring_in, fresh(tmp_path / "three"), slack, Wishes())


@pytest.mark.slow
def test_blocks_in_blocks_without_an_end_are_passed_over(tmp_path: Path, slack: Path) -> None:
    blocks: Any = [{"type": "text", "text": "too deep"}]
    for _ in range(300):
        blocks = [{"elements": blocks}]
    said = [{"type": "message", "user": "U1", "ts": "1500000001.000000", "text": "", "blocks": blocks}]
    (slack / "general" / "2017-07-14.json").write_text(json.dumps(said))
    assert "9 messages" in trio.run(bring_in, fresh(tmp_path / "one"), slack, Wishes())[0]
