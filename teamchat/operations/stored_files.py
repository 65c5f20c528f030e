"""The bytes that capabilities keep in the store of files, for copying an installation.

Only a piece of a file is in memory at a time, and no transaction is open while a store is asked.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Collection, Sequence
from contextlib import aclosing

from teamchat.capabilities.kept_files import KeepsFiles, KeptFile
from teamchat.errors import Problem, StorageError
from teamchat.interfaces import FileStore, Storage, Transaction
from teamchat.storage.capability_tables import stored_in, tables_in

PIECE_BYTES = 64 * 1024
_PAGE = 500


async def kept_in(tx: Transaction, keeping: Sequence[KeepsFiles]) -> list[KeptFile]:
    """Return every file that the tables name."""
    found: list[KeptFile] = []
    for one in keeping:
        last = ""
        while page := await one.after(tx, last, _PAGE):
            found += page
            last = page[-1].key
    return found


async def keys_in(storage: Storage, keeping: Sequence[KeepsFiles]) -> set[str]:
    """Return the key of every file that the tables name; those that are not there name none."""
    async with storage.read() as tx:
        tables = {table.name for table in await tables_in(tx)}
        return {file.key for file in await kept_in(tx, [one for one in keeping if one.table in tables])}


async def unoffered(tx: Transaction, offered: Collection[str]) -> list[str]:
    """Return what is to be said of capabilities that no plugin offers: their files are not known."""
    return [
        f"No active plugin offers {name}: of it only what the database has came along. If it keeps files, "
        "install it, or take it out of plugins.disabled, and do this again."
        for name in sorted(await stored_in(tx))
        if name not in offered
    ]


async def pieces_of(store: FileStore, key: str) -> AsyncGenerator[bytes, None] | None:
    """Return the bytes of a file, or None if there are none. Raises `StorageError` if they can't be read."""
    try:
        chunks = await store.read(key)
    except (OSError, Problem) as error:
        raise _unreadable(key, error) from error
    return None if chunks is None else _pieces(key, chunks)


async def _pieces(key: str, chunks: AsyncIterator[bytes]) -> AsyncGenerator[bytes, None]:
    try:
        async for chunk in chunks:
            yield bytes(chunk)
    except (OSError, Problem) as error:
        raise _unreadable(key, error) from error
    finally:
        close = getattr(chunks, "aclose", None)
        if close is not None:
            await close()


async def put_file(store: FileStore, key: str, size: int, pieces: AsyncIterator[bytes]) -> None:
    """Put a file into a store. Raises `StorageError` if the store does not take it, or it is not whole."""
    try:
        state = await store.begin(key, size)
        written, state = await store.write(key, size, state, 0, pieces, size)
        if written != size:
            await store.abandon(key, state)
            raise StorageError(f"The file {key} has not as many bytes as it should have.")
        await store.finish(key, size, state)
    except (OSError, Problem) as error:
        raise StorageError(
            f"The file {key} can't be put into the store of files ({reason_of(error.__cause__ or error)})."
        ) from error


async def copy_files(
    storage: Storage,
    keeping: Sequence[KeepsFiles],
    source: FileStore,
    target: FileStore,
    tell: Callable[[str, int, int], object] = lambda *_: None,
) -> list[str]:
    """Copy what `target` does not have yet. Return the keys that `source` has no bytes for."""
    async with storage.read() as tx:
        files = await kept_in(tx, keeping)
    missing = []
    for done, (key, size) in enumerate(files, start=1):
        if not await is_there(target, key):
            pieces = await pieces_of(source, key)
            if pieces is None:
                missing.append(key)
            else:
                async with aclosing(pieces):
                    await put_file(target, key, size, pieces)
        tell("files", done, len(files))
    return missing


async def is_there(store: FileStore, key: str) -> bool:
    """Return whether a store has a finished file."""
    return await is_some(await store.read(key, 0, 1))


async def is_whole(store: FileStore, file: KeptFile) -> bool:
    """Return whether a store has a finished file to its last byte; of a shorter one it may refuse to tell."""
    if not await is_there(store, file.key):
        return False
    try:
        last = await store.read(file.key, max(0, file.size - 1), file.size)
        return last is not None and sum([len(bytes(chunk)) async for chunk in last]) == min(1, file.size)
    except (OSError, Problem):
        return False


async def is_some(chunks: AsyncIterator[bytes] | None) -> bool:
    """Return whether a store gave bytes, and leave them unread."""
    if chunks is None:
        return False
    close = getattr(chunks, "aclose", None)
    if close is not None:
        await close()
    return True


def _unreadable(key: str, error: BaseException) -> StorageError:
    return StorageError(f"The file {key} can't be read from the store of files ({reason_of(error)}).")


def reason_of(error: BaseException) -> str:
    """Return why a store failed, in a word, without a path."""
    return (error.strerror if isinstance(error, OSError) else None) or type(error).__name__
