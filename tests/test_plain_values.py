"""What plugins hand over may be of subclasses; the core keeps and sends plain values (`text.plain`)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
import trio
from markupsafe import Markup
from teamchat_auth_oauth.providers import configured
from teamchat_auth_oauth.sign_in import _checked

from teamchat import BadRequest, Posting
from teamchat.accounts.mails import _written
from teamchat.chat import Chat, Draft
from teamchat.errors import OAuthFailed
from teamchat.interfaces import OAuthProvider, Profile
from teamchat.model import text
from teamchat.server.listeners import Listeners
from teamchat.settings import load
from tests.chat.conftest import MAX_LENGTH, MemoryImages, World
from tests.storages import open_storage


class Stubborn(str):
    """A text that is never plain by itself."""

    def __str__(self) -> str:
        return self

    def strip(self, *_: Any) -> Stubborn:  # type: ignore[override]
        return self


KINDS = [Markup, Stubborn]


def is_plain(value: object) -> bool:
    return type(value) is str


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "accepted",
    [
        lambda given: text.plain(given),
        lambda given: text.storable("field", given),
        lambda given: text.content(given, most=100),
        lambda given: text.name("field", given),
        lambda given: text.reaction(given),
        lambda given: text.email(given),
    ],
)
def test_every_accepted_text_is_plain(kind: type[str], accepted: Any) -> None:
    kept = accepted(kind("a@<b>.example"))
    assert is_plain(kept)
    assert kept == "a@<b>.example"


def test_what_is_no_text_is_refused() -> None:
    with pytest.raises(TypeError):
        text.plain(b"text")  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", KINDS)
async def test_a_filter_may_return_any_text(tmp_path: Path, kind: type[str]) -> None:
    class Marking:
        name = kind("marking")

        async def filter(self, posting: Posting) -> str:
            return kind(posting.content + "<b>")

    class Refusing:
        name = "refusing"

        async def filter(self, posting: Posting) -> str:
            raise BadRequest(kind("not <b>here"))

    async with open_storage(tmp_path) as storage:
        images = MemoryImages()
        world = World(storage, Chat.build(storage, images, MAX_LENGTH), images)
        ada = await world.user("Ada", is_admin=True)
        channel = (await world.chat.channels.create(ada, "c")).id
        world.chat.filters.use([Marking()])
        posted = await world.chat.messages.post(ada, channel, Draft("hello"))
        edited = await world.chat.messages.edit(ada, posted.id, Draft("again"))
        replied = await world.chat.threads.reply(ada, posted.id, Draft("hello"), "key")
        for message in (posted, edited, replied.reply):
            assert is_plain(message.content)
            assert message.content.endswith("<b>")
            msgspec.json.encode(message)
        world.chat.filters.use([Refusing()])
        with pytest.raises(BadRequest) as refused:
            await world.chat.messages.post(ada, channel, Draft("hello"))
        assert is_plain(refused.value.sentence)
        assert [is_plain(argument) for argument in refused.value.args] == [True]


@pytest.mark.parametrize("kind", KINDS)
def test_a_template_may_return_any_text(kind: type[str]) -> None:
    written = _written(lambda link, minutes: kind(f"<a>{link}</a>"), "htmlVersion", "https://a.example", 1)
    assert is_plain(written)
    assert written == "<a>https://a.example</a>"


@pytest.mark.parametrize("kind", KINDS)
def test_a_profile_may_hold_any_text(kind: type[str]) -> None:
    profile = _checked(Profile(kind("me"), kind("me@example.org")))
    assert (profile.subject, profile.email) == ("me", "me@example.org")
    assert is_plain(profile.subject)
    assert is_plain(profile.email)


@pytest.mark.parametrize("profile", [Profile(7, "me@example.org"), Profile("me", None)])  # type: ignore[arg-type]
def test_a_profile_that_holds_no_text_fails_the_sign_in(profile: Profile) -> None:
    with pytest.raises(OAuthFailed):
        _checked(profile)


@pytest.mark.parametrize("kind", KINDS)
def test_a_provider_may_be_told_with_any_text(kind: type[str]) -> None:
    async def profile(_: Any) -> Profile:
        return Profile("me", "me@example.org")

    addresses = [kind(f"https://idp.example/{{tenant}}/{name}?a&b") for name in ("authorize", "token", "me")]
    provider = OAuthProvider(kind("google"), kind("Example & Co"), *addresses, kind("openid email"), profile)
    settings = load(
        environ={
            "TEAMCHAT_OAUTH__PRESETS": '{"google": {"clientId": "id", "clientSecret": "secret"}}',
            "TEAMCHAT_AUTH__APPURL": "https://chat.example.org",
        }
    )
    [found] = configured(settings, lambda _: provider)
    shown = found.provider
    assert shown.name == "Example & Co"
    assert shown.authorization_url == "https://idp.example/common/authorize?a&b"
    assert all(
        is_plain(value)
        for value in (shown.id, shown.name, shown.authorization_url, shown.token_url, shown.user_info_url)
    )


@pytest.mark.parametrize("kind", KINDS)
async def test_a_listener_may_have_any_text_for_a_name(tmp_path: Path, kind: type[str]) -> None:
    class Deaf:
        name = kind("deaf")

        async def hear(self, event: Any) -> None:
            pass

    async with open_storage(tmp_path) as storage:
        async with trio.open_nursery() as nursery:
            await nursery.start(Listeners(storage, [Deaf()]).run)
            with trio.fail_after(10):
                kept: list[Any] = []
                while not kept:
                    async with storage.read() as tx:
                        kept = await tx.fetch("select name from listeners")
                    await trio.lowlevel.checkpoint()
            nursery.cancel_scope.cancel()
        assert kept == [("deaf",)]
