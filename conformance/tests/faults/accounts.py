"""Faults of signing in, sessions, users and what is asked of whom."""

from __future__ import annotations

import gzip
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from conformance.tests.faults.case import Case, found, together
from conformance.tests.proxy.acting import (
    accepting,
    anybody,
    fault,
    lasting,
    refusing,
    repeating,
    rewritten,
    swallowed,
    there,
    unasked,
    undone,
)
from conformance.tests.proxy.asking import Answer, Ask, Forward, as_json, refused, subject_of
from conformance.tests.proxy.shaping import (
    as_html,
    as_number,
    as_text,
    edited,
    errors,
    leaking,
    refusal,
    status,
    telling,
    without,
)


@fault("GET /health asks for a token", "GET /health")
async def _health_asks(ask: Ask, forward: Forward) -> Answer:
    return refused(401) if ask.token else await forward(ask)


@fault("GET /health is JSON", "GET /health")
async def _health_as_json(ask: Ask, forward: Forward) -> Answer:
    return as_json({"status": "ok"})


@fault("there is no GET /health", "GET /health")
async def NO_HEALTH(ask: Ask, forward: Forward) -> Answer:  # noqa: N802 - the decorator makes a constant of it
    return refused(404)


def _packed(answer: Answer) -> Answer:
    return replace(answer, body=gzip.compress(answer.body)).with_header("Content-Encoding", "gzip")


@fault("pages come as gzip to everybody", "GET /channels/:channelId/messages")
async def _gzip_for_everybody(ask: Ask, forward: Forward) -> Answer:
    answer = await forward(ask)
    return _packed(answer) if answer.ok else answer


@fault("a page has one ETag in all codings", "GET /channels/:channelId/messages")
async def _one_etag(ask: Ask, forward: Forward) -> Answer:
    answer = (await forward(ask)).with_header("ETag", '"one"')
    return _packed(answer) if answer.ok and ask.header("accept-encoding") == "gzip" else answer


GENERAL = [
    found(_gzip_for_everybody, "GEN-HTTP-26"),
    found(_one_etag, "GEN-HTTP-27"),
    found(_health_as_json, "GEN-HLTH-02"),
    found(_health_asks, "GEN-HLTH-03"),
    found(NO_HEALTH, "GEN-HLTH-01"),
    found(
        refusing("a charset is refused", "*", 415, lambda ask: "charset" in ask.header("content-type")),
        "GEN-HTTP-14",
    ),
    found(status("POST /channels/:channelId/messages", 201), "GEN-HTTP-01", "MSG-NEW-01", quick=True),
    found(as_html(), "GEN-HTTP-02", "CHAN-NEW-01"),
    found(as_number("GET /channels", "channels.*.id"), "GEN-HTTP-04", "CHAN-LIST-01"),
    found(as_text("GET /channels", "channels.*.createdAt"), "GEN-HTTP-05 CHAN-LIST-01"),
    found(
        errors("errors stand under message", lambda a: a.with_json({"message": "No"})),
        "ERR-SHAPE-01",
        "CHAN-NEW-02",
    ),
    found(
        errors("errors have a code besides", lambda a: a.with_json({"error": "No", "code": 7})),
        "ERR-SHAPE-02",
        "CHAN-NEW-02",
    ),
    found(
        errors("errors go as text/plain", lambda a: a.with_header("Content-Type", "text/plain")),
        "ERR-SHAPE-03",
        "CHAN-NEW-02",
    ),
    found(refusal("POST /channels", 400, 500), "ERR-CODE-03", "CHAN-NEW-02"),
    found(refusal("*", 400, 500), "ERR-CODE-03 NEG-BODY-03"),
]


@fault("a token whose signature is wrong is taken", "*", learns=True)
async def _signature_unchecked(ask: Ask, forward: Forward) -> Answer:
    answer = await forward(ask)
    token = ask.proxy.tokens.get(subject_of(ask.token), "")
    return await forward(ask.by(token)) if answer.status == 401 and token else answer


@fault("a webhook's token signs in", "*", learns=True)
async def _hook_signs_in(ask: Ask, forward: Forward) -> Answer:
    answer = await forward(ask)
    hooks = {one.get("token") for one in ask.proxy.seen.values()} - {None}
    return await forward(ask.by(ask.proxy.admin)) if answer.status == 401 and ask.token in hooks else answer


@fault("the query's token is taken everywhere", "*")
async def _query_everywhere(ask: Ask, forward: Forward) -> Answer:
    token = ask.query.get("token")
    return await forward(ask.by(token) if token and not ask.token else ask)


