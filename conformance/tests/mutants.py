"""Servers that are wrong in one way each, and the checks that must see it.

What must stay true: a mutant fails every check of `fails`; of the other checks in the same scenarios it fails
none but those of `also`, which look at the same thing; and every group of required checks has a mutant.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Mutant:
    """Faults of the fake, joined by +.

    `fails` are ids, `also` are patterns of ids; the scenarios of `beside` are played too, for the monitors.
    """

    fault: str
    fails: tuple[str, ...]
    also: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()
    world: str = "dev"

    @property
    def faults(self) -> frozenset[str]:
        return frozenset(self.fault.split(" + "))


def _together(also: str, *mutants: Mutant) -> Mutant:
    """Return one server with the faults of several, where none hides another: each check must see its own."""
    first = mutants[0]
    return Mutant(
        " + ".join(one.fault for one in mutants),
        tuple(id for one in mutants for id in one.fails),
        (*also.split(), *(pattern for one in mutants for pattern in one.also)),
        tuple(id for one in mutants for id in one.beside),
        first.world,
    )


def _mutant(fault: str, fails: str, also: str = "", *, beside: str = "", world: str = "dev") -> Mutant:
    return Mutant(fault, tuple(fails.split()), tuple(also.split()), tuple(beside.split()), world)


GENERAL = [
    _mutant("health-as-json", "GEN-HLTH-02"),
    _mutant("health-asks-token", "GEN-HLTH-03"),
    _mutant("charset-refused", "GEN-HTTP-14"),
    _mutant("status POST /channels/:channelId/messages 201", "GEN-HTTP-01", "*", beside="MSG-NEW-01"),
    _mutant("answers-as-html", "GEN-HTTP-02", "*", beside="CHAN-NEW-01"),
    _mutant("number GET /channels channels.*.id", "GEN-HTTP-04", "*", beside="CHAN-LIST-01"),
    _mutant("string GET /channels channels.*.createdAt", "GEN-HTTP-05", "*", beside="CHAN-LIST-01"),
]

CREDENTIALS = [
    _together(
        "",
        _mutant("open GET /channels", "AUTH-REQ-11"),
        _mutant("open POST /auth/logout", "AUTH-REQ-01"),
        _mutant("refusal GET /events 401 403", "AUTH-REQ-42"),
        _mutant("open PUT /messages/:messageId", "AUTH-REQ-17"),
        _mutant("webhook-token-not-asked", "AUTH-REQ-41"),
    ),
    _together(
        "",
        _mutant("any-user POST /users/add", "AUTH-ADM-01"),
        _mutant("any-user DELETE /channels/:channelId", "AUTH-ADM-06"),
        _mutant("any-user PUT /server/settings", "AUTH-ADM-07"),
        _mutant("any-user GET /webhooks", "AUTH-ADM-08"),
        _mutant("refusal POST /channels 403 401", "AUTH-ADM-04"),
    ),
    _mutant("jwt-unchecked", "AUTH-TOK-02 AUTH-TOK-03 AUTH-TOK-04", "AUTH-TOK-05"),
    _mutant("webhook-token-signs-in", "AUTH-TOK-10"),
    _mutant("query-token-everywhere", "AUTH-TOK-13"),
    _mutant("refusal GET /auth/me 401 403", "AUTH-TOK-01", "AUTH-TOK-*"),
    _mutant("jwt-holds-password", "AUTH-TOK-16", "AUTH-TOK-15"),
    _mutant("without GET /auth/me user.isAdmin", "AUTH-ME-01", "AUTH-ME-03"),
    _mutant("with GET /auth/me user.createdAt", "AUTH-ME-02"),
]

SETTINGS = [
    _mutant("settings-not-kept", "SET-PUT-02", "SET-PUT-*"),
    _mutant("without GET /server/settings name", "SET-GET-01"),
    _mutant("status PUT /server/settings 204", "SET-PUT-01", "SET-PUT-04 SET-PUT-05"),
]

CHANNELS = [
    _mutant("status POST /channels 201", "CHAN-NEW-01", "CHAN-LIST-* CHAN-UPD-*"),
    _mutant("string POST /channels channel.createdAt", "CHAN-NEW-01"),
    _mutant("without GET /channels channels.*.createdAt", "CHAN-LIST-01"),
    _mutant("channel-rename-lost", "CHAN-UPD-02"),
    _mutant("without PUT /channels/:channelId channel.updatedAt", "CHAN-UPD-01", "CHAN-UPD-05"),
    _mutant("channel-owner-only", "CHAN-UPD-08", "CHAN-UPD-05"),
    _mutant("channel-keeps-messages", "CHAN-DEL-02 CHAN-DEL-04"),
    _mutant("channel-keeps-webhooks", "CHAN-DEL-03"),
    _mutant("refusal DELETE /channels/:channelId 404 500", "CHAN-DEL-05"),
]

MESSAGES = [
    _mutant("status POST /channels/:channelId/messages 201", "MSG-NEW-01", "MSG-NEW-13"),
    _mutant(
        "without POST /channels/:channelId/messages message.author.userName",
        "MSG-NEW-01",
        "MSG-NEW-* MSG-LIST-01",
    ),
    _mutant("post-lost", "MSG-NEW-14"),
    _mutant("with POST /channels/:channelId/messages message.author.isBot", "MSG-NEW-03", "MSG-NEW-04"),
    _mutant("updated-at-creation", "MSG-FORM-02", "MSG-FORM-07"),
    _mutant("without GET /channels/:channelId/messages messages.*.updatedAt", "MSG-FORM-02", "MSG-FORM-03"),
    _mutant("newest-first", "MSG-PAGE-09", "MSG-PAGE-*"),
    _mutant("replies-in-the-list", "MSG-LIST-04"),
    _mutant("limit-49", "MSG-PAGE-01"),
    _mutant("limit-ignored", "MSG-PAGE-02", "MSG-PAGE-*"),
    _mutant("before-inclusive", "MSG-PAGE-04", "MSG-PAGE-*"),
    _mutant("before-ignored", "MSG-PAGE-04", "MSG-PAGE-*"),
    _mutant("page-of-the-oldest", "MSG-PAGE-05", "MSG-PAGE-06 MSG-PAGE-07"),
    _mutant("edit-lost", "MSG-EDIT-02"),
    _mutant("edit-without-updated", "MSG-FORM-03"),
    _mutant("without PUT /messages/:messageId message.updatedAt", "MSG-EDIT-01", "MSG-EDIT-*"),
    _mutant("anyone-edits", "MSG-EDIT-03 MSG-EDIT-04"),
    _mutant("admin-edits", "MSG-EDIT-04"),
    _mutant("delete-keeps", "MSG-DEL-01", "MSG-DEL-*"),
    _mutant("anyone-deletes-messages", "MSG-DEL-03", "MSG-DEL-01"),
    _mutant("admin-deletes-nothing", "MSG-DEL-02", "MSG-DEL-05"),
    _mutant("keys-ignored", "MSG-IDEM-01 MSG-IDEM-02"),
    _mutant("key-takes-any-body", "MSG-IDEM-02"),
    _mutant("keys-of-anybody", "MSG-IDEM-03"),
    _mutant("direct-by-message-route + anyone-edits", "MSG-EDIT-12"),
    _mutant("direct-by-message-route + anyone-deletes-messages", "MSG-DEL-09", "MSG-DEL-08"),
]

REACTIONS = [
    _mutant("reactions-by-user", "REACT-ADD-02", "REACT-ADD-*"),
    _mutant("reaction-replaces", "REACT-ADD-03 REACT-ADD-15", "REACT-ADD-*"),
    _mutant("reaction-of-all-removed", "REACT-DEL-02", "REACT-DEL-05 REACT-DEL-04"),
    _mutant("reaction-of-anyone-removed", "REACT-DEL-05", "REACT-DEL-04 REACT-DEL-02"),
    _mutant("reactions-without-number", "REACT-ADD-17"),
    _mutant("reaction-in-body-only", "REACT-DEL-10"),
    _mutant("direct-by-message-route", "REACT-ADD-14", "REACT-DEL-09"),
    _mutant("without DELETE /messages/:messageId/reactions message.reactions", "REACT-DEL-01", "REACT-DEL-*"),
]

THREADS = [
    _mutant("threads-anywhere", "THR-NEW-08 THR-NEW-09"),
    _mutant("direct-by-message-route + threads-anywhere", "THR-NEW-15", "THR-NEW-09"),
    _mutant("meta-of-the-first", "THR-NEW-05 THR-DEL-04", "THR-NEW-07"),
    _mutant("without POST /messages/:messageId/thread threadMeta", "THR-NEW-01", "THR-NEW-*"),
    _mutant("without POST /messages/:messageId/thread threadMeta.participants", "THR-NEW-03", "THR-NEW-*"),
    _mutant("without POST /messages/:messageId/thread reply.threadId", "THR-NEW-02"),
    _mutant("limit-49", "THR-GET-02"),
    _mutant("before-inclusive", "THR-GET-03", "THR-GET-04 THR-GET-11"),
    _mutant("newest-first", "THR-GET-11"),
    _mutant("anyone-edits", "THR-EDIT-03"),
    _mutant("anyone-deletes-replies", "THR-DEL-03", "THR-EDIT-05"),
    _mutant("delete-keeps", "THR-DEL-01 THR-DEL-04", "THR-DEL-*"),
    _mutant("edit-lost", "THR-EDIT-02"),
]

IMAGES = [
    _mutant("status POST /channels/:channelId/messages/image 201", "IMG-UP-01", "IMG-UP-*"),
    _mutant("image-name-kept", "IMG-UP-05 IMG-UP-07 IMG-UP-08", "IMG-UP-06"),
    _mutant("images-of-any-format", "IMG-UP-10"),
    _mutant("images-of-any-size", "IMG-UP-17", "IMG-UP-18"),
    _mutant("images-small", "IMG-UP-16", "IMG-UP-18"),
    _mutant("images-cut", "IMG-GET-01"),
    _mutant("images-without-type", "IMG-GET-02"),
    _mutant("thumbnails-are-jpeg", "IMG-GET-05"),
    _mutant("thumbnail-lost", "IMG-GET-04", "IMG-GET-05"),
    _mutant("images-of-any-place", "IMG-DM-05"),
    _mutant("outsiders-see-direct-images", "IMG-DM-03 IMG-DM-04"),
    _mutant("images-of-no-origin", "IMG-GET-14"),
    _mutant("images-without-number", "IMG-REF-03"),
    _mutant("refusal POST /messages/:messageId/thread/image 404 500", "IMG-THR-03"),
]

CONVERSATIONS = [
    _mutant("conversation-by-order", "CONV-NEW-05", "CONV-LIST-06"),
    _mutant("conversation-always-new", "CONV-NEW-04", "CONV-NEW-05"),
    _mutant("other-user-is-oneself", "CONV-NEW-03 CONV-LIST-03", "CONV-NEW-05"),
    _mutant("conversations-of-all", "CONV-LIST-02"),
    _mutant("last-message-not-kept", "CONV-LIST-04", "CONV-LIST-06"),
    _mutant("admin-reads-direct", "CONV-MSG-04"),
    _mutant("outsiders-write-direct", "CONV-MSG-05"),
    _mutant("outsiders-delete-direct", "CONV-DEL-03", "CONV-DEL-01"),
    _mutant("direct-by-channel-route", "CONV-MSG-10"),
    _mutant("limit-49", "CONV-MSG-08", "CONV-MSG-13"),
    _mutant("before-ignored", "CONV-MSG-09", "CONV-MSG-13"),
    _mutant("anyone-edits", "CONV-EDIT-02"),
    _mutant("updated-at-creation", "CONV-MSG-12"),
    _mutant("newest-first", "CONV-MSG-13"),
    _mutant("delete-keeps", "CONV-DEL-01", "CONV-DEL-05"),
]

DEV_MODE = [
    _mutant("with POST /auth/dev-login user.passwordHash", "DEV-04"),
    _mutant("without POST /auth/dev-login user.isAdmin", "DEV-01", "DEV-08"),
    _mutant("uninvited-sign-in", "DEV-06 DEV-07"),
    _mutant("refusal POST /auth/dev-login 400 500", "DEV-11"),
    _mutant("mode-dev-always", "DEV-10", world="password"),
]

MAGIC_LINK = [
    _mutant("without POST /auth/login message", "MAGIC-REQ-01", world="magic"),
    _mutant("sign-in-tells", "MAGIC-REQ-02", world="magic"),
    _mutant("link-to-anybody", "MAGIC-REQ-04", world="magic"),
    _mutant("refusal POST /auth/login 400 500", "MAGIC-REQ-08", world="magic"),
    _mutant("mode-magic-link-always", "MAGIC-REQ-10 MAGIC-VER-14"),
    _mutant("link-constant", "MAGIC-MAIL-07", "MAGIC-MAIL-08", world="magic"),
    _mutant(
        "without POST /auth/verify refreshToken", "MAGIC-VER-01", "MAGIC-VER-02 MAGIC-VER-03", world="magic"
    ),
    _mutant("link-reusable", "MAGIC-VER-03", world="magic"),
    _mutant("link-of-another", "MAGIC-VER-04", world="magic"),
    _mutant("link-never-expires", "MAGIC-VER-05", world="magic short"),
    _mutant("verify-makes-nobody", "MAGIC-VER-09", world="magic open"),
]

PASSWORDS = [
    _mutant("without POST /auth/password-login tokenType", "PWD-LOGIN-01", world="password"),
    _mutant("exp-wrong", "PWD-LOGIN-02", world="password"),
    _mutant("any-password-signs-in", "PWD-LOGIN-04", "PWD-LOGIN-06", world="password"),
    _mutant("refusal POST /auth/password-login 401 400", "PWD-LOGIN-05", "PWD-LOGIN-04", world="password"),
    _mutant("no-password-signs-in", "PWD-LOGIN-07", world="password"),
    _mutant("mode-password-always", "PWD-SETUP-14 PWD-RESET-12"),
    _mutant("short-passwords", "PWD-LEN-01", "PWD-LEN-02", world="password"),
    _mutant("short-passwords", "PWD-SETUP-06", "PWD-SETUP-08", world="password"),
    _mutant("setup-only-in-body", "PWD-SETUP-02", world="password"),
    _mutant("link-reusable", "PWD-SETUP-09", world="password"),
    _mutant("link-of-another", "PWD-SETUP-10", world="password"),
    _mutant("without POST /auth/setup-password exp", "PWD-SETUP-01", world="password"),
    _mutant("reset-tells", "PWD-RESET-02", world="password"),
    _mutant("no-mail", "PWD-RESET-03", "PWD-RESET-04 PWD-RESET-05", world="password"),
    _mutant("reset-without-password", "PWD-RESET-05", world="password"),
    _mutant("reset-lost", "PWD-ADMIN-01", "PWD-ADMIN-08", world="password"),
    _mutant("reset-unknown-404", "PWD-ADMIN-03", world="password"),
    _mutant("any-user POST /users/:id/reset-password", "PWD-ADMIN-04", world="password"),
    _mutant("register-takes-over", "PWD-REG-03", "PWD-REG-11", world="password open"),
    _mutant("register-always", "PWD-REG-05", world="password"),
    _mutant(
        "with GET /users users.*.passwordHash", "PWD-LEAK-01 USER-LIST-03", "USER-LIST-04", world="password"
    ),
]

SESSIONS = [
    _mutant(
        "without POST /auth/refresh refreshToken", "SESS-REF-01", "SESS-REF-02 SESS-REF-10", world="password"
    ),
    _mutant("refresh-asks-token", "SESS-REF-03", "SESS-REF-*", world="password"),
    _mutant("refusal POST /auth/refresh 401 403", "SESS-REF-05", "SESS-REF-08 SESS-REF-11", world="password"),
    _mutant("status POST /auth/logout 204", "SESS-OUT-01", "SESS-OUT-04 SESS-OUT-05", world="password"),
    _mutant("sessions-of-all", "SESS-LIST-04", "SESS-LIST-02", world="password"),
    _mutant("sessions-of-all-end", "SESS-DEL-03", world="password"),
    _mutant("sessions-without-limit", "SESS-LIM-01", "SESS-LIM-07 SESS-LIM-03", world="password"),
    _mutant("oldest-session-kept", "SESS-LIM-01 SESS-LIM-02", "SESS-LIM-07", world="password"),
    _mutant("jwt-never-expires", "AUTH-TOK-06", world="password short"),
    _mutant("refresh-token-signs-in", "AUTH-TOK-11", world="password"),
]

OAUTH = [
    _mutant("unproven-stays", "OAUTH-CB-29", world="oauth open"),
    _mutant("providers-miscounted", "OAUTH-PROV-02", world="oauth"),
    _mutant(
        "oauth-without-state",
        "OAUTH-START-03",
        "OAUTH-CB-* OAUTH-START-04 OAUTH-MODE-01 OAUTH-MODE-02",
        world="oauth",
    ),
    _mutant(
        "oauth-code-lost",
        "OAUTH-CB-04",
        "OAUTH-CB-* OAUTH-START-04 OAUTH-MODE-01 OAUTH-MODE-02",
        world="oauth",
    ),
    _mutant("state-reusable", "OAUTH-CB-06", "OAUTH-CB-25 OAUTH-MODE-02", world="oauth"),
    _mutant("state-unchecked", "OAUTH-CB-09", "OAUTH-CB-06", world="oauth"),
    _mutant("state-of-any-address", "OAUTH-CB-11", world="oauth"),
    _mutant("oauth-errors-as-json", "OAUTH-CB-07 OAUTH-CB-27", "OAUTH-CB-*", world="oauth"),
    _mutant("uninvited-sign-in", "OAUTH-CB-17", world="oauth"),
    _mutant("oauth-without-limit", "OAUTH-RATE-01", world="oauth"),
]

USERS = [
    _mutant("without GET /users users.*.createdAt", "USER-LIST-01"),
    _mutant("removal-lost", "USER-DEL-01 USER-LIST-06", "USER-DEL-*"),
    _mutant("admins-added-as-users", "USER-ADD-02"),
    _mutant("any-user POST /users/add", "USER-ADD-03"),
    _mutant("same-email-twice", "USER-ADD-08", "USER-ADD-15"),
    _mutant("no-invite-mail", "USER-ADD-05", world="password"),
    _mutant("without PUT /users/me user.email", "USER-ME-01"),
    _mutant("with PUT /users/me user.createdAt", "USER-ME-02"),
    _mutant("names-unseen", "USER-ME-12"),
    _mutant("names-unsqueezed", "USER-ME-13"),
    _mutant("names-lookalike", "USER-ME-14"),
    _mutant("user-rename-lost", "USER-ME-03", "USER-ME-09"),
    _mutant("refusal PUT /users/me 400 422", "USER-ME-04", "USER-ME-*"),
    _mutant("refusal DELETE /users/:id 404 500", "USER-DEL-05"),
    _mutant("last-admin-goes", "USER-EXIT-02", "USER-DEL-02"),
    _mutant("without POST /users/exit message", "USER-EXIT-01"),
]

WEBHOOKS = [
    _mutant("without POST /webhooks webhook.createdBy", "HOOK-NEW-01", "HOOK-NEW-03 HOOK-NEW-04"),
    _mutant("webhook-token-short", "HOOK-NEW-02"),
    _mutant("webhook-token-constant", "HOOK-NEW-04"),
    _mutant("webhook-of-anything", "HOOK-NEW-05 HOOK-NEW-07", "HOOK-NEW-06"),
    _mutant("webhooks-list-tokens", "HOOK-LIST-02"),
    _mutant("webhooks-own-only", "HOOK-LIST-03"),
    _mutant("webhook-delete-lost", "HOOK-DEL-01 HOOK-DEL-02", "HOOK-DEL-03"),
    _mutant("webhook-author-plain", "HOOK-POST-02", "HOOK-POST-01 HOOK-POST-03"),
    _mutant("webhook-token-not-asked", "HOOK-POST-04 HOOK-POST-06", "HOOK-POST-*"),
    _mutant("webhook-token-of-another", "HOOK-POST-05"),
    _mutant("webhook-posts-anywhere", "HOOK-POST-09"),
    _mutant("webhooks-list-tokens", "HOOK-POST-14", "*", beside="HOOK-LIST-02"),
    _mutant("webhook-event-token", "HOOK-POST-14", "*", beside="EVT-NEWHOOK-02"),
]

STREAM = [
    _mutant("events-as-text", "SSE-OPEN-01", "SSE-OPEN-02"),
    _mutant("events-token-in-header-only", "SSE-OPEN-01", "SSE-OPEN-* SSE-CONN-*"),
    _mutant("events-token-in-query-only", "SSE-OPEN-02", "SSE-OPEN-* SSE-CONN-*"),
    _mutant("refusal GET /events 401 403", "SSE-OPEN-03", "SSE-OPEN-05 SSE-OPEN-10"),
    _mutant("event-header", "SSE-FRAME-04 SSE-FRAME-02", "*", beside="EVT-NEWMSG-02"),
    _mutant("event-in-two-lines", "SSE-FRAME-03", "*", beside="EVT-NEWMSG-02"),
    _mutant("event-payload-as-text", "SSE-FRAME-07", "*", beside="EVT-NEWMSG-02"),
    _mutant("event-raw-line-ends", "SSE-FRAME-10", "SSE-FRAME-11"),
    _mutant("event-in-latin-1", "SSE-FRAME-09", "*", beside="SSE-FRAME-10"),
    _mutant("connected-second", "SSE-FRAME-01", "*", beside="EVT-NEWMSG-02"),
    _mutant("connected-without-id", "SSE-CONN-01", "SSE-CONN-03"),
    _mutant("connected-other-user", "SSE-CONN-02"),
    _mutant("silent NEW_DM_MESSAGE", "SSE-DM-01"),
    _mutant("public NEW_DM_MESSAGE", "SSE-DM-02 SSE-DM-08", "SSE-DM-*"),
    _mutant("public UPDATE_DM_MESSAGE", "SSE-DM-03", "SSE-DM-04"),
    _mutant("public DELETE_DM_MESSAGE", "SSE-DM-04"),
    _mutant("public NEW_CONVERSATION", "SSE-DM-06", "SSE-DM-*"),
    _mutant("second-stream-deaf", "SSE-LIFE-05"),
    _mutant("events-reordered", "SSE-ORDER-01", "SSE-*"),
    _mutant("direct-told-to-all", "SSE-DM-05", "*", beside="SSE-DM-01"),
]

EVENTS = [
    _together(
        "EVT-*",
        _mutant("eventless NEW_CHANNEL createdAt", "EVT-NEWCHAN-01", beside="EVT-NEWCHAN-02"),
        _mutant("eventless NEW_MESSAGE author", "EVT-NEWMSG-01", beside="EVT-NEWMSG-02"),
        _mutant("eventless NEW_WEBHOOK name", "EVT-NEWHOOK-01", beside="EVT-NEWHOOK-02"),
        _mutant("eventless UPDATE_SERVER_SETTINGS name", "EVT-SET-01", beside="EVT-SET-02"),
        _mutant("eventless NEW_CONVERSATION createdAt", "EVT-NEWCONV-01", beside="EVT-NEWCONV-02"),
        _mutant("eventless NEW_USER email", "EVT-NEWUSER-01", beside="EVT-NEWUSER-02"),
        _mutant("eventless NEW_REACTION userId", "EVT-NEWREACT-01", beside="EVT-NEWREACT-02"),
        _mutant("eventless NEW_THREAD_REPLY threadMeta", "EVT-NEWREPLY-01", beside="EVT-NEWREPLY-02"),
    ),
    _together(
        "EVT-*",
        _mutant("eventless UPDATE_CHANNEL name", "EVT-UPDCHAN-01", beside="EVT-UPDCHAN-02"),
        _mutant("eventless UPDATE_MESSAGE updatedAt", "EVT-UPDMSG-01", beside="EVT-UPDMSG-02"),
        _mutant("eventless DELETE_WEBHOOK channelId", "EVT-DELHOOK-01", beside="EVT-DELHOOK-02"),
        _mutant("eventless NEW_DM_MESSAGE participants", "EVT-NEWDM-01", beside="EVT-NEWDM-02"),
        _mutant("eventless UPDATE_USER userName", "EVT-UPDUSER-01", beside="EVT-UPDUSER-02"),
        _mutant("eventless DELETE_REACTION messageId", "EVT-DELREACT-01", beside="EVT-DELREACT-02"),
        _mutant("eventless DELETE_THREAD_REPLY threadId", "EVT-DELREPLY-01", beside="EVT-DELREPLY-02"),
    ),
    _together(
        "EVT-*",
        _mutant("eventless DELETE_CHANNEL name", "EVT-DELCHAN-01", beside="EVT-DELCHAN-02"),
        _mutant("eventless DELETE_MESSAGE channelId", "EVT-DELMSG-01", beside="EVT-DELMSG-02"),
        _mutant("eventless UPDATE_DM_MESSAGE participants", "EVT-UPDDM-01", beside="EVT-UPDDM-02"),
        _mutant("eventless REMOVE_USER email", "EVT-REMUSER-01", beside="EVT-REMUSER-02"),
    ),
    _together(
        "EVT-*",
        _mutant("eventless DELETE_DM_MESSAGE conversationId", "EVT-DELDM-01", beside="EVT-DELDM-02"),
        _mutant("eventless USER_EXIT userName", "EVT-EXIT-01", beside="EVT-EXIT-02"),
    ),
    _mutant("eventless NEW_THREAD_REPLY parentAuthorId", "EVT-NEWREPLY-04"),
    _mutant("meta-of-before", "EVT-DELREPLY-03"),
    _mutant("silent NEW_MESSAGE", "EVT-NEWMSG-02", "EVT-UPDMSG-02 EVT-DELMSG-02"),
    _mutant("silent UPDATE_CHANNEL", "EVT-UPDCHAN-02"),
    _mutant("twice NEW_REACTION", "EVT-NEWREACT-02", "EVT-NEWREACT-03"),
]

ERRORS = [
    _mutant("errors message", "ERR-SHAPE-01", "*", beside="CHAN-NEW-02"),
    _mutant("errors-extra", "ERR-SHAPE-02", beside="CHAN-NEW-02"),
    _mutant("errors-text", "ERR-SHAPE-03", beside="CHAN-NEW-02"),
    _mutant("refusal POST /channels 400 500", "ERR-CODE-03", "*", beside="CHAN-NEW-02"),
]

HOSTILE = [
    _mutant("anything-is-text", "NEG-TYPE-01 NEG-TYPE-02 NEG-TYPE-03", "NEG-TYPE-04 NEG-TYPE-05"),
    _mutant("bad-json-fails", "NEG-JSON-13 NEG-BODY-03", "NEG-JSON-* NEG-BODY-02 NEG-BODY-04"),
    _mutant("refusal POST /channels/:channelId/messages 404 500", "NEG-ID-01"),
    _mutant("anyone-edits", "NEG-IDOR-01"),
    _mutant("caller-asked-once", "NEG-HELD-01 NEG-HELD-02"),
]

PROPERTIES = [
    _mutant("reactions-by-user", "PROP-MODEL-03", "PROP-*"),
    _mutant("before-inclusive", "PROP-PAGE-01", "PROP-*"),
    _mutant("post-lost", "PROP-ACK-01", "PROP-*"),
    _mutant("edit-lost", "PROP-MODEL-02", "PROP-*"),
    _mutant("reaction-replaces", "PROP-MODEL-03", "PROP-*"),
]

GROUPS: dict[str, list[Mutant]] = {
    "general": GENERAL,
    "credentials": CREDENTIALS,
    "dev mode": DEV_MODE,
    "magic link": MAGIC_LINK,
    "passwords": PASSWORDS,
    "sessions": SESSIONS,
    "oauth": OAUTH,
    "users": USERS,
    "settings": SETTINGS,
    "channels": CHANNELS,
    "messages": MESSAGES,
    "reactions": REACTIONS,
    "threads": THREADS,
    "images": IMAGES,
    "conversations": CONVERSATIONS,
    "webhooks": WEBHOOKS,
    "stream": STREAM,
    "events": EVENTS,
    "errors": ERRORS,
    "hostile input": HOSTILE,
    "properties": PROPERTIES,
}
MUTANTS = [mutant for group in GROUPS.values() for mutant in group]
