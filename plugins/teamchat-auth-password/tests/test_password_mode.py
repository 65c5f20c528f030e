"""Password mode over HTTP: which routes there are, and what they answer."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from teamchat_auth_password import TRAITS, PasswordMode, auth_modes, open_password

from teamchat import AuthMode, NoOptions, SignInTraits, Storage
from teamchat.accounts import Accounts
from teamchat.application import Application
from teamchat.settings import AuthSettings, EmailSettings, InitialUser, Settings
from teamchat.testing import AuthModeContract
from teamchat.web.app import create_app
from tests.storages import open_storage

EMAIL, PASSWORD = "bob@example.org", "correct horse battery"
CREDENTIALS = {"email": EMAIL, "password": PASSWORD}
ADMIN, NEW = InitialUser().email, "another password"


@pytest.fixture
async def storage(tmp_path: Path) -> AsyncIterator[Any]:
    async with open_storage(tmp_path) as storage:
        yield storage


def built(storage: Any, *, invites: bool = False, mail: bool = False) -> Any:
    email = EmailSettings(backend="files") if mail else None
    chosen = Settings(auth=AuthSettings(is_invite_required=invites), email=email)
    accounts = Accounts.build(storage, chosen.auth, b"s" * 32, has_mail=mail, sign_in=TRAITS)
    PasswordMode().check(chosen)
    return SimpleNamespace(
        settings=chosen, storage=storage, accounts=accounts, chat=None, hub=None, sign_in=TRAITS
    )


def client(storage: Any, **how: bool) -> Any:
    app = built(storage, **how)
    return create_app(app, [PasswordMode().routes(app)]).test_client()


async def mailed(storage: Any) -> list[dict[str, str]]:
    """Return what the links say that wait to be mailed to somebody."""
    async with storage.read() as tx:
        rows = await tx.fetch(
            """select l.id, l.purpose, l.email from mails m join links l on l.id = m.link_id
               where m.is_decoy = 0 order by l.id"""
        )
    links = built(storage, mail=True).accounts.links
    queries = [parse_qs(urlsplit(links.url(*row)).query) for row in rows]
    return [{name: value for name, [value] in query.items()} for query in queries]


async def admin(http: Any, storage: Any) -> dict[str, str]:
    """Return the header of an admin who is signed in."""
    accounts = built(storage).accounts
    await accounts.ensure_initial_user(InitialUser(password=PASSWORD))
    answer = await http.post("/auth/password-login", json={"email": ADMIN, "password": PASSWORD})
    return {"Authorization": f"Bearer {(await answer.get_json())['accessToken']}"}


async def status(client: Any, path: str, body: Any) -> int:
    answer = await client.post(path, json=body)
    if answer.status_code != 200:
        assert list(await answer.get_json()) == ["error"]
    code: int = answer.status_code
    return code


async def test_the_plugin_offers_password() -> None:
    [offer] = auth_modes()
    assert offer.name == "password"
    async with open_password(offer.options()) as mode:
        assert isinstance(mode, PasswordMode)


async def test_who_registers_is_signed_in_and_can_sign_in_again(storage: Any) -> None:
    http = client(storage)
    for path in ("/auth/register", "/auth/password-login"):
        answer = await http.post(path, json=CREDENTIALS)
        assert answer.status_code == 200
        body = await answer.get_json()
        assert set(body) == {"accessToken", "refreshToken", "exp", "tokenType"}
        assert (body["exp"], body["tokenType"]) == (900, "Bearer")
        me = await http.get("/auth/me", headers={"Authorization": f"Bearer {body['accessToken']}"})
        assert (await me.get_json())["user"]["email"] == EMAIL


async def test_registration_refuses_a_taken_email_and_a_short_password(storage: Any) -> None:
    http = client(storage)
    assert await status(http, "/auth/register", CREDENTIALS) == 200
    assert await status(http, "/auth/register", CREDENTIALS | {"email": EMAIL.upper()}) == 400
    assert await status(http, "/auth/register", {"email": "eve@example.org", "password": "1234567"}) == 400


async def test_there_is_no_registration_when_invites_are_required(storage: Any) -> None:
    assert await status(client(storage, invites=True), "/auth/register", CREDENTIALS) == 404


async def test_wrong_credentials_are_401_and_too_many_of_them_429(storage: Any) -> None:
    http = client(storage)
    wrong = CREDENTIALS | {"password": "wrong password"}
    assert [await status(http, "/auth/password-login", wrong) for _ in range(10)] == [401] * 10
    answer = await http.post("/auth/password-login", json=wrong)
    assert answer.status_code == 429
    assert 0 < int(answer.headers["Retry-After"]) <= 900


@pytest.mark.parametrize(
    "body", [{}, {"email": EMAIL}, {"password": PASSWORD}, CREDENTIALS | {"password": ["a"] * 8}, []]
)
async def test_d02_a_malformed_body_is_400(storage: Any, body: Any) -> None:
    http = client(storage)
    for path in ("/auth/password-login", "/auth/register"):
        assert await status(http, path, body) == 400


async def test_an_invited_user_sets_a_password_and_is_signed_in(storage: Any) -> None:
    http = client(storage, invites=True, mail=True)
    headers = await admin(http, storage)
    added = await http.post("/users/add", json={"email": EMAIL}, headers=headers)
    assert set(await added.get_json()) == {"success", "userId"}
    assert "token" not in str(await added.get_json())
    [link] = await mailed(storage)
    assert (link["email"], link["mode"]) == (EMAIL, "setup")
    body = {"email": EMAIL, "token": link["token"], "password": NEW}
    answer = await http.post("/auth/setup-password", json=body)
    assert answer.status_code == 200
    signed_in = await answer.get_json()
    assert set(signed_in) == {"accessToken", "refreshToken", "exp", "tokenType"}
    assert (signed_in["exp"], signed_in["tokenType"]) == (900, "Bearer")
    me = await http.get("/auth/me", headers={"Authorization": f"Bearer {signed_in['accessToken']}"})
    assert (await me.get_json())["user"]["email"] == EMAIL
    assert await status(http, "/auth/password-login", {"email": EMAIL, "password": NEW}) == 200
    assert await status(http, "/auth/setup-password", body) == 400, "the link is spent"


async def test_who_forgot_their_password_sets_another(storage: Any) -> None:
    http = client(storage, mail=True)
    await http.post("/auth/register", json=CREDENTIALS)
    assert await status(http, "/auth/request-password-reset", {"email": EMAIL}) == 200
    [link] = await mailed(storage)
    assert (link["email"], link["mode"]) == (EMAIL, "reset")
    body = {"email": EMAIL, "token": link["token"], "password": NEW}
    assert await status(http, "/auth/setup-password", body | {"password": "1234567"}) == 400
    assert await status(http, "/auth/setup-password", body) == 200, "a bad password does not burn the link"
    assert await status(http, "/auth/password-login", CREDENTIALS) == 401
    assert await status(http, "/auth/password-login", {"email": EMAIL, "password": NEW}) == 200


async def test_d16_whoever_asks_for_a_new_password_is_answered_the_same(storage: Any) -> None:
    http = client(storage, mail=True)
    await http.post("/auth/register", json=CREDENTIALS)
    without_mail = client(storage)
    bodies = set()
    for asked, email in ((http, EMAIL), (http, "nobody@example.org"), (without_mail, EMAIL)):
        answer = await asked.post("/auth/request-password-reset", json={"email": email})
        assert answer.status_code == 200
        bodies.add(await answer.get_data())
        body = await answer.get_json()
        assert body["success"] is True
        assert body["message"]
    assert len(bodies) == 1
    assert len(await mailed(storage)) == 1


async def test_the_token_may_stand_in_the_header_and_the_bodys_goes_first(storage: Any) -> None:
    http = client(storage, mail=True)
    await http.post("/auth/register", json=CREDENTIALS)

    async def set_up(header: str | None, **body: str) -> int:
        headers = {"Authorization": f"Bearer {header}"} if header else {}
        whole = {"email": EMAIL, "password": NEW} | body
        code: int = (await http.post("/auth/setup-password", json=whole, headers=headers)).status_code
        return code

    await http.post("/auth/request-password-reset", json={"email": EMAIL})
    [link] = await mailed(storage)
    assert await set_up(None) == 400
    assert await set_up(link["token"], token="wrong") == 400
    assert await set_up(link["token"], token="") == 400
    assert await set_up(link["token"]) == 200
    await http.post("/auth/request-password-reset", json={"email": EMAIL})
    [link] = await mailed(storage)
    assert await set_up("wrong", token=link["token"]) == 200


async def test_too_many_wrong_links_are_429(storage: Any) -> None:
    http = client(storage, mail=True)
    wrong = {"email": EMAIL, "token": "wrong", "password": NEW}
    assert [await status(http, "/auth/setup-password", wrong) for _ in range(10)] == [400] * 10
    answer = await http.post("/auth/setup-password", json=wrong)
    assert answer.status_code == 429
    assert 0 < int(answer.headers["Retry-After"]) <= 900


@pytest.mark.parametrize("body", [{}, {"email": 7}, {"email": "bob"}, {"email": None}, []])
async def test_d02_a_malformed_request_for_a_new_password_is_400(storage: Any, body: Any) -> None:
    assert await status(client(storage, mail=True), "/auth/request-password-reset", body) == 400


@pytest.mark.parametrize("broken", [{"email": None}, {"token": 7}, {"token": None}, {"password": ["a"] * 8}])
async def test_d02_a_malformed_new_password_is_400(storage: Any, broken: Any) -> None:
    whole = {"email": EMAIL, "token": "a-token", "password": NEW}
    http = client(storage, mail=True)
    assert await status(http, "/auth/setup-password", whole | broken) == 400
    [name] = broken
    del whole[name]
    assert await status(http, "/auth/setup-password", whole) == 400


class TestPasswordMode(AuthModeContract):
    def open_storage(self, directory: Path) -> AbstractAsyncContextManager[Storage]:
        return open_storage(directory)

    def settings(self) -> Settings:
        return Settings(auth=AuthSettings(is_invite_required=False))

    def traits(self) -> SignInTraits:
        return TRAITS

    def open_mode(self) -> AbstractAsyncContextManager[AuthMode]:
        return open_password(NoOptions())

    async def sign_in(self, app: Application, client: Any) -> str:
        answer = await client.post("/auth/register", json=CREDENTIALS)
        token: str = (await answer.get_json())["accessToken"]
        return token