@fault("a refresh token signs in", "*", learns=True)
async def _refresh_signs_in(ask: Ask, forward: Forward) -> Answer:
    answer = await forward(ask)
    if told := answer.json if answer.ok and ask.path.startswith("/auth/") else None:
        ask.proxy.kept[told.get("refreshToken", "")] = told.get("accessToken", "")
    access = ask.proxy.kept.get(ask.token) if ask.token else None
    return await forward(ask.by(access)) if answer.status == 401 and access else answer


CREDENTIALS = [
    together(
        found(unasked("GET /channels"), "AUTH-REQ-11", quick=True),
        found(unasked("POST /auth/logout"), "AUTH-REQ-01"),
        found(unasked("PUT /messages/:messageId"), "AUTH-REQ-17"),
    ),
    together(
        found(anybody("POST /users/add"), "AUTH-ADM-01"),
        found(anybody("DELETE /channels/:channelId"), "AUTH-ADM-06"),
        found(anybody("PUT /server/settings"), "AUTH-ADM-07"),
        found(anybody("GET /webhooks"), "AUTH-ADM-08"),
        found(refusal("POST /channels", 403, 401), "AUTH-ADM-04"),
    ),
    found(refusal("GET /events", 401, 403), "AUTH-REQ-42 SSE-OPEN-03"),
    found(refusal("GET /auth/me", 401, 403), "AUTH-TOK-01"),
    found(_signature_unchecked, "AUTH-TOK-02 AUTH-TOK-03 AUTH-TOK-04"),
    found(_hook_signs_in, "AUTH-TOK-10"),
    found(_query_everywhere, "AUTH-TOK-13"),
    found(without("GET /auth/me", "user.isAdmin"), "AUTH-ME-01"),
    found(leaking("GET /auth/me", "user.createdAt"), "AUTH-ME-02"),
    found(
        errors("a 401 does not say how to get in", lambda a: a.with_header("WWW-Authenticate", None)),
        "AUTH-TOK-17",
    ),
    found(_refresh_signs_in, "AUTH-TOK-11", kind="password"),
]

DEV_MODE = [
    found(leaking("POST /auth/dev-login", "user.passwordHash"), "DEV-04"),
    found(without("POST /auth/dev-login", "user.isAdmin"), "DEV-01"),
    found(refusal("POST /auth/dev-login", 400, 500), "DEV-11"),
    found(there("POST /auth/login", {"success": True, "message": "Sent"}), "MAGIC-REQ-10"),
    found(there("POST /auth/verify", {"accessToken": "x", "refreshToken": "y"}), "MAGIC-VER-14"),
    found(there("POST /auth/setup-password", {"accessToken": "x"}), "PWD-SETUP-14"),
    found(there("POST /auth/request-password-reset", {"success": True, "message": "Sent"}), "PWD-RESET-12"),
    found(there("POST /auth/dev-login", {"user": {}, "token": "x"}), "DEV-10", kind="password"),
]


@fault("who was not invited is let in", "POST /auth/dev-login", learns=True)
async def _uninvited(ask: Ask, forward: Forward) -> Answer:
    answer = await forward(ask)
    if answer.ok or not ask.proxy.admin or "@" not in str(ask.json.get("email")):
        return answer
    await ask.proxy.ask("POST", "/users/add", body={"email": ask.json["email"], "role": "user"})
    return await forward(ask)


DEV_MODE.append(found(_uninvited, "DEV-06 DEV-07"))


@fault("any password is right", "*")
async def _any_password(ask: Ask, forward: Forward) -> Answer:
    answer = await forward(ask)
    email = str(ask.json.get("email"))
    if answer.ok and "password" in ask.json:
        ask.proxy.kept[email] = ask.json["password"]
    known = ask.proxy.kept.get(email) if ask.path == "/auth/password-login" else None
    return await forward(ask.saying(password=known)) if answer.status == 401 and known else answer


def _tells(route: str) -> Any:
    @fault(f"{route} tells who has an account", route, learns=True)
    async def handle(ask: Ask, forward: Forward) -> Answer:
        answer = await forward(ask)
        if not ask.proxy.admin:
            return answer
        users = await ask.proxy.ask("GET", "/users")
        is_known = any(user["email"] == ask.json.get("email") for user in users.json["users"])
        return (
            answer
            if is_known or not answer.ok
            else answer.with_json({**answer.json, "message": "There is none"})
        )

    return handle


