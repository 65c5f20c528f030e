"""What the server can do is announced, what is off is not, and what can't be ends the start with a reason."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from teamchat import Capability, Changes, Migration, Parts, Payload, SettingsError
from teamchat.errors import PluginError
from teamchat.settings import PluginsSettings
from teamchat.web import Section
from tests.capabilities.serving import plugins_with, served

OWN = {
    name: {"version": 1}
    for name in (
        *("archive", "audit", "deactivation", "groups", "membership", "message-context", "notes"),
        *("private-channels", "roles"),
    )
}


class Nameless(Payload, frozen=True):
    room_id: str


def with_parts(**parts: Any) -> Capability:
    return Capability(name="polls", parts=lambda app, options: Parts(**parts))


LIMITED = Capability(name="polls", version=2, parts=lambda app, options: Parts(limits={"options": 10}))


async def test_a1_a4_name_version_and_limits_are_announced(tmp_path: Path) -> None:
    async with served(tmp_path, LIMITED, Capability(name="org.example.more")) as here:
        answer = await here.anybody.call("GET", "/capabilities")
    assert answer.json() == {
        "capabilities": OWN | {"org.example.more": {"version": 1}, "polls": {"version": 2, "options": 10}},
        "links": {"openapi": "/openapi.json"},
    }


async def test_a_server_without_plugins_announces_what_is_in_the_chat_itself(tmp_path: Path) -> None:
    async with served(tmp_path) as here:
        answer = await here.anybody.call("GET", "/capabilities")
        assert answer.json()["capabilities"] == OWN


async def test_a2_it_is_sent_again_only_if_it_is_another(tmp_path: Path) -> None:
    async with served(tmp_path, LIMITED) as here:
        first = await here.anybody.call("GET", "/capabilities")
        etag = first.headers["etag"]
        again = await here.anybody.call(
            "GET", "/capabilities", headers=[("If-None-Match", f'W/"other", {etag}')]
        )
        other = await here.anybody.call("GET", "/capabilities", headers=[("If-None-Match", '"other"')])
    assert first.headers["cache-control"] == again.headers["cache-control"] == "no-cache"
    assert (again.status, again.body, again.headers["etag"]) == (304, b"", etag)
    assert other.status == 200
    async with served(tmp_path, Capability(name="polls")) as here:
        assert (await here.anybody.call("GET", "/capabilities")).headers["etag"] != etag


async def test_it_can_be_read_by_a_page_of_another_origin_before_sign_in(tmp_path: Path) -> None:
    async with served(tmp_path, LIMITED) as here:
        origin = here.app.settings.auth.app_url.rstrip("/")
        answer = await here.anybody.call("GET", "/capabilities", headers=[("Origin", origin)])
    assert answer.headers["access-control-allow-origin"] == origin
    assert "ETag" in answer.headers["access-control-expose-headers"]


async def test_a1_what_is_configured_off_is_absent(tmp_path: Path) -> None:
    async with served(tmp_path, LIMITED, enabled=False) as here:
        answer = await here.anybody.call("GET", "/capabilities")
        assert answer.json()["capabilities"] == OWN
        assert not here.app.capabilities.taken


async def test_me_tells_role_and_rights_and_where_the_log_is(tmp_path: Path) -> None:
    async def may(_tx: Any, caller: Any) -> list[str]:
        return ["make-polls", "end-polls"] if caller.user.is_admin else ["make-polls"]

    polls = Capability(name="polls", parts=lambda app, options: Parts(may=may))
    async with served(tmp_path, polls) as here:
        told = (await (await here.user()).call("GET", "/me")).json()
        somebody = await here.user("somebody@example.org")
        users = (await somebody.call("GET", "/me")).json()
        _, last = await here.app.storage.log_bounds()
    assert set(told) == {"user", "role", "may", "asOf", "hasPassword"}
    assert (told["user"]["email"], told["role"]) == ("admin@localhost", "admin")
    assert told["may"] == [
        *("create-channels", "create-private-channels", "end-polls", "enter-channels", "make-polls")
    ]
    assert (users["role"], users["asOf"], users["hasPassword"]) == ("user", str(last), False)
    assert users["may"] == ["create-private-channels", "make-polls"]


async def test_me_is_for_who_is_signed_in(tmp_path: Path) -> None:
    async with served(tmp_path) as here:
        assert (await here.anybody.call("GET", "/me")).status == 401


async def test_a3_a_dependency_that_is_missing_ends_the_start_with_both_names(tmp_path: Path) -> None:
    with pytest.raises(PluginError, match=r"capability b of the plugin acme .* needs a, which no active"):
        async with served(tmp_path, Capability(name="b", needs=["a"])):
            pass
    async with served(tmp_path, Capability(name="b", needs=["a"]), Capability(name="a")):
        pass


@pytest.mark.parametrize(
    ("offer", "words"),
    [
        (Capability(name="Polls"), "is not of small letters"),
        (Capability(name="polls", version=0), "is not a whole number"),
        (Capability(name="polls", options=dict), "no subclass of teamchat.Options"),  # type: ignore[arg-type]
        (Capability(name="polls", client="nowhere"), "has no file main.js"),
        (
            Capability(name="polls", client="wrong_words"),
            "en.json of polls is no JSON object of words",
        ),
        (Capability(name="polls", parts=lambda app, options: None), "returned NoneType"),  # type: ignore[arg-type,return-value]
        (Capability(name="polls", parts=lambda app, options: 1 / 0), "raised ZeroDivisionError at"),  # type: ignore[arg-type,return-value]
        (
            Capability(name="polls", parts=lambda app, options: Parts(limits={"version": 2})),
            "none called version",
        ),
        ("polls", "without a name"),
        (Capability(name="polls", needs="pins"), "the needs of its capability polls must be a list"),
        (Capability(name="polls", events=Nameless), "the events of its capability polls must be a list"),  # type: ignore[arg-type]
        (with_parts(routes=Section("polls")), "can't be used: routes must be a list"),
        (with_parts(limits=None), "limits must be a dict"),
        (with_parts(changes=Changes), "changes must be an object of Changes"),
        (with_parts(message_fields=(Nameless, None)), "message_fields must be an object of MessageFields"),
        (with_parts(jobs=[lambda: None]), "jobs must be async functions"),
        (with_parts(services=[object()]), "services has one which has no method run"),
    ],
)
async def test_an_offer_that_cannot_be_taken_is_told_with_its_plugin(
    tmp_path: Path, offer: Any, words: str
) -> None:
    with pytest.raises(PluginError, match=words) as caught:
        async with served(tmp_path, offer):
            pass
    assert 'plugins.disabled = ["acme"]' in str(caught.value)


async def test_two_capabilities_of_one_name_clash(tmp_path: Path) -> None:
    with pytest.raises(PluginError, match='returned "polls" twice'):
        plugins_with(LIMITED, LIMITED).capabilities(PluginsSettings())


TABLE = "create table acme_polls (id text primary key) {table_end}"


class OfNoField(Payload, frozen=True):
    type = "acme.polls.opened"
    changes_pages_of = "room"
    room_id: str


@pytest.mark.parametrize(
    ("offers", "words"),
    [
        ([Capability(name="archive")], r"capability archive of .* has a name of teamchat's own"),
        (
            [Capability(name="acme.polls", events=[Nameless])],
            "declares the event Nameless, which has no type",
        ),
        ([Capability(name="acme.polls", events=[OfNoField])], "whose changes_pages_of names no field of it"),
        (
            [Capability(name=name, tables=[Migration(1, (TABLE,))]) for name in ("acme-polls", "acme.polls")],
            r"tables of the capabilities acme-polls of .* and acme\.polls of .* would have the same names",
        ),
    ],
)
async def test_what_is_somebody_elses_or_means_nothing_ends_the_start(
    tmp_path: Path, offers: Sequence[Capability], words: str
) -> None:
    with pytest.raises(PluginError, match=words):
        async with served(tmp_path, *offers):
            pass


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ("credentials", object()),
        ("notices", object()),
        ("second_step", object()),
        ("message_tests", {"has:poll": object()}),
    ],
)
async def test_two_that_bring_what_one_alone_may_end_the_start(
    tmp_path: Path, part: str, value: object
) -> None:
    offers = [
        Capability(name=name, parts=lambda app, options: Parts(**{part: value}))  # type: ignore[arg-type]
        for name in ("acme.polls", "acme.votes")
    ]
    with pytest.raises(PluginError, match=r"acme\.polls of .* and acme\.votes of .* both bring"):
        async with served(tmp_path, *offers):
            pass


async def test_a_wrong_key_in_the_table_is_told_by_its_name(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"plugins\.acme\.enabeld is not a key .* Did you mean enabled"):
        async with served(tmp_path, LIMITED, enabeld=True):
            pass


async def test_the_folder_for_the_web_client_is_handed_on_by_name(tmp_path: Path) -> None:
    offers = [Capability(name=name, client="client") for name in ("polls", "games")]
    async with served(tmp_path, *offers, Capability(name="more")) as here:
        found = here.app.client_folders
    assert [name for name, _ in found] == ["games", "polls"]
    assert all(folder.joinpath("main.js").is_file() for _, folder in found)
