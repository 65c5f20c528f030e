"""What a new signing secret ends, and what goes on under it (decisions D-09 to D-11, D-15)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from teamchat_auth_magic_link.rules import MagicLinks

from teamchat.accounts import Accounts
from teamchat.errors import BadRequest, Unauthorized
from teamchat.interfaces import Storage
from teamchat.plugins import Plugins
from teamchat.settings import AuthSettings, InitialUser
from tests.storages import open_storage

EMAIL = "ada@example.org"
AUTH = AuthSettings(auth_mode="magic-link", is_invite_required=False)


def accounts(storage: Storage, name: str) -> Accounts:
    secret = f"the {name} secret of the tests, long enough".encode()
    return Accounts.build(storage, AUTH, secret, has_mail=True)


@pytest.fixture
async def storage(tmp_path: Path) -> AsyncIterator[Storage]:
    async with open_storage(tmp_path) as opened:
        await accounts(opened, "old").ensure_initial_user(InitialUser("Ada", EMAIL))
        yield opened


async def changed(storage: Storage) -> Accounts:
    """Return the accounts of a server that found another secret."""
    new = accounts(storage, "new")
    async with storage.write() as tx:
        await new.renew_in(tx)
        await Plugins.load().secret_changed_in(tx)
    return new


async def test_access_tokens_end_and_sessions_go_on(storage: Storage) -> None:
    _, signed_in = await accounts(storage, "old").sign_in(EMAIL, "192.0.2.1", "tests")
    new = await changed(storage)
    with pytest.raises(Unauthorized):
        await new.authenticate(signed_in.access_token)
    pair = await new.sessions.refresh(signed_in.refresh_token)
    assert (await new.authenticate(pair.access_token)).user.email == EMAIL


async def test_a_mail_that_waited_for_its_sender_carries_a_link_that_works(storage: Storage) -> None:
    old = accounts(storage, "old")
    await MagicLinks(old).request(EMAIL, "192.0.2.1")
    new = await changed(storage)
    [mail] = await new.outbox.claim(1)
    tokens = [
        parse_qs(urlsplit(one.links.url(mail.link_id, mail.purpose, mail.email)).query)["token"][0]
        for one in (old, new)
    ]
    with pytest.raises(BadRequest):
        await new.links.check(["magic"], EMAIL, tokens[0])
    assert (await new.links.check(["magic"], EMAIL, tokens[1])).email == EMAIL


async def test_a_link_that_was_mailed_before_works(storage: Storage) -> None:
    old = accounts(storage, "old")
    await MagicLinks(old).request(EMAIL, "192.0.2.1")
    [mail] = await old.outbox.claim(1)
    await old.outbox.sent(mail)
    token = parse_qs(urlsplit(old.links.url(mail.link_id, mail.purpose, mail.email)).query)["token"][0]
    new = await changed(storage)
    assert (await new.links.check(["magic"], EMAIL, token)).email == EMAIL


async def test_sign_ins_under_way_at_a_provider_begin_again(storage: Storage) -> None:
    async with storage.write() as tx:
        await tx.fetch("insert into oauth_states values ('hash', 'acme', '192.0.2.1', 'browser', 0)")
    await changed(storage)
    async with storage.read() as tx:
        assert await tx.fetch("select 1 from oauth_states") == []