PASSWORDS = [
    found(without("POST /auth/password-login", "tokenType"), "PWD-LOGIN-01", kind="password"),
    found(telling("POST /auth/password-login", "exp", 7), "PWD-LOGIN-02", kind="password"),
    found(_any_password, "PWD-LOGIN-04", kind="password"),
    found(refusal("POST /auth/password-login", 401, 400), "PWD-LOGIN-05", kind="password"),
    found(
        rewritten(
            "passwords are compared without spaces at their ends",
            "POST /auth/password-login",
            lambda ask: ask.saying(password=str(ask.json.get("password", "")).strip()),
        ),
        "PWD-LOGIN-09",
        kind="password",
    ),
    found(accepting("POST /users/add", told={"success": True, "userId": "x"}), "PWD-LEN-01", kind="password"),
    found(swallowed("POST /users/:id/reset-password"), "PWD-ADMIN-01", kind="password"),
    found(refusal("POST /users/:id/reset-password", 400, 404), "PWD-ADMIN-03", kind="password"),
    found(anybody("POST /users/:id/reset-password"), "PWD-ADMIN-04", kind="password"),
    found(swallowed("PUT /auth/password"), "PWD-CHANGE-01 PWD-CHANGE-03", kind="password"),
    found(there("POST /auth/register", {"accessToken": "x"}), "PWD-REG-05", kind="password"),
    found(
        accepting("POST /auth/register", told={"accessToken": "x", "refreshToken": "y", "exp": 900}),
        "PWD-REG-03 PWD-REG-04",
        kind="password open",
    ),
    found(leaking("GET /users", "users.*.passwordHash"), "PWD-LEAK-01 USER-LIST-03", kind="password"),
    found(_tells("POST /auth/request-password-reset"), "PWD-RESET-02", kind="password mail"),
    found(
        swallowed("POST /auth/request-password-reset", {"success": True, "message": "Sent"}),
        "PWD-RESET-03",
        kind="password mail",
    ),
    found(without("POST /auth/setup-password", "exp"), "PWD-SETUP-01", kind="password mail"),
    found(
        accepting("POST /auth/setup-password", told={"accessToken": "x", "refreshToken": "y", "exp": 900}),
        "PWD-SETUP-06",
        kind="password mail",
    ),
    found(
        rewritten("a link's token is taken in the body alone", "POST /auth/setup-password",
                  lambda ask: ask.without_header("authorization")),
        "PWD-SETUP-02",
        kind="password mail",
    ),
    found(
        repeating("a link works again", "POST /auth/setup-password", lambda ask: ask.json.get("token"), 400),
        "PWD-SETUP-09",
        kind="password mail",
    ),
]  # fmt: skip

MAGIC_LINK = [
    found(without("POST /auth/login", "message"), "MAGIC-REQ-01", kind="magic"),
    found(refusal("POST /auth/login", 400, 500), "MAGIC-REQ-08", kind="magic"),
    found(without("POST /auth/verify", "refreshToken"), "MAGIC-VER-01", kind="magic"),
    found(
        repeating("a sign-in link works again", "POST /auth/verify", lambda ask: ask.token, 400, 401),
        "MAGIC-VER-03",
        kind="magic",
    ),
    found(_tells("POST /auth/login"), "MAGIC-REQ-02", kind="magic"),
]


@fault("a session list tells those of others", "GET /auth/sessions", learns=True)
async def _sessions_of_all(ask: Ask, forward: Forward) -> Answer:
    answer = await forward(ask)
    if not answer.ok:
        return answer
    listed = list(answer.json["sessions"])
    for user_id, token in list(ask.proxy.tokens.items()):
        if user_id != ask.user_id:
            others = await ask.proxy.ask("GET", "/auth/sessions", token)
            listed += others.json["sessions"] if others.ok else []
    return answer.with_json({"sessions": listed})


@fault("all sessions end, of everybody", "DELETE /auth/sessions", learns=True)
async def _sessions_of_all_end(ask: Ask, forward: Forward) -> Answer:
    answer = await forward(ask)
    for user_id, token in list(ask.proxy.tokens.items()):
        if answer.ok and user_id not in (ask.user_id, subject_of(ask.proxy.admin)):
            await ask.proxy.ask("DELETE", "/auth/sessions", token)
    return answer


SESSIONS = [
    found(without("POST /auth/refresh", "refreshToken"), "SESS-REF-01", kind="password"),
    found(
        refusing(
            "POST /auth/refresh asks for an access token",
            "POST /auth/refresh",
            401,
            lambda ask: not ask.token,
        ),
        "SESS-REF-03",
        kind="password",
    ),
    found(refusal("POST /auth/refresh", 401, 403), "SESS-REF-05", kind="password"),
    found(
        repeating(
            "a refresh token works for ever",
            "POST /auth/refresh",
            lambda ask: ask.json.get("refreshToken"),
            401,
        ),
        "SESS-REF-09",
        kind="password",
    ),
    found(status("POST /auth/logout", 204), "SESS-OUT-01", kind="password"),
    found(swallowed("POST /auth/logout"), "SESS-OUT-02 SESS-OUT-07", kind="password"),
    found(_sessions_of_all, "SESS-LIST-04", kind="password"),
    found(_sessions_of_all_end, "SESS-DEL-03", kind="password", alone=True),
]

