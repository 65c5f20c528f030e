"""What the model knows of rooms, kept true by events: who is in them, what they are, and their loss."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .rooms import Rooms

Open = Callable[..., Any]
GRACE = "grace@example.org"
CHANNEL = "(id) => bench.model.channels.get(id) ?? null"
TITLES = "bench.model.sortedChannels().map(({ name }) => name).join()"
DIRECT = "bench.model.sortedDirect().map(({ title }) => title).join(' | ')"
KEPT = "Object.entries(localStorage).flat().join(' ')"


def test_a_private_channel_comes_with_its_members_and_goes_with_all_that_is_known_of_it(
    house: Rooms, bench: Open
) -> None:
    at = bench(house.server, GRACE)
    room = house.private("the hidden one", "grace")
    known = at.until(CHANNEL, room)
    told = {name: known[name] for name in ("isPrivate", "isMember", "role", "memberCount")}
    assert told == {"isPrivate": True, "isMember": True, "role": "member", "memberCount": 2}
    called = {"title": "the hidden one", "label": "#the hidden one"}
    assert at.run("(id) => bench.model.place(id)", room) == called | {
        "kind": "channel",
        "id": room,
        "type": "private",
    }
    house.ask("ada", "PUT", f"/channels/{room}/members/{house.ids['grace']}", {"role": "manager"})
    at.until(f"({CHANNEL})('{room}').role === 'manager'")
    house.ask("ada", "POST", f"/channels/{room}/members", {"userIds": [house.ids["linus"]]})
    at.until(f"({CHANNEL})('{room}').memberCount === 3")
    parent = house.say(room, "a secret")
    at.until("(id) => bench.model.unread.count(id) === 1", room)
    at.run("(id) => { bench.lost = []; bench.model.on('lost', (gone) => bench.lost.push(gone.id)); }", room)
    at.run(
        """async ([id, parent]) => {
          const place = { kind: "channel", id };
          bench.seen = bench.model.timeline(place);
          await bench.seen.load();
          bench.thread = bench.model.thread(parent, place);
          bench.model.drafts.set(place, null, "half a sentence");
          bench.model.drafts.set(place, parent, "half a reply");
        }""",
        [room, parent],
    )
    assert "half a sentence" in at.run(KEPT)
    house.remove(room, "grace")
    at.until("() => bench.lost.length === 1")
    assert at.run(CHANNEL, room) is None
    assert at.run("bench.seen.items.length + bench.model.unread.total().unread") == 0
    assert at.run("bench.seen.isGone && bench.thread.isGone && bench.thread.parent === null")
    at.until("(id) => !Object.entries(localStorage).flat().join(' ').includes(id)", room)
    kept = at.run(KEPT)
    assert not [words for words in ("the hidden one", "half a") if words in kept]
    assert at.run("(id) => bench.model.timeline({ kind: 'channel', id }) !== bench.seen", room)
