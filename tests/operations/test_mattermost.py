"""An export of Mattermost's comes in as people read it there, for those who could; what does not is named."""

from __future__ import annotations

import json
import shutil
import zipfile
from pathlib import Path
from typing import Any

import pytest
import trio

from teamchat.errors import OperatorError
from teamchat.interfaces import Row
from teamchat.operations.import_export.bringing_in import Wishes, bring_in
from teamchat.operations.installation import Installation
from tests.operations.exchanging import fresh, sound
from tests.operations.mattermost_team import AT, LINES, TEAM, direct, member, post, said, user, write_team

_SAID = """select r.name, r.kind, m.content, coalesce(m.bot_name, u.user_name), m.created_at - $1
from messages m join rooms r on r.id = m.room_id left join users u on u.id = m.author_id
order by r.kind, r.name, m.id"""
_MEMBERS = """select r.name, u.user_name, mine.role from rooms r join memberships mine on mine.room_id = r.id
join users u on u.id = mine.user_id where r.kind = 'channel' order by r.name, u.user_name"""


@pytest.fixture
def installation(tmp_path: Path) -> Installation:
    return fresh(tmp_path / "one")


@pytest.fixture
def team(tmp_path: Path) -> Path:
    return write_team(tmp_path / "mattermost")


def brought_in(installation: Installation, path: Path, **wishes: Any) -> list[str]:
    """Import, and expect that the database keeps all its rules."""

    async def go() -> list[str]:
        told = await bring_in(installation, path, Wishes(**wishes))
        async with installation.storage() as storage:
            await sound(storage)
        return told

    return trio.run(go)


def rows(installation: Installation, sql: str, *values: Any) -> list[Row]:
    async def go() -> list[Row]:
        async with installation.storage() as storage, storage.read() as tx:
            return list(await tx.fetch(sql, *values))

    return trio.run(go)


