"""Users: who there is, and what admins and users can change about them."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from teamchat.accounts.scopes import SESSION_ALONE
from teamchat.application import Application
from teamchat.model import Caller, ListedUser, User
from teamchat.web.endpoints import Answer, Section, Success

section = Section("users")


class NewUser(Struct, frozen=True, rename="camel"):
    """A user to add; `role` is ``user`` or ``admin``."""

    email: str
    role: str = "user"
    password: str | None = None


class NewPassword(Struct, frozen=True, rename="camel"):
    """A password: 8 to 1,024 characters."""

    password: str


class NewName(Struct, frozen=True, rename="camel"):
    """A display name."""

    user_name: str


class NewRole(Struct, frozen=True):
    """What a user is: ``user`` or ``admin``."""

    role: str


class UserList(Answer, frozen=True):
    """All users."""

    users: Sequence[ListedUser]


class Added(Answer, frozen=True):
    """The id of the new user."""

    user_id: str
    success: bool = True


class Left(Answer, frozen=True):
    """The caller has left."""

    message: str
    success: bool = True


class Renamed(Answer, frozen=True):
    """A user after a change."""

    user: User


async def _check_admin(app: Application, caller: Caller) -> None:
    await app.accounts.users.check_admin(caller)


async def _check_manage(app: Application, caller: Caller, id: str) -> None:
    await app.accounts.users.check_manage(caller, id)


@section.endpoint("GET", "/users", within_places=True, answer=UserList)
async def list_users(app: Application, caller: Caller) -> UserList:  # noqa: ARG001
    """List the users."""
    return UserList(await app.accounts.users.list())


@section.endpoint("POST", "/users/add", scopes=("admin",), body=NewUser, answer=Added, first=_check_admin)
async def add_user(app: Application, caller: Caller, body: NewUser) -> Added:
    """Add a user (admin). In password mode with mail, one without a password is mailed an invitation."""
    return Added(await app.accounts.users.add(caller, body.email, body.role, body.password))


@section.endpoint(
    "POST",
    "/users/:id/reset-password",
    scopes=SESSION_ALONE,
    body=NewPassword,
    answer=Success,
    first=_check_admin,
)
async def reset_password(app: Application, caller: Caller, id: str, body: NewPassword) -> Success:
    """Set a user's password (admin)."""
    await app.accounts.users.reset_password(caller, id, body.password)
    return Success()


@section.endpoint("DELETE", "/users/:id", scopes=("admin",), answer=Success)
async def remove_user(app: Application, caller: Caller, id: str) -> Success:
    """Remove a user (admin)."""
    await app.accounts.users.remove(caller, id)
    return Success()


@section.endpoint("POST", "/users/:id/deactivate", scopes=("admin",), answer=Success)
async def deactivate_user(app: Application, caller: Caller, id: str) -> Success:
    """Shut a user out at once, until they are activated; what was theirs is kept (admin)."""
    await app.accounts.users.deactivate(caller, id)
    return Success()


@section.endpoint("POST", "/users/:id/activate", scopes=("admin",), answer=Success)
async def activate_user(app: Application, caller: Caller, id: str) -> Success:
    """Let a user in again who was deactivated (admin)."""
    await app.accounts.users.activate(caller, id)
    return Success()


@section.endpoint(
    "PUT", "/users/:id/role", scopes=("admin",), body=NewRole, answer=Renamed, first=_check_manage
)
async def change_role(app: Application, caller: Caller, id: str, body: NewRole) -> Renamed:
    """Make a user an admin, or one no longer (admin)."""
    return Renamed(await app.accounts.users.set_role(caller, id, body.role))


@section.endpoint("POST", "/users/exit", scopes=SESSION_ALONE, answer=Left)
async def exit_user(app: Application, caller: Caller) -> Left:
    """Leave the server for good."""
    await app.accounts.users.exit(caller)
    return Left("You have left the server.")


@section.endpoint("PUT", "/users/me", body=NewName, answer=Renamed)
async def rename_me(app: Application, caller: Caller, body: NewName) -> Renamed:
    """Change the caller's display name."""
    return Renamed(await app.accounts.users.rename(caller, body.user_name))
