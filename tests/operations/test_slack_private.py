"""What only some could see in Slack is seen by the same people here, whatever the export says besides."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from teamchat.chat import Chat
from teamchat.chat.channel_drafts import NewChannel, NewPrivateChannel
from teamchat.chat.groups import GroupOf
from teamchat.chat.privacy import PrivacyChange
from teamchat.model import Caller, User
from teamchat.model.pages import Page
from teamchat.operations.import_export.importing import Importer
from teamchat.operations.import_export.report import GUEST, Report
from teamchat.operations.import_export.slack.export import SlackExport
from teamchat.operations.import_export.slack.files import SlackFiles
from tests.chat.conftest import MemoryImages, World
from tests.operations.exchanging import sound
from tests.storages import ON_SQLITE, open_storage

MADE = 1_400_000_000


def person(id_: str, name: str, **more: Any) -> dict[str, Any]:
    return {"id": id_, "profile": {"real_name": name, "email": f"{name}@example.org"}, "updated": MADE} | more


def room(id_: str, name: str, *members: str, **more: Any) -> dict[str, Any]:
    return {"id": id_, "name": name, "created": MADE, "members": list(members)} | more


def said(user: str, text: str, second: int = 0) -> dict[str, Any]:
    return {"type": "message", "user": user, "text": text, "ts": f"{MADE + 100 + second}.000000"}


ANN, BEN, EVA, SAM = people = [
    person("U1", "Ann", is_owner=True), person("U2", "Ben"), person("U3", "Eva"), person("U4", "Sam"),
]  # fmt: skip


def workspace(directory: Path, **lists: Any) -> Path:
    """Write an export: `lists` without their ending, and of folders the one day with what was said."""
    directory.mkdir()
    for name, content in ({"users": people, "channels": []} | lists).items():
        is_list = name in ("users", "channels", "groups", "mpims", "dms")
        file = directory / f"{name}.json" if is_list else directory / name / "2014-05-13.json"
        file.parent.mkdir(exist_ok=True)
        file.write_text(json.dumps(content))
    return directory


@asynccontextmanager
async def world_in(directory: Path) -> AsyncIterator[World]:
    async with open_storage(directory) as storage:
        images = MemoryImages()
        yield World(storage, Chat.build(storage, images, 1_000), images)


async def bring(world: World, slack: Path, *, public_only: bool = False) -> Report:
    report = Report()
    source = SlackExport(SlackFiles(slack, report), report, public_only=public_only)
    await Importer(world.storage, world.images, source, report).run()
    await sound(world.storage, "sqlite" if ON_SQLITE else "postgres")
    return report


async def caller(world: World, name: str) -> Caller:
    [(id_, email, is_admin)] = await world.run(
        "select id, email, is_admin from users where user_name = $1 and removed_at is null", name
    )
    return Caller(User(id_, name, email, bool(is_admin)), "a session")


async def seen_by(world: World, name: str) -> dict[str, tuple[list[str], str | None]]:
    """Return what a user sees: for each channel its texts and the user's role."""
    who, found = await caller(world, name), {}
    for channel in await world.chat.channels.list(who):
        page = (await world.chat.messages.page(who, channel.id, Page(200))).messages
        role = channel.role if isinstance(channel.role, str) else None
        kind = channel.kind or ("private" if channel.is_private else "public")
        found[f"{kind} {channel.name}"] = ([one.content for one in page], role)
    return found


def lines(report: Report, *, but: Sequence[str] = ("user", "capability")) -> list[str]:
    passed_over = ("Admins from now on", *(f"× {what} (" for what in but))
    return [line for line in report.lines() if not any(part in line for part in passed_over)]


