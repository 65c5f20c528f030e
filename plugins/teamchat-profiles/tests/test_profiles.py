"""L-3: profiles, statuses and faces, on the storage that the tests run on."""

from __future__ import annotations

import base64
import io
import json
import random
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from msgspec import to_builtins
from PIL import Image
from teamchat_profiles import PROFILES, profiles
from teamchat_profiles.avatars import MOST_BYTES, SIZES, Avatars
from teamchat_profiles.fields import full_names
from teamchat_profiles.profiles import BETWEEN_MS, NewStatus, ProfileChange, Profiles
from teamchat_profiles.telling import Telling

from teamchat import BadRequest, Capability, NotFound, Service, Storage
from teamchat.application import Application
from teamchat.model import Caller, Message, now_ms
from teamchat.testing import CapabilityContract, ServiceContract
from tests.storages import open_storage


def picture(size: tuple[int, int] = (600, 400), kind: str = "PNG", **saved: Any) -> str:
    """Return a picture whose left half is red and whose right half is blue."""
    image = Image.new("RGB", size, "red")
    image.paste("blue", (size[0] // 2, 0, *size))
    written = io.BytesIO()
    image.save(written, kind, **saved)
    return base64.b64encode(written.getvalue()).decode()


class TestProfiles(CapabilityContract):
    def capability(self) -> Capability:
        return PROFILES

    def open_storage(self, directory: Path) -> AbstractAsyncContextManager[Storage]:
        directory.mkdir(parents=True, exist_ok=True)
        return open_storage(directory)

    async def use(self, app: Application, caller: Caller, message: Message) -> None:
        await Profiles(app).change(caller, ProfileChange(full_name="Ada King 👩\u200d🔬"))


class TestTelling(ServiceContract):
    def make_service(self, app: Application) -> Service:
        return Telling(app)

    @asynccontextmanager
    async def application(self, tmp_path: Path) -> AsyncIterator[Application]:
        async with TestProfiles().application(tmp_path) as app:
            yield app


@dataclass
class World:
    """A server with two users."""

    app: Application
    ada: Caller
    bob: Caller

    @property
    def profiles(self) -> Profiles:
        return Profiles(self.app)

    @property
    def avatars(self) -> Avatars:
        return Avatars(self.app)

    async def shown(self, who: Caller) -> dict[str, Any]:
        users = await self.app.accounts.users.list()
        return next(to_builtins(one) for one in users if one.id == who.user.id)

    async def told(self) -> list[dict[str, Any]]:
        async with self.app.storage.read() as tx:
            rows = await tx.fetch("select payload from events where type = 'UPDATE_USER' order by seq")
        return [json.loads(payload) for (payload,) in rows]

    async def ago(self, milliseconds: int) -> None:
        """Let time pass: what was told, and what is due, was so much earlier."""
        async with self.app.storage.write() as tx:
            await tx.fetch(
                """update profiles set told_at = told_at - $1, due_at = due_at - $1,
                   status_until = status_until - $1""",
                milliseconds,
            )


@asynccontextmanager
async def opened(tmp_path: Path) -> AsyncIterator[World]:
    async with TestProfiles().application(tmp_path) as app:

        async def user(email: str) -> Caller:
            _, signed_in = await app.accounts.sign_in(email, "192.0.2.1", "tests")
            return await app.accounts.authenticate(signed_in.access_token)

        ada = await user("admin@localhost")
        await app.accounts.users.add(ada, "bob@example.org")
        yield World(app, ada, await user("bob@example.org"))


async def test_what_one_says_of_oneself_is_shown_and_told_and_can_be_taken_back(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        change = ProfileChange("  Augusta  Ada King ", "Analyst", "she/her", "Europe/London", "en-GB")
        answered = to_builtins(await world.profiles.change(world.ada, change))
        fields = {
            "fullName": "Augusta Ada King",
            "title": "Analyst",
            "pronouns": "she/her",
            "timezone": "Europe/London",
            "locale": "en-GB",
        }
        assert answered.items() >= fields.items()
        assert (await world.shown(world.ada)).items() >= fields.items()
        assert "fullName" not in await world.shown(world.bob)
        [told] = await world.told()
        assert told.items() >= (fields | {"id": world.ada.user.id, "status": None}).items()
        await world.profiles.change(world.ada, ProfileChange(title=""))
        shown = await world.shown(world.ada)
        assert "title" not in shown
        assert shown["fullName"] == "Augusta Ada King"
        async with world.app.storage.read() as tx:
            assert await full_names(tx) == {world.ada.user.id: ("Augusta Ada King",)}


@pytest.mark.parametrize(
    "change",
    [
        ProfileChange(),
        ProfileChange(full_name="a" * 101),
        ProfileChange(full_name="Ada\u202e"),
        ProfileChange(title="line\nbreak"),
        ProfileChange(title="a\u200d" * 51),
        ProfileChange(full_name="Ada\u200b"),
        ProfileChange(timezone="Europe/\u200cBerlin"),
        ProfileChange(timezone="Europe/Atlantis"),
        ProfileChange(timezone="../../etc/passwd"),
        ProfileChange(locale="en_GB; drop"),
    ],
)
async def test_what_can_not_stand_in_a_profile_is_refused(tmp_path: Path, change: ProfileChange) -> None:
    async with opened(tmp_path) as world:
        with pytest.raises(BadRequest):
            await world.profiles.change(world.ada, change)
        assert await world.told() == []


async def test_the_files_of_time_zones_are_looked_through_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked = iter([{"Europe/Rome"}])
    monkeypatch.setattr(profiles, "available_timezones", lambda: next(looked))
    profiles._zones.cache_clear()
    try:
        async with opened(tmp_path) as world:
            for _ in range(3):
                await world.profiles.change(world.ada, ProfileChange(timezone="Europe/Rome"))
    finally:
        profiles._zones.cache_clear()


@pytest.mark.parametrize(
    "name", ["علی\u200cرضا", "क्\u200dष", "👩\u200d🚀 Ada ❤\ufe0f", "👩🏽\u200d🤝\u200d👩🏻"]
)
async def test_names_and_titles_hold_what_joins_characters_in_scripts_and_emoji(
    tmp_path: Path, name: str
) -> None:
    async with opened(tmp_path) as world:
        await world.profiles.change(world.ada, ProfileChange(name, name, "\u200d\ufe0f"))
        shown = await world.shown(world.ada)
        assert (shown["fullName"], shown["title"]) == (name, name)
        assert "pronouns" not in shown, "nothing of it is seen"


async def test_the_emoji_of_a_status_is_what_a_reaction_may_be(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        for good in ("👩\u200d🚀", ":parrot:", "e" * 64):
            await world.profiles.set_status(world.ada, NewStatus(good))
            assert (await world.shown(world.ada))["status"] == {"emoji": good}
        for bad in ("e" * 65, "\0", "\ud800"):
            with pytest.raises(BadRequest, match="emoji"):
                await world.profiles.set_status(world.ada, NewStatus(bad))


async def test_changes_of_ten_seconds_are_told_at_once_and_once_more_as_they_are_then(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        telling = Telling(world.app)
        for text in "abcde":
            await world.profiles.set_status(world.ada, NewStatus(text=text))
        assert [one["status"]["text"] for one in await world.told()] == ["a"]
        assert (await world.shown(world.ada))["status"] == {"text": "e"}
        await telling.tell_due()
        assert len(await world.told()) == 1
        await world.ago(BETWEEN_MS)
        for _ in range(2):
            await telling.tell_due()
        assert [one["status"]["text"] for one in await world.told()] == ["a", "e"]


async def test_what_is_so_already_is_told_to_nobody(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        for _ in range(2):
            await world.profiles.change(world.ada, ProfileChange(title="Analyst"))
            await world.profiles.end_status(world.ada)
            await world.ago(BETWEEN_MS)
        assert len(await world.told()) == 1


async def test_a_status_ends_by_itself_and_that_is_told(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        until = now_ms() + 600_000
        await world.profiles.set_status(world.ada, NewStatus("🌴", "away", until))
        status = {"emoji": "🌴", "text": "away", "until": until}
        assert (await world.shown(world.ada))["status"] == status
        await Telling(world.app).tell_due()
        assert len(await world.told()) == 1
        await world.ago(601_000)
        assert "status" not in await world.shown(world.ada)
        await Telling(world.app).tell_due()
        assert [one["status"] for one in await world.told()] == [status, None]
        for bad in (NewStatus(), NewStatus(text="a" * 101), NewStatus("🌴", until=now_ms() - 1)):
            with pytest.raises(BadRequest):
                await world.profiles.set_status(world.ada, bad)


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP"])
async def test_a_picture_is_made_anew_as_squares_of_three_sizes(tmp_path: Path, kind: str) -> None:
    async with opened(tmp_path) as world:
        exif = Image.Exif()
        exif[0x010E] = "where I live"
        user = to_builtins(await world.avatars.set(world.ada, picture(kind=kind, exif=exif)))
        for size in SIZES:
            face = await world.avatars.get(world.ada.user.id, size)
            assert face.version == user["avatarVersion"]
            assert b"where I live" not in face.data
            with Image.open(io.BytesIO(face.data)) as shown:
                assert (shown.format, shown.size) == ("WEBP", (size, size))
                pixels: Any = shown.convert("RGB").load()
            red, blue = pixels[2, 2], pixels[size - 3, 2]
            assert red[0] > 200 > 60 > red[2]
            assert blue[2] > 200 > 60 > blue[0]
        [told] = await world.told()
        assert told["avatarVersion"] == user["avatarVersion"]
        await world.avatars.remove(world.ada)
        assert "avatarVersion" not in await world.shown(world.ada)
        with pytest.raises(NotFound):
            await world.avatars.get(world.ada.user.id, 64)


async def test_a_picture_of_sixteen_bits_a_pixel_is_seen_as_it_is(tmp_path: Path) -> None:
    grey = Image.new("I;16", (80, 80), 100 * 256)
    written = io.BytesIO()
    grey.save(written, "PNG")
    async with opened(tmp_path) as world:
        await world.avatars.set(world.ada, base64.b64encode(written.getvalue()).decode())
        face = await world.avatars.get(world.ada.user.id, 64)
    with Image.open(io.BytesIO(face.data)) as shown:
        pixels: Any = shown.convert("L").load()
    assert 90 < pixels[32, 32] < 110


async def test_what_is_no_picture_or_a_hostile_one_is_refused_and_the_face_stays(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        await world.avatars.set(world.ada, picture())
        before = await world.shown(world.ada)
        noise = random.Random(1).randbytes(5000)
        whole = base64.b64decode(picture(kind="JPEG"))
        bomb = io.BytesIO()
        Image.new("1", (20_000, 20_000)).save(bomb, "PNG")
        assert len(bomb.getvalue()) < MOST_BYTES
        for bad in (b"", b"\xff\xd8\xff" + noise, whole[: len(whole) // 2], bomb.getvalue(), b"<svg/>"):
            with pytest.raises(BadRequest):
                await world.avatars.set(world.ada, base64.b64encode(bad).decode())
        for text in ("not base64!", "A" * (3 * 1024 * 1024)):
            with pytest.raises(BadRequest):
                await world.avatars.set(world.ada, text)
        assert await world.shown(world.ada) == before


async def test_nothing_is_left_of_who_is_removed(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        await world.profiles.change(world.ada, ProfileChange(full_name="Augusta"))
        await world.profiles.change(world.bob, ProfileChange(full_name="Robert"))
        await world.avatars.set(world.bob, picture())
        async with world.app.storage.write() as tx:
            await world.app.accounts.users.remove_in(tx, world.bob.user)
        async with world.app.storage.read() as tx:
            for table in ("profiles", "profiles_avatars"):
                [(count,)] = await tx.fetch(
                    f"select count(*) from {table} where user_id = $1", world.bob.user.id
                )
                assert count == 0
        # Nor is it in the log, from which streams go on that were away.
        augusta, robert = await world.told()
        assert augusta["fullName"] == "Augusta"
        assert robert == {"id": world.bob.user.id, "userName": "bob"}
