"""The plugin that offers the store of files ``directory``."""

from __future__ import annotations

from collections.abc import Sequence

from teamchat import Backend, FileStore, hookimpl
from teamchat_files_directory.store import DirectoryOptions, open_directory

__all__ = ["DirectoryOptions", "file_stores", "open_directory"]


@hookimpl
def file_stores() -> Sequence[Backend[FileStore]]:
    """Offer ``directory``."""
    return [Backend("directory", open_directory, DirectoryOptions)]
