"""What every second step must do, asked of codes by time; tests/second_factor asks the rest."""

from __future__ import annotations

from base64 import b32decode
from contextlib import AbstractAsyncContextManager
from pathlib import Path

from teamchat_second_factor import SECOND_FACTOR, totp
from teamchat_second_factor.codes import Codes
from teamchat_second_factor.factors import Factors
from teamchat_second_factor.sealing import Sealer

from teamchat import Capability, Storage
from teamchat.application import Application
from teamchat.model import Caller, now_ms
from teamchat.testing import SecondStepContract
from tests.storages import open_storage


class TestSecondFactor(SecondStepContract):
    def capability(self) -> Capability:
        return SECOND_FACTOR

    async def set_up(self, app: Application, caller: Caller) -> str:
        sealer = Sealer(app.accounts.key("second-factor"))
        factors = Factors(app, sealer, Codes(sealer, app.accounts.clock))
        begun = await factors.begin(caller, "192.0.2.1", None, None)
        code = totp.code_at(b32decode(begun.secret), totp.step_at(now_ms()))
        recovery_code, *_ = await factors.confirm(caller, begun.id, code, "192.0.2.1")
        return recovery_code

    def open_storage(self, directory: Path) -> AbstractAsyncContextManager[Storage]:
        directory.mkdir(parents=True, exist_ok=True)
        return open_storage(directory)