def test_a_teams_export_comes_in_as_people_read_it_there(
    tmp_path: Path, installation: Installation, team: Path
) -> None:
    told = brought_in(installation, team, report=tmp_path / "report.jsonl")
    assert told == [
        "Imported: 9 users, 3 channels, 1 private channels, 1 groups, 1 notes, 1 conversations, 13 messages, "
        "2 replies, 3 reactions, 1 images, 1 files, 1 mentions, 1 pins, 2 profiles, 1 quotes, 11 read-state, "
        "1 saved, 1 threads.",
        "Admins from now on: grace@navy.example, root@navy.example.",
        "Left out: 1 × emoji (there is nothing like it here)",
        "Left out: 2 × file (its bytes are not in the export; its name stands in the message)",
        "Left out: 1 × notice (told by Mattermost, said by nobody)",
        "Left out: 1 × post (it is not of Mattermost's form)",
        "Left out: 1 × record (it is not of Mattermost's form)",
        "Left out: 1 × reply (it is not of Mattermost's form)",
        "Not quite as it was: 1 × reaction (an emoji of your own, or a rare one, keeps its name)",
        "Not quite as it was: 1 × reply (conversations have no threads here; it quotes what it replies to)",
        "Not quite as it was: 1 × user (a bot; a name at messages, no account)",
        "Not quite as it was: 1 × user (a guest, and users here see all public channels: deactivated, for an "
        "admin to activate)",
        "Not quite as it was: 1 × user (deactivated in Mattermost, and here)",
        "Not quite as it was: 1 × user (in no team, and users here see all public channels: deactivated, for "
        "an admin to activate)",
        "Not quite as it was: 2 × user (not among the users of the export; a name at messages, no account)",
        "Not quite as it was: 1 × user (the name is taken here; a number was added)",
        f"{tmp_path / 'report.jsonl'} names each of them.",
    ]
    report = (tmp_path / "report.jsonl").read_text()
    assert "line 16, reply 3" in report
    assert not [text for text in ("psst", "between us", "a reply", "lost.pdf") if text in report]
    assert rows(installation, _SAID, AT) == [
        ("Fleet", "channel", "Hi @alan.t, see `:tada:` 🎉 @nobody.", "grace2", 100),
        ("Fleet", "channel", "the second", "alan.t", 500),
        ("Fleet", "channel", "an earlier reply", "gone", 550),
        ("Fleet", "channel", "a reply", "alan.t", 600),
        ("Fleet", "channel", "Built", "Jenkins", 700),
        ("Fleet", "channel", "deployed", "Deploy", 710),
        ("Fleet", "channel", "[file: lost.pdf]\n[file: passwd]", "alan.t", 800),
        ("Fleet", "channel", "from who is not listed", "left", 900),
        ("Fleet", "channel", "the other of them", "grace2", 1000),
        ("Fleet", "channel", "one of two in a second", "grace2", 1000),
        ("Secret", "channel", "psst", "grace2", 100),
        (None, "direct", "between us", "alan.t", 100),
        (None, "direct", "indeed", "grace2", 200),
        (None, "group", "among us", "gone", 100),
        (None, "notes", "to myself", "grace2", 100),
    ]
    assert rows(installation, _MEMBERS) == [
        ("Fleet", "alan.t", "member"),
        ("Fleet", "grace2", "member"),
        ("Fleet", "guest", "member"),
        ("Old", "grace2", "member"),
        ("Secret", "alan.t", "member"),
        ("Secret", "grace2", "manager"),
        *[("Town Square", name, "member") for name in ("alan.t", "gone", "grace2")],
    ]
    rooms = "select name, is_private, is_default, topic, description, archived_at from rooms where name = $1"
    assert rows(installation, rooms, "Fleet") == [("Fleet", 0, 0, "**At sea**", "Ships", None)]
    assert rows(installation, rooms, "Old") == [("Old", 0, 0, "", "", AT + 1)]
    assert rows(installation, rooms, "Secret") == [("Secret", 1, 0, "", "", None)]
    assert rows(installation, rooms, "Town Square") == [("Town Square", 0, 1, "", "", None)]
    accounts = "select user_name, is_admin, deactivated_at is not null from users where email like '%navy%'"
    assert sorted(rows(installation, accounts)) == [
        *[("alan.t", 0, 0), ("gone", 0, 1), ("grace2", 1, 0), ("guest", 0, 1)],
        *[("nowhere", 0, 1), ("root", 1, 0)],
    ]
    assert rows(installation, "select full_name, title from profiles order by full_name") == [
        *[("Grace Hopper", "Rear admiral"), ("Prof", "")]
    ]
    assert rows(installation, "select reaction, count(*) from reactions group by 1 order by 2") == [
        *[(":shipit:", 1), ("👍", 2)]
    ]


def test_what_was_read_is_read_and_what_was_saved_and_followed_still_is(
    installation: Installation, team: Path
) -> None:
    brought_in(installation, team)
    [(content, told)] = rows(
        installation,
        "select m.content, e.entities from mentions e join messages m on m.id = e.message_id",
    )
    [entity] = json.loads(told)
    assert content[entity["offset"] :][: entity["length"]] == "@alan.t"
    unread = """select count(*) from messages m join read_state s on s.room_id = m.room_id
        join users u on u.id = s.user_id join rooms r on r.id = m.room_id
        where u.user_name = $1 and r.name = 'Fleet' and m.parent_id is null and m.id > s.position"""
    assert rows(installation, unread, "alan.t") == [(7,)]
    assert rows(installation, unread, "grace2") == [(0,)]
    for table in ("saved", "pins", "threads_states"):
        found = rows(
            installation,
            f"select m.content from {table} t join messages m on m.id = t.message_id",
        )
        assert found == [(content,)]
    [(position,)] = rows(installation, "select position from threads_states")
    replies = rows(installation, "select content, id from messages where parent_id is not null")
    assert {content: id_ <= position for content, id_ in replies} == {
        "an earlier reply": True,
        "a reply": False,
    }
    quote = """select m.content, quoted.content from quotes q join messages m on m.id = q.message_id
        join messages quoted on quoted.id = q.quoted_id"""
    assert rows(installation, quote) == [("indeed", "between us")]


