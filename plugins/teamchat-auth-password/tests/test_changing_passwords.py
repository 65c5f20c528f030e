"""Changing one's own password over HTTP, and having to (decision D-43)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from teamchat_auth_password import TRAITS, PasswordMode

from teamchat.accounts import Accounts
from teamchat.capabilities import Capabilities
from teamchat.settings import AuthSettings, InitialUser, Settings
from teamchat.web.app import create_app
from tests.storages import open_storage

EMAIL, PASSWORD, NEW = "bob@example.org", "correct horse battery", "another password"
CREDENTIALS = {"email": EMAIL, "password": PASSWORD}
CHANGE = {"password": PASSWORD, "newPassword": NEW}
MUST = {"must_change_set_passwords": True}


class Client:
    """A client of a server in password mode."""

    def __init__(self, storage: Any, **auth: Any) -> None:
        settings = Settings(auth=AuthSettings(is_invite_required=False, **auth))
        self.accounts = Accounts.build(storage, settings.auth, b"s" * 32)
        self.app: Any = SimpleNamespace(
            settings=settings,
            storage=storage,
            accounts=self.accounts,
            chat=SimpleNamespace(may=lambda caller: []),
            capabilities=Capabilities(),
            hub=None,
            sign_in=TRAITS,
        )
        self._http = create_app(self.app, [PasswordMode().routes(self.app)]).test_client()

    async def call(self, method: str, path: str, body: Any = None, token: str = "") -> tuple[int, Any]:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        answer = await self._http.open(path, method=method, json=body, headers=headers)
        return answer.status_code, await answer.get_json()

    async def sign_in(self, email: str = EMAIL, password: str = PASSWORD) -> dict[str, Any]:
        status, signed_in = await self.call(
            "POST", "/auth/password-login", {"email": email, "password": password}
        )
        assert status == 200, signed_in
        return dict(signed_in)

    async def register(self) -> dict[str, Any]:
        return dict((await self.call("POST", "/auth/register", CREDENTIALS))[1])

    async def admin(self) -> str:
        """Return the access token of an admin."""
        await self.accounts.ensure_initial_user(InitialUser(password=PASSWORD))
        return str((await self.sign_in(InitialUser().email))["accessToken"])

    async def added(self) -> dict[str, Any]:
        """Sign in as a user whom an admin gave a password."""
        assert (await self.call("POST", "/users/add", CREDENTIALS, await self.admin()))[0] == 200
        return await self.sign_in()


@pytest.fixture
async def storage(tmp_path: Path) -> AsyncIterator[Any]:
    async with open_storage(tmp_path) as storage:
        yield storage


async def test_d43_a_user_changes_their_password_and_their_other_sessions_end(storage: Any) -> None:
    client = Client(storage)
    other, present = await client.register(), await client.sign_in()
    token = present["accessToken"]
    assert await client.call("PUT", "/auth/password", CHANGE, token) == (200, {"success": True})
    assert (await client.call("GET", "/auth/me", token=token))[0] == 200
    refreshed = await client.call("POST", "/auth/refresh", {"refreshToken": present["refreshToken"]})
    assert refreshed[0] == 200
    assert (await client.call("GET", "/auth/me", token=other["accessToken"]))[0] == 401
    ended = await client.call("POST", "/auth/refresh", {"refreshToken": other["refreshToken"]})
    assert ended[0] == 401
    assert (await client.call("POST", "/auth/password-login", CREDENTIALS))[0] == 401
    await client.sign_in(password=NEW)


async def test_d43_a_wrong_password_is_401_and_too_many_are_429(storage: Any) -> None:
    client = Client(storage)
    token = (await client.register())["accessToken"]
    wrong = CHANGE | {"password": "wrong password"}
    answers = [await client.call("PUT", "/auth/password", wrong, token) for _ in range(11)]
    assert [status for status, _ in answers] == [401] * 10 + [429]
    assert all(list(body) == ["error"] for _, body in answers)
    assert (await client.call("PUT", "/auth/password", CHANGE, token))[0] == 429, "the right one, too"
    assert (await client.call("POST", "/auth/password-login", CREDENTIALS))[0] == 429, "one limit for both"


async def test_d43_failed_sign_ins_count_for_changing_too(storage: Any) -> None:
    client = Client(storage)
    token = (await client.register())["accessToken"]
    for _ in range(10):
        await client.call("POST", "/auth/password-login", CREDENTIALS | {"password": "wrong password"})
    assert (await client.call("PUT", "/auth/password", CHANGE, token))[0] == 429


@pytest.mark.parametrize(
    "broken",
    [{"newPassword": "1234567"}, {"newPassword": "x" * 1025}, {"newPassword": None}, {"password": 7}],
)
async def test_d43_a_malformed_change_is_400_and_names_the_field(storage: Any, broken: Any) -> None:
    client = Client(storage)
    token = (await client.register())["accessToken"]
    [name] = broken
    status, body = await client.call("PUT", "/auth/password", CHANGE | broken, token)
    assert status == 400
    assert name in body["error"]
    without = {key: value for key, value in CHANGE.items() if key != name}
    assert (await client.call("PUT", "/auth/password", without, token))[0] == 400
    await client.sign_in()


async def test_d43_the_present_password_is_no_new_one_however_it_is_written(storage: Any) -> None:
    client = Client(storage)
    token = (await client.register())["accessToken"]
    for same in (PASSWORD, "\uff43" + PASSWORD[1:]):
        status, body = await client.call(
            "PUT", "/auth/password", {"password": PASSWORD, "newPassword": same}, token
        )
        assert (status, "newPassword" in body["error"]) == (400, True)


async def test_d43_changing_needs_a_session(storage: Any) -> None:
    client = Client(storage)
    await client.register()
    assert (await client.call("PUT", "/auth/password", CHANGE))[0] == 401
    assert (await client.call("PUT", "/auth/password", CHANGE, "nonsense"))[0] == 401


async def test_d43_by_default_a_password_that_an_admin_set_is_one_like_any_other(storage: Any) -> None:
    client = Client(storage)
    signed_in = await client.added()
    assert set(signed_in) == {"accessToken", "refreshToken", "exp", "tokenType"}
    status, me = await client.call("GET", "/auth/me", token=signed_in["accessToken"])
    assert (status, set(me)) == (200, {"user"})
    assert (await client.call("GET", "/users", token=signed_in["accessToken"]))[0] == 200


async def test_d43_a_password_that_an_admin_gave_must_be_changed_where_that_is_wanted(storage: Any) -> None:
    client = Client(storage, **MUST)
    signed_in = await client.added()
    assert signed_in["mustChangePassword"] is True
    token = signed_in["accessToken"]
    status, me = await client.call("GET", "/auth/me", token=token)
    assert (status, me["mustChangePassword"]) == (200, True)
    for method, path in (
        ("GET", "/users"),
        ("GET", "/channels"),
        ("GET", "/auth/sessions"),
        ("PUT", "/users/me"),
    ):
        status, body = await client.call(method, path, token=token)
        assert (status, list(body)) == (403, ["error"]), path
        assert "password" in body["error"]
    assert (await client.call("PUT", "/auth/password", CHANGE, token))[0] == 200
    assert (await client.call("GET", "/users", token=token))[0] == 200, "at once, in the same session"
    assert set((await client.call("GET", "/auth/me", token=token))[1]) == {"user"}
    assert "mustChangePassword" not in await client.sign_in(password=NEW)


async def test_one_is_told_whether_one_has_a_password(storage: Any) -> None:
    client = Client(storage)
    token = (await client.register())["accessToken"]
    assert (await client.call("GET", "/me", token=token))[1]["hasPassword"] is True
    _, at_a_provider = await client.accounts.sign_in("jane@example.org", "192.0.2.1", "tests")
    token = at_a_provider.access_token
    assert (await client.call("GET", "/me", token=token))[1]["hasPassword"] is False


async def test_d43_refreshing_frees_nobody_of_it(storage: Any) -> None:
    client = Client(storage, **MUST)
    refresh_token = (await client.added())["refreshToken"]
    status, pair = await client.call("POST", "/auth/refresh", {"refreshToken": refresh_token})
    assert status == 200
    assert (await client.call("GET", "/users", token=pair["accessToken"]))[0] == 403


async def test_d43_who_must_change_their_password_may_sign_out_instead(storage: Any) -> None:
    client = Client(storage, **MUST)
    signed_in = await client.added()
    token = signed_in["accessToken"]
    body = {"refreshToken": signed_in["refreshToken"]}
    assert (await client.call("POST", "/auth/logout", body, token))[0] == 200
    assert (await client.call("GET", "/auth/me", token=token))[0] == 401


async def test_d43_a_password_that_an_admin_reset_must_be_changed_but_not_their_own(storage: Any) -> None:
    client = Client(storage, **MUST)
    admin = await client.admin()
    await client.register()
    _, listed = await client.call("GET", "/users", token=admin)
    for user in listed["users"]:
        path = f"/users/{user['id']}/reset-password"
        assert (await client.call("POST", path, {"password": NEW}, admin))[0] == 200
    assert (await client.sign_in(password=NEW))["mustChangePassword"] is True
    assert "mustChangePassword" not in await client.sign_in(InitialUser().email, NEW)


async def test_d43_what_people_chose_themselves_need_not_be_changed(storage: Any) -> None:
    client = Client(storage, **MUST)
    assert (await client.call("GET", "/users", token=await client.admin()))[0] == 200
    assert "mustChangePassword" not in await client.register()
    assert "mustChangePassword" not in await client.sign_in()


async def test_d43_where_it_is_wanted_no_more_those_sessions_are_free(storage: Any) -> None:
    token = (await Client(storage, **MUST).added())["accessToken"]
    relaxed = Client(storage)
    assert (await relaxed.call("GET", "/users", token=token))[0] == 200
    assert set((await relaxed.call("GET", "/auth/me", token=token))[1]) == {"user"}


async def test_d43_the_stream_too_is_for_those_who_have_changed_their_password(storage: Any) -> None:
    client = Client(storage, **MUST)
    token = (await client.added())["accessToken"]
    assert (await client.call("GET", "/events", token=token))[0] == 403
