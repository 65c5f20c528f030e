"""Users (interface, part 4, Users)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from conformance.tests.fake.asking import Ask, Refusal, route, success, unknown
from conformance.tests.fake.sign_in import kept_password, send_link, set_password

if TYPE_CHECKING:
    from conformance.tests.fake.server import Fake

_LATIN = str.maketrans("\u0441\u0430\u0435\u043e\u0440", "caeop")


@route("GET", "/users")
def users(fake: Fake, ask: Ask) -> dict[str, Any]:
    return {"users": [{**user.shown(), "createdAt": user.created} for user in fake.store.users.values()]}


@route("POST", "/users/add")
def add(fake: Fake, ask: Ask) -> dict[str, Any]:
    role = ask.body.get("role", "user")
    ask.must_be_admin()
    email = ask.email()
    if role not in ("user", "admin"):
        raise Refusal(400, "role must be user or admin")
    if fake.store.user_by_email(email) is not None and not fake.has("same-email-twice"):
        raise Refusal(400, "There is an account with this address")
    has_password = "password" in ask.body and fake.settings.mode == "password"
    password = None
    if has_password:
        password = ask.text("password") if fake.has("short-passwords") else ask.password()
    is_admin = role == "admin" and not fake.has("admins-added-as-users")
    made = fake.add_user(email, is_admin=is_admin, password=password and kept_password(password))
    if not has_password and fake.settings.mode == "password" and not fake.has("no-invite-mail"):
        send_link(fake, "invite", made.email)
    return success(userId=made.id)


@route("POST", "/users/:id/reset-password")
def reset_password(fake: Fake, ask: Ask) -> dict[str, Any]:
    ask.must_be_admin()
    user = fake.store.users.get(ask.params["id"])
    password = ask.password()
    if user is None:
        raise Refusal(404 if fake.has("reset-unknown-404") else 400, "There is no such user")
    if not fake.has("reset-lost"):
        set_password(fake, user, password)
    return success()


@route("DELETE", "/users/:id")
def remove(fake: Fake, ask: Ask) -> dict[str, Any]:
    user = fake.store.users.get(ask.params["id"]) or unknown("user")
    ask.must_be_admin()
    if user is ask.user and not fake.contrary and not fake.has("last-admin-goes"):
        raise Refusal(400, "To leave, use /users/exit")
    _not_the_last_admin(fake, ask, user.id)
    if not fake.has("removal-lost"):
        fake.forget_user(user)
    fake.tell("REMOVE_USER", {"id": user.id, "email": user.email})
    return success()


@route("POST", "/users/exit")
def leave(fake: Fake, ask: Ask) -> dict[str, Any]:
    _not_the_last_admin(fake, ask, ask.user.id)
    fake.forget_user(ask.user)
    fake.tell("USER_EXIT", {"id": ask.user.id, "userName": ask.user.name})
    return success(message="Goodbye")


@route("PUT", "/users/me")
def rename(fake: Fake, ask: Ask) -> dict[str, Any]:
    name = ask.name("userName", 64)
    for user in fake.store.users.values():
        if user is not ask.user and _looks(fake, user.name) == _looks(fake, name) and not fake.contrary:
            raise Refusal(400, "Somebody else has that name")
    if fake.has("rename-takes-all") and isinstance(ask.body.get("isAdmin"), bool):
        ask.user.is_admin = ask.body["isAdmin"]
    told = {**ask.user.shown(), "userName": name}
    if not fake.has("user-rename-lost"):
        ask.user.name = fake.store.names[ask.user.id] = name
    fake.tell("UPDATE_USER", {"id": ask.user.id, "userName": name})
    return {"user": told}


def _looks(fake: Fake, name: str) -> str:
    """Return what a name looks like: a few letters of Cyrillic are as good as any table."""
    return name.lower() if fake.has("names-lookalike") else name.lower().translate(_LATIN)


def _not_the_last_admin(fake: Fake, ask: Ask, user_id: str) -> None:
    if [one.id for one in fake.store.admins()] == [user_id] and not fake.has("last-admin-goes"):
        raise Refusal(403 if fake.contrary else 400, "The last admin has to stay")