USERS = [
    found(without("GET /users", "users.*.createdAt"), "USER-LIST-01"),
    found(swallowed("DELETE /users/:id"), "USER-DEL-01 USER-LIST-06"),
    found(
        rewritten("an admin is added as a user", "POST /users/add", lambda ask: ask.saying(role="user")),
        "USER-ADD-02",
    ),
    found(accepting("POST /users/add", told={"success": True, "userId": "x"}), "USER-ADD-08 USER-ADD-09"),
    found(anybody("POST /users/add"), "USER-ADD-03"),
    found(without("PUT /users/me", "user.email"), "USER-ME-01"),
    found(leaking("PUT /users/me", "user.createdAt"), "USER-ME-02"),
    found(accepting("PUT /users/me"), "USER-ME-12 USER-ME-14 USER-ME-04"),
    found(
        undone("PUT /users/me", "userName", lambda ask: ask.proxy.seen.get(ask.user_id, {}).get("userName")),
        "USER-ME-03",
    ),
    found(refusal("DELETE /users/:id", 404, 500), "USER-DEL-05"),
    found(lasting("GET /auth/me", "the removal of a user"), "AUTH-TOK-18"),
    found(
        edited("GET /users forgets the admins", "GET /users",
               lambda told, _: {"users": [one for one in told["users"] if not one["isAdmin"]]}),
        "USER-LIST-02",
    ),
    found(without("POST /users/exit", "message"), "USER-EXIT-01"),
    found(swallowed("POST /users/exit", {"success": True, "message": "Bye"}), "USER-EXIT-01"),
    found(
        accepting("POST /users/exit", told={"success": True, "message": "Bye"}), "USER-EXIT-02", alone=True
    ),
]  # fmt: skip


def _leading_without(parameter: str) -> Any:
    async def handle(ask: Ask, forward: Forward) -> Answer:
        answer = await forward(ask)
        parts = urlsplit(answer.header("location"))
        kept = [(key, value) for key, value in parse_qsl(parts.query) if key != parameter]
        return answer.with_header("Location", urlunsplit(parts._replace(query=urlencode(kept))))

    return fault(f"the way to the provider has no {parameter}", "GET /auth/oauth/:providerId")(handle)


@fault("a failed sign-in at a provider is answered in JSON", "GET /auth/oauth/:providerId/callback")
async def _failure_as_json(ask: Ask, forward: Forward) -> Answer:
    answer = await forward(ask)
    return refused(400) if "oauth_error" in answer.header("location") else answer


@fault("a provider's limit is none", "GET /auth/oauth/:providerId")
async def _no_limit(ask: Ask, forward: Forward) -> Answer:
    answer = await forward(ask)
    if answer.status == 302:
        ask.proxy.kept["way"] = answer
    return ask.proxy.kept.get("way", answer) if answer.status == 429 else answer


@fault("a state works again", "GET /auth/oauth/:providerId/callback")
async def _state_again(ask: Ask, forward: Forward) -> Answer:
    answer = await forward(ask)
    state = ask.query.get("state")
    if "access_token" in answer.header("location"):
        ask.proxy.kept[state] = answer
    return ask.proxy.kept.get(state, answer)


OAUTH = [
    found(telling("GET /auth/oauth/providers", "count", 7), "OAUTH-PROV-02", kind="oauth", alone=True),
    found(_leading_without("state"), "OAUTH-START-03", kind="oauth", alone=True),
    found(
        rewritten("the provider's code is lost", "GET /auth/oauth/:providerId/callback",
                  lambda ask: ask.asking(code="another")),
        "OAUTH-CB-04",
        kind="oauth",
        alone=True,
    ),
    found(_failure_as_json, "OAUTH-CB-07 OAUTH-CB-27", kind="oauth", alone=True),
    found(_no_limit, "OAUTH-RATE-01", kind="oauth", alone=True),
    found(_state_again, "OAUTH-CB-06", kind="oauth", alone=True),
]  # fmt: skip

CASES: list[Case] = [
    *GENERAL, *CREDENTIALS, *DEV_MODE, *PASSWORDS, *MAGIC_LINK, *SESSIONS, *USERS, *OAUTH,
]  # fmt: skip