async def test_each_of_them_sees_what_they_saw_there_and_nobody_else(tmp_path: Path) -> None:
    slack = workspace(
        tmp_path / "slack",
        channels=[room("C1", "all", "U1", "U2", "U3", "U4")],
        groups=[
            room("G1", "secret", "U2", "U3", "U3", creator="U3", is_archived=False,
                 topic={"value": "psst &amp; hush"}, purpose={"value": "For <@U2>"}),
            room("G2", "closed", "U2", creator="U4", is_archived=True),
        ],
        mpims=[room("M1", "mpdm-ben--eva--sam-1", "U2", "U3", "U4")],
        dms=[{"id": "D1", "created": MADE, "members": ["U2", "U4"]}, {"id": "D2", "members": ["U4", "U4"]}],
        all=[said("U1", "see <#G1|secret>")],
        secret=[said("U2", "in <#G1|secret>")],
        closed=[said("U2", "over")],
        D1=[said("U4", "two")],
        D2=[said("U4", "one")],
        **{"mpdm-ben--eva--sam-1": [said("U4", "three")]},
    )  # fmt: skip
    async with world_in(tmp_path / "data") as world:
        report = await bring(world, slack)
        general = (["see #private-channel"], "member")
        group = (["three"], "member")
        # Ann is an admin, and that shows her nothing.
        assert await seen_by(world, "Ann") == {"public all": general}
        assert await seen_by(world, "Eva") == {
            "public all": general, "private secret": (["in #secret"], "manager"),
            "group Ben, Eva, Sam": group,
        }  # fmt: skip
        assert await seen_by(world, "Ben") == {
            "public all": general, "private secret": (["in #secret"], "member"),
            "private closed": (["over"], "manager"), "group Ben, Eva, Sam": group,
        }  # fmt: skip
        assert await seen_by(world, "Sam") == {
            "public all": general, "group Ben, Eva, Sam": group, "notes Sam": (["one"], "member"),
        }  # fmt: skip
        sam = await caller(world, "Sam")
        [direct] = await world.chat.conversations.list(sam)
        [message] = (await world.chat.conversations.page(sam, direct.id, Page(50))).messages
        assert message.content == "two"
        found = {one.name: one for one in await world.chat.channels.list(await caller(world, "Ben"))}
        assert (found["secret"].topic, found["secret"].description) == ("psst & hush", "For @Ben")
        assert (found["secret"].is_archived, found["closed"].is_archived) == (False, True)
        assert (found["all"].is_default, found["all"].member_count) == (False, 4)
        [counted] = lines(report)
        assert counted.startswith(
            "Imported: 5 users, 1 channels, 2 private channels, 1 groups, 1 notes, 1 conversations, 6 "
        )
        again = await bring(world, slack)
        assert "0 private channels" not in again.lines()[0]
        assert "1 channels, 2 private channels, 1 groups, 1 notes, 1 conversations" in again.lines()[1]
        assert len(await seen_by(world, "Ben")) == 4


async def test_what_was_not_public_can_be_left_out(tmp_path: Path) -> None:
    slack = workspace(
        tmp_path / "slack",
        channels=[room("C1", "all", "U1")],
        groups=[room("G1", "secret", "U1")],
        mpims=[room("M1", "mpdm-1", "U1", "U2", "U3")],
        dms=[{"id": "D1", "created": MADE, "members": ["U1", "U2"]}],
        secret=[said("U1", "psst")],
        D1=[said("U1", "two")],
    )
    async with world_in(tmp_path / "data") as world:
        report = await bring(world, slack, public_only=True)
        assert await seen_by(world, "Ann") == {"public all": ([], "member")}
        assert await world.count("messages") == 0
        assert await world.count("rooms") == 1
        assert lines(report)[1:] == [
            f"Left out: 1 × {kind} (it is not public; see --public-only)"
            for kind in ("conversation", "group message", "private channel")
        ]


async def test_members_whom_nobody_knows_are_told_and_open_nothing_to_anybody(tmp_path: Path) -> None:
    slack = workspace(
        tmp_path / "slack",
        users=[*people, person("U8", "Gone", deleted=True), person("UB", "Bot", is_bot=True)],
        groups=[room("G1", "some", "U2", "U8", "U99", creator="U8"), room("G2", "none", "U8", "UB", "U99"),
                room("G3", "unsaid") | {"members": None}],
        mpims=[room("M1", "mpdm-1", "U8", "UB", "U99"), room("M2", "mpdm-2", "U2", "U8", "U99")],
        dms=[{"id": "D1", "created": MADE, "members": ["U2", "U77"]}],
        none=[said("U8", "psst")],
        D1=[said("U2", "are you there")],
    )  # fmt: skip
    async with world_in(tmp_path / "data") as world:
        report = await bring(world, slack)
        assert await seen_by(world, "Ben") == {"private some": ([], "manager"), "group Ben": ([], "member")}
        assert await seen_by(world, "Ann") == {}
        [direct] = await world.chat.conversations.list(await caller(world, "Ben"))
        assert direct.other_user.user_name == "U77"
        # Who has left an empty private channel has left it archived, to be entered by admins alone (B-5).
        admin = await caller(world, "Ann")
        hidden = (await world.chat.administration.page(admin, 50, None)).channels
        told = [(one.name, one.is_archived, one.member_count) for one in hidden]
        assert sorted(told) == [("none", True, 0), ("some", False, 1), ("unsaid", True, 0)]
        assert lines(report)[1:] == [
            "Left out: 1 × group (none of those in it is a user here)",
            "Not quite as it was: 2 × channel (some of its members are no users here)",
            "Not quite as it was: 2 × group (some of its members are no users here)",
            "Not quite as it was: 2 × private channel (none of its members is a user here: archived, and "
            "admins alone see that it is there)",
        ]


