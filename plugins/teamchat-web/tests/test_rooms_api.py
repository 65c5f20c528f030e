"""The endpoints of rooms, each asked once of a real server by the client's own methods."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Serve = Callable[..., Any]
Bench = Callable[..., Any]

PEOPLE = ("grace@example.org", "linus@example.org", "mary@example.org")

_ROOMS = """async () => {
  const { Rooms } = await bench.load("api/rooms.js");
  bench.rooms = new Rooms(bench.api);
}"""

_EVERY = """async ([grace, linus, mary]) => {
  const { rooms } = bench;
  const tried = {};
  tried.me = (await rooms.me()).role === "admin";
  const open = await rooms.add({ name: "open", topic: "for all", isDefault: false });
  tried.add = open.isMember && open.role === "manager" && open.topic === "for all";
  const key = crypto.randomUUID();
  const given = { name: "hidden", members: [grace] };
  const hidden = await rooms.addPrivate(given, key);
  tried.addPrivate = hidden.isPrivate && hidden.members.length === 2;
  tried.addPrivateTwice = (await rooms.addPrivate(given, key)).id === hidden.id;
  tried.channel = (await rooms.channel(hidden.id)).name === "hidden";
  tried.change = (await rooms.change(hidden.id, { topic: "a topic" })).topic === "a topic";
  tried.addMembers = (await rooms.addMembers(hidden.id, [grace, linus])).added.join() === linus;
  const pages = await rooms.members(hidden.id, { limit: 2 });
  tried.members = pages.members.length === 2 && pages.count === 3 && Boolean(pages.next);
  tried.allMembers = (await rooms.allMembers(hidden.id)).length === 3;
  tried.setRole = (await rooms.setRole(hidden.id, grace, "manager")).role === "manager";
  await rooms.removeMember(hidden.id, linus);
  tried.removeMember = (await rooms.members(hidden.id)).count === 2;
  tried.archive = (await rooms.archive(hidden.id)).isArchived;
  tried.unarchive = !(await rooms.unarchive(hidden.id)).isArchived;
  tried.setPrivacy = !(await rooms.setPrivacy(hidden.id, { isPrivate: false, history: "show" })).isPrivate;
  await rooms.leave(open.id);
  tried.leave = !(await rooms.channel(open.id)).isMember;
  tried.join = (await rooms.join(open.id)).isMember;
  const group = await rooms.openGroup([grace, linus]);
  tried.openGroup = group.isNew && group.channel.kind === "group";
  tried.addToGroup = (await rooms.addToGroup(group.channel.id, [mary])).memberCount === 4;
  tried.convertGroup = (await rooms.convertGroup(group.channel.id, "a name")).name === "a name";
  tried.openNotes = (await rooms.openNotes()).channel.kind === "notes";
  tried.setUserRole = (await rooms.setUserRole(mary, "admin")).isAdmin;
  await rooms.leave(open.id);
  tried.enter = (await rooms.enter(open.id, "to look after it")).role === "manager";
  tried.allChannels = (await rooms.allChannels()).channels.some(({ id }) => id === open.id);
  await rooms.remove(hidden.id);
  tried.remove = !(await rooms.allChannels()).channels.some(({ id }) => id === hidden.id);
  await rooms.removeAny(open.id);
  tried.removeAny = !(await rooms.allChannels()).channels.some(({ id }) => id === open.id);
  return tried;
}"""


def test_every_endpoint_of_rooms_is_asked_as_the_server_understands_it(serve: Serve, bench: Bench) -> None:
    server = serve()
    others = [user(server, email) for email in PEOPLE]
    at = bench(server)
    at.run(_ROOMS)
    assert "membership" in at.run("bench.rooms.capabilities()")
    tried = at.run(_EVERY, others)
    assert len(tried) > 20
    assert not [name for name, worked in tried.items() if worked is not True]


@pytest.mark.slow
@pytest.mark.parametrize("status", [404, 405])
def test_a_server_of_the_core_announces_nothing(serve: Serve, bench: Bench, status: int) -> None:
    at = bench(serve())
    at.run(_ROOMS)
    at.page.route("**/capabilities", lambda route: route.fulfill(status=status, json={"error": "Not here."}))
    assert at.run("bench.rooms.capabilities()") == {}


def user(server: Any, email: str) -> str:
    return str(server.post("/auth/dev-login", {"email": email})["user"]["id"])
