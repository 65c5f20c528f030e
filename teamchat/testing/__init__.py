"""What plugin authors hold their implementations to: contract classes to subclass in a pytest module.

Each class opens what it tests through one method, which the subclass gives; every test it brings must
then pass.  They need ``pytest`` and ``pytest-trio`` with ``trio_mode = true``::

    class TestBucketStore(ImageStoreContract):
        @asynccontextmanager
        async def open_store(self, tmp_path):
            async with open_bucket(BucketOptions(url=...)) as store:
                yield store

`StorageContract` is for `teamchat.Storage`, `ImageStoreContract` for `teamchat.ImageStore`,
`AuthModeContract` for `teamchat.AuthMode`, `MailerContract` for `teamchat.Mailer`, `OAuthProviderContract`
for `teamchat.OAuthProvider`, `MessageFilterContract` for `teamchat.MessageFilter`, `EventListenerContract`
for `teamchat.EventListener`, `ServiceContract` for `teamchat.Service`, `RoutesContract` for blueprints.  The
implementations that come with teamchat pass the same.
`MALFORMED_BODIES` are for endpoints of your own, `provider` runs a provider of identities to sign in at.
"""

import pytest

# Before the modules are imported, so that a failing assertion in them tells both sides.
pytest.register_assert_rewrite(
    *(
        f"teamchat.testing.{name}"
        for name in (
            "storage",
            "shared_storage",
            "storage_steps",
            "images",
            "auth",
            "mailer",
            "provider",
            "filters",
            "listeners",
        )
    )
)

from teamchat.testing.auth import AuthModeContract  # noqa: E402
from teamchat.testing.bodies import MALFORMED_BODIES  # noqa: E402
from teamchat.testing.filters import MessageFilterContract  # noqa: E402
from teamchat.testing.images import ImageStoreContract  # noqa: E402
from teamchat.testing.listeners import EventListenerContract, sample_events  # noqa: E402
from teamchat.testing.mailer import MailerContract, RemoteMailerContract  # noqa: E402
from teamchat.testing.oauth import OAuthProviderContract, Said  # noqa: E402
from teamchat.testing.provider import Provider, Reply, provider  # noqa: E402
from teamchat.testing.routes import RoutesContract  # noqa: E402
from teamchat.testing.services import ServiceContract  # noqa: E402
from teamchat.testing.storage import StorageContract  # noqa: E402

__all__ = [
    "MALFORMED_BODIES",
    "AuthModeContract",
    "EventListenerContract",
    "ImageStoreContract",
    "MailerContract",
    "MessageFilterContract",
    "OAuthProviderContract",
    "Provider",
    "RemoteMailerContract",
    "Reply",
    "RoutesContract",
    "Said",
    "ServiceContract",
    "StorageContract",
    "provider",
    "sample_events",
]