def test_the_same_export_again_changes_nothing_however_it_is_packed(
    tmp_path: Path, installation: Installation, team: Path
) -> None:
    first = brought_in(installation, team)
    before = rows(installation, _SAID, AT)
    packed = tmp_path / "export.zip"
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in team.rglob("*"):
            archive.write(file, Path("around", file.relative_to(team)))
    for path in (packed, team / "import.jsonl"):
        told = brought_in(installation, path)
        nothing = (
            "Imported: 0 users, 0 channels, 0 conversations, 0 messages, 0 replies, 0 reactions, 0 images."
        )
        assert told[0] == nothing
        counted = first[0].removeprefix("Imported: ").replace("3 reactions", "0 reactions")
        assert told[1] == f"There already: {counted}"
    assert rows(installation, _SAID, AT) == before
    shutil.rmtree(team)
    told = brought_in(fresh(tmp_path / "two"), packed)
    assert told[0] == first[0]


@pytest.mark.slow
def test_what_was_not_public_can_be_left_out(installation: Installation, team: Path) -> None:
    told = brought_in(installation, team, public_only=True)
    assert {channel for channel, *_ in rows(installation, _SAID, AT)} == {"Fleet"}
    left_out = [line for line in told if line.endswith("(it is not public; see --public-only)")]
    assert [line.split(" × ")[1].partition(" (")[0] for line in left_out] == [
        *["conversation", "group", "notes", "private channel"]
    ]


def in_two_teams(directory: Path, **second: Any) -> Path:
    """Write an export of two teams: Ann is in both, Ben in the first, Cid in the second, and Root in none."""
    one, two = {"name": "one", "display_name": "One"}, {"name": "two", "display_name": "Two"} | second
    channels = [
        {"team": team, "name": name, "display_name": shown, "type": "O"}
        for team in ("one", "two")
        for name, shown in (("town-square", "Town Square"), (f"of-{team}", f"Of {team}"))
    ]
    own = {
        team: {"name": team, "channels": [member("town-square"), member(f"of-{team}")]}
        for team in ("one", "two")
    }
    people = [
        user("ann", teams=[own["one"], own["two"]]),
        user("ben", teams=[own["one"]]),
        user("cid", teams=[own["two"]]),
        user("root", roles="system_admin system_user"),
    ]
    lines: list[tuple[str, Any]] = [
        *[("team", one), ("team", two)],
        *[("channel", channel) for channel in channels],
        *[("user", each) for each in people],
    ]
    return write_team(directory, lines)


@pytest.mark.parametrize("is_open", [False, True])
def test_a_team_that_not_everybody_is_in_has_no_public_channels_unless_anybody_may_join_it(
    is_open: bool, tmp_path: Path, installation: Installation
) -> None:
    brought_in(installation, in_two_teams(tmp_path / "two-teams", allow_open_invite=is_open))
    found = rows(
        installation, "select name, is_private, is_default from rooms where name <> 'General' order by 1"
    )
    private = {name for name, is_private, _ in found if is_private}
    everywhere = {"Of one", "Town Square (One)"}
    assert private == everywhere | (set() if is_open else {"Of two", "Town Square (Two)"})
    assert {name for name, *_ in found} - private == ({"Of two", "Town Square"} if is_open else set())
    assert not any(is_default for *_, is_default in found)
    here = {(room, name) for room, name, _ in rows(installation, _MEMBERS)}
    assert {name for room, name in here if room == "Of one"} == {"ann", "ben"}
    assert {name for room, name in here if room == "Of two"} == {"ann", "cid"}


def test_the_name_of_a_public_channel_tells_of_no_private_one(
    tmp_path: Path, installation: Installation
) -> None:
    named = [("public", "Fleet", "O"), ("hidden", "FLEET", "P"), ("one", "Ops", "O"), ("two", "ops", "O")]
    lines: list[tuple[str, Any]] = [
        ("team", TEAM),
        *[
            ("channel", {"team": "navy", "name": name, "display_name": shown, "type": kind})
            for name, shown, kind in named
        ],
        ("user", user("grace", member("public"), member("hidden"))),
    ]
    link = tmp_path / "link.jsonl"
    link.symlink_to(write_team(tmp_path / "team", lines) / "import.jsonl")
    brought_in(installation, link)
    assert rows(installation, "select name from rooms where name <> 'General' order by is_private, name") == [
        *[("Fleet",), ("Ops (Navy) (one)",), ("ops (Navy) (two)",), ("FLEET (Navy)",)]
    ]