async def test_a_group_of_ten_is_a_private_channel_that_all_of_them_manage(tmp_path: Path) -> None:
    ids = [f"U{number}" for number in range(10, 20)]
    users = [*people, *(person(id_, f"P{id_}") for id_ in ids)]
    slack = workspace(
        tmp_path / "slack",
        users=users,
        mpims=[room("M1", "mpdm-1", *ids), room("M2", "mpdm-2", *ids[:9])],
        **{"mpdm-1": [said("U10", "ten")], "mpdm-2": [said("U10", "nine")]},
    )
    async with world_in(tmp_path / "data") as world:
        report = await bring(world, slack)
        names = ", ".join(f"P{id_}" for id_ in ids)
        assert await seen_by(world, "PU19") == {f"private {names}": (["ten"], "manager")}
        assert (await seen_by(world, "PU18"))["group " + names.removesuffix(", PU19")] == (["nine"], "member")
        assert await seen_by(world, "Ann") == {}
        assert lines(report)[1:] == [
            "Not quite as it was: 1 × group (of more than 9 people: a private channel that all of them "
            "manage)"
        ]


async def test_the_same_people_go_on_in_the_group_that_they_have_here(tmp_path: Path) -> None:
    first = workspace(tmp_path / "first", mpims=[])
    second = workspace(
        tmp_path / "second",
        mpims=[room("M1", "mpdm-1", "U2", "U3", "U4")],
        **{"mpdm-1": [said("U2", "then")]},
    )
    async with world_in(tmp_path / "data") as world:
        await bring(world, first)
        ben, eva, sam = [await caller(world, name) for name in ("Ben", "Eva", "Sam")]
        group, _ = await world.chat.groups.open(ben, GroupOf([eva.user.id, sam.user.id]))
        report = await bring(world, second)
        page = (await world.chat.messages.page(eva, group.id, Page(50))).messages
        assert [one.content for one in page] == ["then"]
        assert len(await world.chat.channels.list(eva)) == 1
        assert "Merged with what is here: 1 × group (the same people have one here; it goes on there)" in (
            report.lines()
        )


async def test_groups_that_differ_in_people_alone_who_are_gone_stay_two(tmp_path: Path) -> None:
    gone = [person("U8", "Gone", deleted=True), person("U9", "Left", deleted=True)]
    slack = workspace(
        tmp_path / "slack",
        users=[*people, *gone],
        mpims=[room("M1", "mpdm-1", "U2", "U3", "U8"), room("M2", "mpdm-2", "U2", "U3", "U9")],
        **{"mpdm-1": [said("U8", "with Gone")], "mpdm-2": [said("U9", "with Left")]},
    )
    async with world_in(tmp_path / "data") as world:
        for _ in range(2):
            report = await bring(world, slack)
            ben = await caller(world, "Ben")
            said_in = [
                [one.content for one in (await world.chat.messages.page(ben, channel.id, Page(50))).messages]
                for channel in await world.chat.channels.list(ben)
            ]
            assert sorted(said_in) == [["with Gone"], ["with Left"]]
            assert not [line for line in report.lines() if "Merged" in line and "group" in line]


