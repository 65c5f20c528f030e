"""The endpoints of Web Push."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from teamchat import BadRequest, Notices, TooManyRequests
from teamchat.model import Caller
from teamchat.web import SESSION_ALONE, Answer, Section, Success, read_limit
from teamchat_web_push.connection import open_services
from teamchat_web_push.limits import Limits
from teamchat_web_push.subscriptions import Subscription, SubscriptionDraft, Subscriptions
from teamchat_web_push.trying import explained, try_device
from teamchat_web_push.vapid import VapidKey, base64url
from teamchat_web_push.why import Decision, decisions

if TYPE_CHECKING:
    from teamchat import Teamchat


class PushKey(Answer, frozen=True):
    """The server's key, for ``pushManager.subscribe``: an uncompressed point of P-256 in base64url."""

    key: str


class OneSubscription(Answer, frozen=True):
    """A device that gets pushes."""

    subscription: Subscription


class OwnSubscriptions(Answer, frozen=True):
    """The devices on which one gets pushes, oldest first."""

    subscriptions: Sequence[Subscription]
    next: str | None


class Sent(Struct, frozen=True):
    """What the push service has answered: `status` is 0 if it was not reached; `reason` explains it."""

    status: int
    reason: str


class TestAnswer(Answer, frozen=True):
    """What became of a push to try a device."""

    sent: Sent


class Why(Answer, frozen=True):
    """What was decided of a message for each of one's devices."""

    decisions: Sequence[Decision]


def section_for(
    app: Teamchat, notices: Notices, subscriptions: Subscriptions, own_key: VapidKey, allowed: Sequence[str]
) -> Section:
    """Return the endpoints."""
    section, limits = Section("web push"), Limits()

    @section.endpoint("GET", "/push/key", scopes=SESSION_ALONE, answer=PushKey)
    async def get_push_key(caller: Caller) -> PushKey:  # noqa: ARG001  # whoever is signed in
        """Read the key that a browser subscribes with."""
        return PushKey(base64url((await own_key.get()).public))

    @section.endpoint(
        "GET",
        "/push/subscriptions",
        scopes=SESSION_ALONE,
        answer=OwnSubscriptions,
        query=("limit", "cursor"),
    )
    async def list_push_subscriptions(
        caller: Caller, limit: str | None, cursor: str | None
    ) -> OwnSubscriptions:
        """List the devices on which one gets pushes."""
        return OwnSubscriptions(*await subscriptions.page(caller, read_limit(limit), cursor))

    @section.endpoint(
        "POST", "/push/subscriptions", scopes=SESSION_ALONE, body=SubscriptionDraft, answer=OneSubscription
    )
    async def add_push_subscription(
        caller: Caller, body: SubscriptionDraft, key: str | None
    ) -> OneSubscription:
        """Have pushes sent to this device, as long as its session lasts."""
        return OneSubscription(await subscriptions.add(caller, body, key))

    @section.endpoint(
        "GET", "/push/subscriptions/:subscriptionId", scopes=SESSION_ALONE, answer=OneSubscription
    )
    async def get_push_subscription(caller: Caller, subscription_id: str) -> OneSubscription:
        """Read one of the devices on which one gets pushes."""
        return OneSubscription(await subscriptions.get(caller, subscription_id))

    @section.endpoint("DELETE", "/push/subscriptions/:subscriptionId", scopes=SESSION_ALONE, answer=Success)
    async def remove_push_subscription(caller: Caller, subscription_id: str) -> Success:
        """Have no pushes sent to a device any more."""
        await subscriptions.remove(caller, subscription_id)
        return Success()

    @section.endpoint(
        "POST", "/push/subscriptions/:subscriptionId/test", scopes=SESSION_ALONE, answer=TestAnswer
    )
    async def test_push_subscription(caller: Caller, subscription_id: str) -> TestAnswer:
        """Send a push to one of one's devices, and read what its push service says."""
        device = await subscriptions.one(caller, subscription_id)
        wait = limits.count(caller.user.id)
        if wait is not None:
            raise TooManyRequests(wait)
        async with app.storage.read() as tx:
            server = await app.server_name(tx)
            badges = await notices.badges(tx, [caller.user.id])
        async with open_services(allowed) as services:
            answer = await try_device(
                services,
                await own_key.get(),
                device,
                app_url=app.settings.auth.app_url,
                server=server,
                badge=badges[caller.user.id],
            )
        await subscriptions.note(device, answer.status, answer.reason)
        return TestAnswer(Sent(answer.status, explained(answer)))

    @section.endpoint("GET", "/me/notifications/why", within_places=True, answer=Why, query=("messageId",))
    async def explain_push(caller: Caller, message_id: str | None) -> Why:
        """Read why a message was pushed to one's devices, or was not; it is known for 7 days."""
        if message_id is None:
            raise BadRequest("messageId is missing.")
        return Why(await decisions(app, notices, caller, message_id))

    return section
