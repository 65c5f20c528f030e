"""A push to try a device, and what its push service says to it."""

from __future__ import annotations

from collections.abc import Sequence

from teamchat_web_push.connection import Answer, Services
from teamchat_web_push.encryption import encrypted
from teamchat_web_push.payload import Writer
from teamchat_web_push.sender import headers
from teamchat_web_push.subscriptions import Device
from teamchat_web_push.vapid import Vapid

_TTL_SECONDS = 60
_EXPLAINED = {
    200: "The push service took it.",
    201: "The push service took it.",
    202: "The push service took it.",
    204: "The push service took it.",
    401: "The push service does not accept this server's key. Turn notices off and on on that device.",
    403: "The push service does not accept this server's key. Turn notices off and on on that device.",
    404: "The device has given its subscription up. Turn notices on again on it.",
    410: "The device has given its subscription up. Turn notices on again on it.",
    413: "The push service found it too long.",
    429: "The push service gets too many pushes at present; it is tried again later.",
}


async def try_device(
    services: Services, vapid: Vapid, device: Device, *, app_url: str, server: str, badge: int = 0
) -> Answer:
    """Send a push to a device, once."""
    payload = Writer(app_url).test(language=device.language, badge=badge, server=server)
    body = encrypted(payload.encoded(), *device.keys)
    return await services.post(
        device.endpoint, headers(vapid, device.endpoint, "test", _TTL_SECONDS, None), body
    )


def explained(answer: Answer) -> str:
    """Return a sentence about an answer."""
    if answer.status == 0:
        return f"The push service can't be reached: {answer.reason}."
    if answer.status in _EXPLAINED:
        return _EXPLAINED[answer.status]
    what = "fails at present" if answer.status >= 500 else "does not take it"
    return f"The push service {what} ({answer.status})."


def all_taken(answers: Sequence[Answer]) -> bool:
    """Return whether each was taken."""
    return all(200 <= answer.status < 300 for answer in answers)
