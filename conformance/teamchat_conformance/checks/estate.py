"""One thing of each kind that an endpoint can name, a request that is good for each, and a look at them all.

`picture` shows everything that a request to any endpoint could change of what the run
has made, so two pictures that are equal show that nothing happened.
"""

from __future__ import annotations

from collections.abc import Awaitable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from teamchat_conformance.actors import Actor
from teamchat_conformance.checks.steps import at, items, messages, thread, unknown
from teamchat_conformance.endpoints import Endpoint
from teamchat_conformance.expect import Answered, require
from teamchat_conformance.fixtures import images
from teamchat_conformance.http import Client
from teamchat_conformance.paths import segment
from teamchat_conformance.run import PASSWORD, Run
from teamchat_conformance.verdicts import Miss

T = TypeVar("T")

_NOT_THERE = (404, 405)
NO_IMAGE = "1700000000000-missing.png"


@dataclass(frozen=True)
class Estate:
    """Things that the owner and admin A made. The conversation is the owner's and the partner's.

    Owner and partner are users U and V, or users of its own (`apart`); `user_id` is a bystander's.
    """

    run: Run
    owner: Actor
    partner: Actor
    user_id: str
    channel_id: str
    message_id: str
    reply_id: str
    conversation_id: str
    direct_id: str
    webhook: Mapping[str, Any]
    channel_image: str
    direct_image: str

    @classmethod
    async def make(cls, run: Run) -> Estate:
        """Make one of each, of users U and V."""
        return await cls._of(run, run.u, run.v)

    @classmethod
    async def apart(cls, run: Run) -> Estate:
        """Make one of each that nobody else uses: a server that takes bad input spoils nothing but these."""
        return await cls._of(run, await run.new_user(name="an owner"), await run.new_user(name="a partner"))

    @classmethod
    async def _of(cls, run: Run, owner: Actor, partner: Actor) -> Estate:
        bystander = await run.new_user(name="a bystander")
        channel_id = await run.channel()
        message = await run.post(owner, channel_id)
        reply = await _if_there(run, run.reply(owner, message["id"]), {"reply": {"id": unknown(run)}})
        conversation_id = await _if_there(run, run.conversation(owner, partner), unknown(run))
        direct = await _if_there(run, run.direct(owner, conversation_id), {"id": unknown(run)})
        no_webhook = {"id": unknown(run), "token": "0" * 64}
        return cls(
            run,
            owner,
            partner,
            bystander.user_id,
            channel_id,
            str(message["id"]),
            str(reply["reply"]["id"]),
            conversation_id,
            str(direct["id"]),
            await _if_there(run, run.webhook(channel_id), no_webhook),
            await _upload(owner, at("channels", channel_id, "messages", "image")),
            await _upload(owner, at("conversations", conversation_id, "messages", "image")),
        )

    def values(self, endpoint: Endpoint) -> dict[str, str]:
        """Return what stands in the path of an endpoint, escaped."""
        is_direct = "conversationId" in endpoint.parameters
        found = {
            "id": self.user_id,
            "channelId": self.channel_id,
            "messageId": self.direct_id if is_direct else self.message_id,
            "replyId": self.reply_id,
            "conversationId": self.conversation_id,
            "webhookId": str(self.webhook["id"]),
            "filename": self.direct_image if is_direct else self.channel_image,
            "providerId": "provider",
        }
        return {name: segment(value) for name, value in found.items()}

    def body(self, endpoint: Endpoint) -> dict[str, Any]:
        """Return a body that is good for an endpoint, with texts of its own."""
        run = self.run
        found: dict[str, Any] = {
            "content": run.text(),
            "name": run.text(),
            "userName": run.text(),
            "reaction": "ok",
            "filename": "one.png",
            "image": images.encoded(images.png()),
            "email": run.email(),
            "role": "user",
            "password": PASSWORD,
            "targetUserId": run.w.user_id,
            "channelId": self.channel_id,
            "refreshToken": "0" * 64,
        }
        return {name: found[name] for name in endpoint.required_fields}

    async def ask(
        self, asker: Client, endpoint: Endpoint, values: Mapping[str, str] | None = None, **options: Any
    ) -> Answered:
        """Send a good request to an endpoint; `values` stand in its path in place of what is there."""
        target = endpoint.target({**self.values(endpoint), **(values or {})})
        if endpoint.fields and "raw" not in options:
            return await asker.ask(endpoint.method, target, self.body(endpoint), **options)
        return await asker.ask(endpoint.method, target, **options)

    async def rightly(
        self,
        endpoint: Endpoint,
        body: Any = None,
        *,
        values: Mapping[str, str] | None = None,
        **options: Any,
    ) -> Answered:
        """Send a request by someone who may: a good one but for what is given."""
        target = endpoint.target({**self.values(endpoint), **(values or {})})
        asker: Client = self.run.a if endpoint.admin_only else self.owner
        if endpoint.auth != "access":
            asker = self.run.n
        if endpoint.auth == "webhook":
            options = {"token": self.webhook["token"], **options}
        if endpoint.fields and "raw" not in options:
            return await asker.ask(
                endpoint.method, target, self.body(endpoint) if body is None else body, **options
            )
        return await asker.ask(endpoint.method, target, **options)

    async def picture(self) -> dict[str, Any]:
        """Return how everything looks."""
        run = self.run
        talks_at = at("conversations", self.conversation_id, "messages")
        users = [one for one in await items(run.a, "/users", "users") if run.id in str(one.get("email"))]
        hooks = [
            one
            for one in await _if_there(run, items(run.a, "/webhooks", "webhooks"), [])
            if one.get("channelId") == self.channel_id
        ]
        conversations = await _if_there(run, items(run.w, "/conversations", "conversations"), [])
        settings = await run.a.get("/server/settings")
        channels = await items(run.a, "/channels", "channels")
        return {
            "messages": await messages(run.u, self.channel_id),
            "replies": await _if_there(run, thread(run.u, self.message_id), []),
            "direct messages": await _if_there(run, items(self.partner, talks_at, "messages"), []),
            "users": {one["id"]: (one.get("userName"), one.get("isAdmin")) for one in users},
            "webhooks": {one["id"]: one.get("name") for one in hooks},
            "channels": {one["id"]: one.get("name") for one in channels if run.id in str(one.get("name"))},
            "conversations": {one["id"] for one in conversations},
            "the server": settings.json.get("name") if settings.status == 200 else None,
        }

    async def require_unchanged(self, before: dict[str, Any]) -> None:
        """Require that everything looks as it did."""
        after = await self.picture()
        changed = [what for what in before if before[what] != after[what]]
        require(not changed, f"it was refused and yet changed {', '.join(changed)}")


async def _if_there(run: Run, asking: Awaitable[T], otherwise: T) -> T:
    """Return what was asked for, or something else from a server that has no such endpoint.

    Whether it should have one is for that endpoint's own checks to say.
    """
    try:
        return await asking
    except Miss:
        if run.recorder.exchanges[-1].status in _NOT_THERE:
            return otherwise
        raise


async def _upload(owner: Actor, target: str) -> str:
    """Upload an image and return its name; what that would show is for the checks of images to say."""
    answer = await owner.post(target, {"filename": "one.png", "image": images.encoded(images.png())})
    return str(answer.json["filename"]) if answer.status == 200 else NO_IMAGE
