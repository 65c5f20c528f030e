"""What plugin authors test with: contracts that implementations must keep, and a real server to try them in.

A contract is a class of tests.  Subclass it in a pytest module and give the one or two methods that open what
is under test; every test it brings must then pass, as it does for the implementations that come with
teamchat::

    class TestBucketStore(ImageStoreContract):
        @asynccontextmanager
        async def open_store(self, tmp_path):
            async with open_bucket(BucketOptions(url=...)) as store:
                yield store

`running` is a whole server in a process of its own, `listening` reads its live stream, `mailed` waits for its
mails, and `provider` is a provider of identities to sign in at.

It needs ``pytest`` and ``pytest-trio``, which are the extra ``testing`` of teamchat, and ``trio_mode = true``
in the configuration of pytest.
"""

from pkgutil import iter_modules

try:
    import pytest
    import pytest_trio  # type: ignore[import-untyped]  # noqa: F401  # the contracts' tests run by it
except ModuleNotFoundError as missing:
    raise ModuleNotFoundError(
        f"teamchat.testing needs {missing.name}, which is not installed here: pip install pytest pytest-trio",
        name=missing.name,
    ) from missing

# Before the modules are imported, so that a failing assertion in them tells both sides.
pytest.register_assert_rewrite(*(f"{__name__}.{module.name}" for module in iter_modules(__path__)))

from teamchat.testing.auth import AuthModeContract  # noqa: E402
from teamchat.testing.bodies import MALFORMED_BODIES  # noqa: E402
from teamchat.testing.capabilities import CapabilityContract  # noqa: E402
from teamchat.testing.commands import CommandContract  # noqa: E402
from teamchat.testing.file_checks import FileCheckContract  # noqa: E402
from teamchat.testing.files import FileStoreContract  # noqa: E402
from teamchat.testing.filters import MessageFilterContract  # noqa: E402
from teamchat.testing.images import ImageStoreContract  # noqa: E402
from teamchat.testing.listeners import EventListenerContract, sample_events  # noqa: E402
from teamchat.testing.mailer import MailerContract, RemoteMailerContract  # noqa: E402
from teamchat.testing.oauth import OAuthProviderContract, Said  # noqa: E402
from teamchat.testing.outbox import SentMail, mailed  # noqa: E402
from teamchat.testing.provider import Provider, Received, Reply, provider  # noqa: E402
from teamchat.testing.routes import RoutesContract  # noqa: E402
from teamchat.testing.second_steps import SecondStepContract  # noqa: E402
from teamchat.testing.servers import ADMIN, DEADLINE, PASSWORD, Server, running  # noqa: E402
from teamchat.testing.services import ServiceContract  # noqa: E402
from teamchat.testing.storage import StorageContract  # noqa: E402
from teamchat.testing.streams import Events, listening  # noqa: E402

__all__ = [
    "ADMIN",
    "DEADLINE",
    "MALFORMED_BODIES",
    "PASSWORD",
    "AuthModeContract",
    "CapabilityContract",
    "CommandContract",
    "EventListenerContract",
    "Events",
    "FileCheckContract",
    "FileStoreContract",
    "ImageStoreContract",
    "MailerContract",
    "MessageFilterContract",
    "OAuthProviderContract",
    "Provider",
    "Received",
    "RemoteMailerContract",
    "Reply",
    "RoutesContract",
    "Said",
    "SecondStepContract",
    "SentMail",
    "Server",
    "ServiceContract",
    "StorageContract",
    "listening",
    "mailed",
    "provider",
    "running",
    "sample_events",
]
