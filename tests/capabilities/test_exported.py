"""What capabilities export is theirs to take in again, wherever it fits; what does not fit is told."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Sequence
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct
from teamchat_pins import PINS
from teamchat_pins.pins import Pins

from teamchat import Capability, ExportPart, Imported
from teamchat.chat import Draft, membership
from teamchat.errors import OperatorError, PluginError, StorageError
from teamchat.operations.import_export.bringing_in import Wishes, bring_in
from teamchat.operations.import_export.exporting import export_to
from teamchat.operations.installation import Installation
from teamchat.storage.capability_tables import CapabilityTables
from teamchat.testing import exports
from tests.capabilities.serving import Served, served
from tests.capabilities.test_tables import FIRST, SECOND
from tests.operations.conftest import configure
from tests.storages import storage_section

RECORDS = Path("capabilities") / "pins.jsonl"


async def pinned(here: Served, count: int = 1) -> tuple[str, list[str]]:
    """Post and pin messages in the first channel; return its id and theirs."""
    ada = await here.caller()
    [channel, *_] = await here.app.chat.channels.list(ada)
    ids = [(await here.app.chat.messages.post(ada, channel.id, Draft(str(n)))).id for n in range(count)]
    for one in ids:
        await Pins(here.app).pin(ada, one)
    return channel.id, ids


async def pins_in(here: Served, channel: str) -> list[str]:
    return [one.id for one in await Pins(here.app).of_channel(await here.caller(), channel)]


async def test_pins_of_an_export_and_those_that_are_here_stand_in_the_order_of_their_times(
    tmp_path: Path,
) -> None:
    async with served(tmp_path / "one", PINS) as here:
        _, [older, *_] = await pinned(here, 2)
        await exports.export(here.app, tmp_path / "out")
    file = tmp_path / "out" / RECORDS
    first, second = map(json.loads, file.read_text().splitlines())
    file.write_text(json.dumps(first) + "\n" + json.dumps(second | {"pinnedAt": 2**47}) + "\n")
    async with served(tmp_path / "two", PINS) as here:
        channel, [here_before] = await pinned(here)
        said = await exports.bring_in(here.app, tmp_path / "out")
        again = await exports.bring_in(here.app, tmp_path / "out")
        assert await pins_in(here, channel) == [second["messageId"], here_before, older]
    assert "2 pins" in said[0]
    assert "0 messages" in again[0]
    assert "pins" not in again[0]
    assert "2 pins" in again[1]


async def test_no_place_has_more_pins_than_it_may_have(tmp_path: Path) -> None:
    async with served(tmp_path / "one", PINS) as here:
        await pinned(here, 60)
        await exports.export(here.app, tmp_path / "out")
    async with served(tmp_path / "two", PINS) as here:
        channel, _ = await pinned(here, 60)
        said = await exports.bring_in(here.app, tmp_path / "out")
        assert len(await pins_in(here, channel)) == 100
    assert "Left out: 20 × record of pins (a place has 100 at most)" in said


async def test_a_record_can_pin_nothing_in_a_room_that_is_not_the_exports(tmp_path: Path) -> None:
    async with served(tmp_path / "one", PINS) as here:
        channel, _ = await pinned(here)
        await exports.export(here.app, tmp_path / "out")
    async with served(tmp_path / "two", PINS) as here:
        ada = await here.caller()
        secret = await here.app.chat.channels.create(ada, "Secret")
        message = await here.app.chat.messages.post(ada, secret.id, Draft("between us"))
        async with here.app.storage.write() as tx:
            await membership.change(tx, secret.id, is_private=True)
        file = tmp_path / "out" / RECORDS
        record = json.loads(file.read_text())
        for room in (channel, secret.id):
            file.write_text(json.dumps(record | {"messageId": message.id, "channelId": room}))
            said = await exports.bring_in(here.app, tmp_path / "out")
            assert "Left out: 1 × record of pins (its message was left out)" in said
        assert await pins_in(here, secret.id) == []


@pytest.mark.parametrize(
    ("record", "words"),
    [
        ({"pinnedAt": -1}, r"capabilities/pins\.jsonl, line 1, is no record of capabilities/pins"),
        ({"messageId": 7}, r"line 1, is no record"),
        ({"pinnedBy": "a\0b"}, None),
    ],
)
async def test_what_is_no_record_is_named_and_what_cannot_be_stored_left_out(
    tmp_path: Path, record: dict[str, Any], words: str | None
) -> None:
    async with served(tmp_path / "one", PINS) as here:
        await pinned(here)
        await exports.export(here.app, tmp_path / "out")
    file = tmp_path / "out" / RECORDS
    file.write_text(json.dumps(json.loads(file.read_text()) | record))
    async with served(tmp_path / "two", PINS) as here:
        if words is None:
            said = await exports.bring_in(here.app, tmp_path / "out")
            assert "Left out: 1 × record of pins (its text can't be stored (NUL or a lone surrogate))" in said
        else:
            with pytest.raises(OperatorError, match=words):
                await exports.bring_in(here.app, tmp_path / "out")


async def test_records_that_nobody_here_takes_are_told_and_can_be_brought_in_later(tmp_path: Path) -> None:
    async with served(tmp_path / "one", PINS) as here:
        await pinned(here)
        await exports.export(here.app, tmp_path / "out")
    head = tmp_path / "out" / "export.json"
    later = json.loads(head.read_text())
    told = "Left out: 1 × capability (not on here, or a later version of it)"
    async with served(tmp_path / "two") as here:
        assert told in await exports.bring_in(here.app, tmp_path / "out")
    async with served(tmp_path / "two", PINS) as here:
        later["capabilities"]["pins"]["version"] = 2
        head.write_text(json.dumps(later))
        assert told in await exports.bring_in(here.app, tmp_path / "out")
        later["capabilities"]["pins"]["version"] = 1
        head.write_text(json.dumps(later))
        said = await exports.bring_in(here.app, tmp_path / "out")
        assert told not in said
        assert "1 pins" in said[0]


async def test_a_name_that_leads_elsewhere_is_no_capabilitys(tmp_path: Path) -> None:
    async with served(tmp_path / "one", PINS) as here:
        await exports.export(here.app, tmp_path / "out")
        (tmp_path / "elsewhere.jsonl").write_text("{}\n")
        (tmp_path / "out" / RECORDS).unlink()
        (tmp_path / "out" / RECORDS).symlink_to(tmp_path / "elsewhere.jsonl")
        with pytest.raises(OperatorError, match="leads out of the export"):
            await exports.bring_in(here.app, tmp_path / "out")


class Failing(ExportPart):
    """Fails, with what somebody wrote in its hands."""

    class record(Struct):  # noqa: N801
        text: str = "s3ntinel"

    async def write(self, tx: Any) -> AsyncGenerator[Sequence[Struct], None]:
        yield [self.record()]

    async def take(self, tx: Any, records: Sequence[Any], imported: Imported) -> None:
        raise ValueError("s3ntinel")


class FailingToWrite(Failing):
    async def write(self, tx: Any) -> AsyncGenerator[Sequence[Struct], None]:
        raise ValueError("s3ntinel")
        yield []


@pytest.mark.parametrize(("part", "what"), [(Failing(), "take in"), (FailingToWrite(), "write")])
async def test_a_part_that_fails_names_its_plugin_and_nothing_that_somebody_wrote(
    tmp_path: Path, part: ExportPart, what: str
) -> None:
    polls = Capability(name="polls", export=part)
    async with served(tmp_path / "one", polls) as here:

        async def there_and_back() -> None:
            await exports.export(here.app, tmp_path / "out")
            await exports.bring_in(here.app, tmp_path / "out")

        with pytest.raises(PluginError, match=f"polls of the plugin acme .* failed to {what}") as raised:
            await there_and_back()
    assert "s3ntinel" not in str(raised.value)


def installation(directory: Path, **sections: Any) -> Installation:
    return Installation.load(
        configure(directory / "config.json", storage=storage_section(directory / "data"), **sections), {}
    )


async def test_an_export_tells_what_is_kept_here_and_not_in_it(tmp_path: Path) -> None:
    async with served(tmp_path, PINS) as here:
        await pinned(here)
    off = installation(tmp_path, pins={"enabled": False})
    said = await export_to(off, tmp_path / "without")
    assert said[1:] == [
        "What is kept for pins is not in the export: no capability that is on exports it. A backup has it."
    ]
    [said_of_all] = await export_to(installation(tmp_path), tmp_path / "with")
    assert said_of_all.endswith(", 1 pins")
    assert len(exports.records(tmp_path / "with", "pins")) == 1


async def test_tables_that_are_not_upgraded_yet_are_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = Capability(name="polls", tables=(FIRST,), export=Failing())
    async with served(tmp_path, old) as here:
        await exports.export(here.app, tmp_path / "out")
    newer = CapabilityTables("polls", (FIRST, SECOND), 'the plugin "acme"')
    one = installation(tmp_path)
    capabilities = one.capabilities()
    monkeypatch.setattr(type(capabilities), "tables", [newer])
    with pytest.raises(StorageError, match=r"tables of the capability polls are older .* teamchat upgrade"):
        await export_to(one, tmp_path / "again")


async def test_an_import_needs_the_tables(tmp_path: Path) -> None:
    async with served(tmp_path / "one", PINS) as here:
        await pinned(here)
        await exports.export(here.app, tmp_path / "out")
    async with served(tmp_path / "two"):
        pass
    with pytest.raises(StorageError, match=r"tables of the capability pins are older .* teamchat upgrade"):
        await bring_in(installation(tmp_path / "two"), tmp_path / "out", Wishes())