@pytest.mark.slow
def test_what_is_of_no_form_or_leads_elsewhere_is_named_and_hurts_nothing_else(
    tmp_path: Path, installation: Installation
) -> None:
    deep: Any = "too deep"
    for _ in range(300):
        deep = [deep]
    town = ("channel", {"team": "navy", "name": "town-square", "display_name": "A\x00B", "type": "O"})
    lines: list[tuple[str, Any]] = [
        town,
        ("user", user("grace", member("town-square"))),
        ("user", {"username": ["grace"]}),
        ("post", post("town-square", "grace", 1, "kept \x00 this", props={"attachments": deep})),
        ("post", post("town-square", "grace", 2, "", props={"attachments": deep})),
        ("post", post("town-square", "grace", 3, "lone \ud800")),
        ("post", post("town-square", "grace", -AT, "before all time")),
        ("post", post("nowhere", "grace", 4, "in no channel")),
        ("post", post("town-square", "grace", 5, "", attachments=[
            {"path": "/etc/passwd"}, {"path": "a/../../../etc/passwd"}, {"path": ""}, {"path": "link.svg"}])),
        ("direct_post", direct([], "grace", 6, "to nobody")),
        ("direct_post", direct(["grace", "x"], "grace", 7, "to who is not there",
                               replies=[said("x", 8, "yes?")])),
        ("post", {"team": "navy"}),
    ]  # fmt: skip
    team = write_team(tmp_path / "odd", lines)
    (tmp_path / "secret.svg").write_text("a secret")
    (team / "data" / "link.svg").symlink_to(tmp_path / "secret.svg")
    with (team / "import.jsonl").open("ab") as file:
        file.write(b'{"type": "post", "post": ' + b"[" * 200_000 + b"}\n")
        file.write(b'{"type": "post", "post": {"props": ' + b'{"a": ' * 200_000 + b"\n\xff\xfe\n[]\n7\n")
    brought_in(installation, team, report=tmp_path / "report.jsonl")
    assert [content for _, _, content, *_ in rows(installation, _SAID, AT)] == [
        *["kept  this", "(nothing)", "[file: passwd]\n[file: passwd]\n[file: unnamed]"],
        *["to who is not there", "yes?"],
    ]
    report = [json.loads(line) for line in (tmp_path / "report.jsonl").read_text().splitlines()]
    told = {note["where"] for note in report if "form" in note["why"]}
    assert told == {f"line {number}" for number in (4, 7, 8, 13, 14, 15, 16, 17, 18, 19)}


@pytest.mark.slow
def test_a_line_that_is_longer_than_any_is_not_read(
    installation: Installation, team: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("teamchat.operations.import_export.mattermost.lines.MOST_LIST_BYTES", 2 * 1024**2)
    with (team / "import.jsonl").open("a") as file:
        file.write(" " * 3 * 1024**2)
    with pytest.raises(OperatorError, match=r"A line of .*import.jsonl in the export is longer than 2 MiB"):
        trio.run(bring_in, installation, team, Wishes())


def test_what_begins_with_no_version_is_no_export(tmp_path: Path, installation: Installation) -> None:
    (tmp_path / "other").mkdir()
    lines = tmp_path / "other" / "import.jsonl"
    lines.write_text(json.dumps({"type": "post", "post": dict(LINES)["post"]}))
    with pytest.raises(OperatorError, match=r"neither an export of teamchat .* nor.* of Mattermost"):
        trio.run(bring_in, installation, lines.parent, Wishes())
    with pytest.raises(OperatorError, match="neither a directory nor a ZIP file"):
        trio.run(bring_in, installation, lines, Wishes())
