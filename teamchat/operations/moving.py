"""Moving an installation to another database: the tables, the images if they move too, and the secret.

Neither side is served meanwhile. The images and the secret are moved first, so everything is there when the
mark of the move is removed (`teamchat.storage.moving`). The source is never changed.
"""

from __future__ import annotations

from collections.abc import Callable

from teamchat.errors import SettingsError
from teamchat.interfaces import Storage
from teamchat.operations.installation import Installation
from teamchat.operations.running import refuse_running
from teamchat.operations.stored_files import copy_files, unoffered
from teamchat.operations.stored_images import copy_images
from teamchat.settings.signing import keep_secret, kept_secret
from teamchat.storage.capability_tables import tables_in
from teamchat.storage.moving import Outcome, Tell, move


async def move_installation(
    source: Installation, target: Installation, tell: Tell, waits: Callable[[], object] = lambda: None
) -> list[str]:
    """Move everything and return what is to be said about it. Raises an `OperatorError`."""
    if source.keeps_data_as(target):
        raise SettingsError("--from and --to name the same database. Give the configuration of another one.")
    async with source.existing_storage() as old, target.storage() as new:
        await refuse_running(old, "the database of --from", waits)
        await refuse_running(new, "the database of --to", waits)
        said = await _move_images(source, target, old, tell)
        said += await _move_files(source, target, old, tell)
        said += _move_secret(source, target)
        outcome = await move(old, new, tell)
        await refuse_running(old, "the database of --from", waits)
    if outcome is Outcome.WAS_THERE:
        return [*said, "The target held the same data already."]
    return [*said, "Every table has the same rows on both sides."]


async def _move_images(source: Installation, target: Installation, old: Storage, tell: Tell) -> list[str]:
    if source.keeps_images_as(target):
        return ["The images stay where they are."]
    async with source.images() as from_, target.images() as to:
        missing = await copy_images(old, from_, to, tell)
    if missing:
        return [f"The images were copied. {len(missing)} of them had no bytes where they were kept."]
    return ["The images were copied."]


async def _move_files(source: Installation, target: Installation, old: Storage, tell: Tell) -> list[str]:
    """Copy the bytes of files, unless both sides keep them at the same location, or there is none."""
    keeping = source.kept_files()
    async with old.read() as tx:
        there = {table.name for table in await tables_in(tx)}
        unknown = await unoffered(tx, source.offered_namespaces())
    keeping = [one for one in keeping if one.table in there]
    if not keeping or source.keeps_files_as(target):
        return unknown
    async with source.files() as from_, target.files() as to:
        if from_ is None or to is None:
            said = "The files were not copied, for no active plugin offers what keeps them on one side."
        elif missing := await copy_files(old, keeping, from_, to, tell):
            said = f"The files were copied. {len(missing)} of them had no bytes where they were kept."
        else:
            said = "The files were copied."
    return [said, *unknown]


def _move_secret(source: Installation, target: Installation) -> list[str]:
    """Give the target the secret that signs tokens, unless it has one: with it everyone stays signed in."""
    secret, other = kept_secret(source.settings), kept_secret(target.settings)
    if secret is None:
        return [
            "There is no signing secret in the storage.path of --from, so everyone has to sign in again. Is "
            "this the server's directory? Images and files lie there too. A relative path begins where the "
            "command is given."
        ]
    if other is None:
        keep_secret(target.settings, secret)
        return ["The signing secret was copied to the storage.path of --to."]
    if secret != other:
        return [
            "The signing secrets (auth.jwtSecret) differ: everyone has to sign in again, and links in mails "
            "that were sent work no more."
        ]
    return []