async def test_names_clash_with_none_that_is_not_seen_and_tell_of_none(tmp_path: Path) -> None:
    first = workspace(tmp_path / "first")
    second = workspace(
        tmp_path / "second",
        channels=[room("C1", "Merger", "U4")],
        groups=[room("G1", "All", "U4"), room("G2", "Merger2", "U3"), room("G3", "merger2", "U4")],
        Merger=[said("U4", "a public one")],
        All=[said("U4", "a private one")],
    )
    async with world_in(tmp_path / "data") as world:
        await bring(world, first)
        ann, ben = [await caller(world, name) for name in ("Ann", "Ben")]
        await world.chat.channels.create(ben, NewPrivateChannel("Merger"))
        await world.chat.channels.create(ann, NewChannel("All"))
        report = await bring(world, second)
        assert await seen_by(world, "Sam") == {
            "public All": ([], "member"),
            "private All": (["a private one"], "manager"),
            "public Merger": (["a public one"], "member"),
            "private merger2": ([], "manager"),
        }
        assert await seen_by(world, "Eva") == {
            "public All": ([], "member"),
            "public Merger": (["a public one"], None),
            "private Merger2": ([], "manager"),
        }
        assert [line for line in lines(report) if "Merged" in line] == []


@pytest.mark.parametrize("claimed", ["channels", "groups", "mpims", "dms"])
async def test_a_folder_that_two_claim_is_read_for_neither_if_one_is_private(
    tmp_path: Path, claimed: str
) -> None:
    other: dict[str, Any] = {claimed: [room("secret", "secret", "U4", "U2")]}
    slack = workspace(
        tmp_path / "slack", **other | {"groups": [room("G1", "secret", "U3"), *other.get("groups", [])]},
        secret=[said("U3", "psst")],
    )  # fmt: skip
    for public_only in (False, True):
        async with world_in(tmp_path / f"data {public_only}") as world:
            report = await bring(world, slack, public_only=public_only)
            assert await world.count("messages") == 0
            assert any("two claim it, and not both are public" in line for line in report.lines())


async def test_what_is_public_by_now_gets_nothing_more_of_what_was_private_there(tmp_path: Path) -> None:
    lists = {"groups": [room("G1", "secret", "U1")]}
    first = workspace(tmp_path / "first", **lists, secret=[said("U1", "before")])
    second = workspace(tmp_path / "second", **lists, secret=[said("U1", "before"), said("U1", "later", 1)])
    async with world_in(tmp_path / "data") as world:
        await bring(world, first)
        ann = await caller(world, "Ann")
        [channel] = await world.chat.channels.list(ann)
        await world.chat.privacy.change(ann, channel.id, PrivacyChange(is_private=False, history="hide"))
        report = await bring(world, second)
        assert await world.run("select content from messages") == [("before",)]
        assert (
            "Left out: 1 × private channel (it is public here by now, and it was private there)"
            in report.lines()
        )


@pytest.mark.parametrize("said_by", ["is_private", "is_group", "is_mpim"])
async def test_what_says_that_it_is_private_is_so_in_whatever_list(tmp_path: Path, said_by: str) -> None:
    flagged = {**room("C9", "flagged", "U1", "U3"), said_by: True}
    slack = workspace(tmp_path / "slack", channels=[flagged], flagged=[said("U1", "psst")])
    for public_only in (False, True):
        async with world_in(tmp_path / f"data {public_only}") as world:
            await bring(world, slack, public_only=public_only)
            [(rooms,)] = await world.run(
                "select count(*) from rooms where is_private = 0 and name = 'flagged'"
            )
            assert rooms == 0
            assert await world.count("messages") == (0 if public_only else 1)


async def test_a_member_who_is_named_very_often_is_one_member(tmp_path: Path) -> None:
    slack = workspace(tmp_path / "slack", mpims=[room("M1", "mpdm-1", *["U1", "U2", "U3"] * 30_000)])
    async with world_in(tmp_path / "data") as world:
        assert "1 groups" in (await bring(world, slack)).lines()[0]
        assert list(await seen_by(world, "Sam")) == []


async def test_a_guest_comes_in_deactivated_for_they_would_see_all_public_channels(tmp_path: Path) -> None:
    guests = [person("U5", "Gil", is_restricted=True), person("U6", "Guy", is_ultra_restricted=True)]
    slack = workspace(
        tmp_path / "slack",
        users=[*people, *guests],
        channels=[room("C1", "all", "U1", "U5")],
        all=[said("U5", "only here")],
    )
    async with world_in(tmp_path / "data") as world:
        report = await bring(world, slack)
        assert [line for line in report.lines() if "guest" in line] == [
            f"Not quite as it was: 2 × user ({GUEST})"
        ]
        shut = await world.run(
            "select user_name from users where deactivated_at is not null order by user_name"
        )
        assert [name for (name,) in shut] == ["Gil", "Guy"]
        assert await seen_by(world, "Ann") == {"public all": (["only here"], "member")}
