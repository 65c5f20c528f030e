"""What was exported comes back the same, and what stands in an export can do no harm."""

from __future__ import annotations

import json
import os
import struct
from pathlib import Path
from typing import Any

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

from teamchat.errors import OperatorError
from teamchat.model.ids import could_be_id, id_at, new_id
from teamchat.operations.import_export.bringing_in import Wishes, bring_in
from teamchat.operations.import_export.exporting import export_to
from teamchat.operations.installation import Installation
from tests.operations.conftest import PIXEL, configure
from tests.operations.exchanging import fresh, records, sound
from tests.operations.slack_workspace import write_workspace
from tests.operations.test_checking import lived_in


@pytest.mark.slow
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
        "Imported: 0 users, 0 channels, 1 conversations, 2 messages, 1 replies, 1 reactions, 1 images, "
        "1 threads.",
        "Merged with what is here: 1 × channel (there is a channel of that name; it goes on there)",
        "Merged with what is here: 2 × user (the email is that of a user here, whose name stays)",
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


@pytest.mark.slow
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


@pytest.mark.slow
def test_what_is_no_export_is_refused_and_a_damaged_one_is_named(tmp_path: Path) -> None:
    installation, slack = fresh(tmp_path / "one"), write_workspace(tmp_path / "slack")
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


def test_servers_that_run_hear_of_what_came_in_before_an_error(tmp_path: Path) -> None:
    installation = fresh(tmp_path / "one")

    async def broken_off() -> Any:
        await export_to(installation, tmp_path / "out")
        with (tmp_path / "out" / "messages.jsonl").open("a") as file:
            file.write("{\n")
        with pytest.raises(OperatorError, match="is no record of messages"):
            await bring_in(installation, tmp_path / "out", Wishes())
        async with installation.storage() as storage, storage.read() as tx:
            return await tx.fetch("select type from events order by seq desc limit 1")

    assert trio.run(broken_off) == [("RESYNC",)]


@pytest.mark.slow
@pytest.mark.parametrize("time", [10**30, 2**48, -1])
def test_a_time_that_none_can_be_is_no_record(tmp_path: Path, time: int) -> None:
    installation = fresh(tmp_path / "one")
    trio.run(export_to, installation, tmp_path / "out")
    user = {"id": "0" * 32, "userName": "Eve", "email": "eve@example.org", "createdAt": time}
    (tmp_path / "out" / "users.jsonl").write_text(json.dumps(user) + "\n")
    with pytest.raises(OperatorError, match=r"users.jsonl, line 1, is no record of users"):
        trio.run(bring_in, installation, tmp_path / "out", Wishes())


@pytest.mark.slow
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


def exported(directory: Path, **lines: list[dict[str, Any]]) -> Path:
    """Write an export with a channel, and other records as they are given."""
    directory.mkdir()
    head = {"format": "teamchat-export", "version": 1, "teamchat": "1", "exportedAt": 1}
    (directory / "export.json").write_text(json.dumps(head))
    given = {"channels": [{"id": "c", "name": "Somewhere", "createdAt": 1}]} | lines
    for name, listed in given.items():
        (directory / f"{name}.jsonl").write_text("".join(json.dumps(record) + "\n" for record in listed))
    return directory


def message(number: int, author: str, **more: Any) -> dict[str, Any]:
    by = {"id": author, "userName": "A stranger"}
    return {"id": f"{number:032x}", "channelId": "c", "author": by, "content": "x", "createdAt": 1} | more


def test_who_is_not_among_the_users_keeps_a_name_and_does_not_react(tmp_path: Path) -> None:
    messages = [message(1, "u"), message(2, "u", reactions={"a": ["u", "nobody"]})]
    out = exported(tmp_path / "out", messages=messages)
    installation = fresh(tmp_path / "one")

    async def imported() -> list[str]:
        said = await bring_in(installation, out, Wishes(report=tmp_path / "report.jsonl"))
        async with installation.storage() as storage:
            await sound(storage)
            async with storage.read() as tx:
                rows = await tx.fetch(
                    "select removed_at, email_key from users where user_name = 'A stranger'"
                )
                assert rows == [(1, None)]
        return said

    said = trio.run(imported)
    assert said[0] == (
        "Imported: 1 users, 1 channels, 0 conversations, 2 messages, 0 replies, 1 reactions, 0 images."
    )
    assert "Left out: 1 × reaction (by nobody among the users of the export)" in said
    notes = [json.loads(line) for line in (tmp_path / "report.jsonl").read_text().splitlines()]
    assert [note["where"] for note in notes] == ["u", f"{2:032x}"]


def test_who_comes_in_as_an_admin_is_told(tmp_path: Path) -> None:
    users = [
        {"id": f"u{number}", "userName": "Eve", "email": f"eve{number}@example.org", "isAdmin": number != 5}
        for number in range(14)
    ]
    said = trio.run(bring_in, fresh(tmp_path / "one"), exported(tmp_path / "out", users=users), Wishes())
    assert said[1].startswith("Admins from now on: eve0@example.org, eve1@example.org, ")
    assert said[1].endswith("eve10@example.org and 3 more.")
    assert "Not quite as it was: 13 × user (the name is taken here; a number was added)" in said


def test_a_line_that_is_longer_than_any_is_not_read(tmp_path: Path) -> None:
    out = exported(tmp_path / "out")
    with (out / "messages.jsonl").open("wb") as file:
        file.truncate(1024**3)
    with pytest.raises(OperatorError, match="is longer than 16 MiB, so it is not read"):
        trio.run(bring_in, fresh(tmp_path / "one"), out, Wishes())


def test_an_image_that_no_upload_could_be_is_left_out_and_nothing_outside_is_read(tmp_path: Path) -> None:
    names = [f"{number}-{number:032x}.svg" for number in range(3)] + [f"3-{3:032x}.png"]
    images = [
        {"filename": name, "channelId": "c", "uploadedBy": "", "createdAt": 1, "mediaType": "", "size": 1}
        for name in names
    ]
    out = exported(tmp_path / "out", images=images)
    (out / "images").mkdir()
    (out / "images" / names[0]).write_bytes(PIXEL + b" " * 10 * 1024**2)
    (tmp_path / "secret.svg").write_bytes(PIXEL)
    (out / "images" / names[1]).symlink_to(tmp_path / "secret.svg")
    os.mkfifo(out / "images" / names[2])
    huge = struct.pack(">II", 100_000, 100_000)
    (out / "images" / names[3]).write_bytes(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + huge + bytes(9))
    said = trio.run(bring_in, fresh(tmp_path / "one"), out, Wishes())
    assert said[1:] == [
        "Left out: 1 × image (image has more than 35 million pixels.)",
        "Left out: 1 × image (it is larger than 10 MB)",
        "Left out: 2 × image (its bytes are not in the export)",
    ]


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
