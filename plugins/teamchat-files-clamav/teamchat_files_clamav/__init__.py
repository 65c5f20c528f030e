"""Has ClamAV look at every file before others than its uploader may have it. Off until it is told where."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from teamchat import FileCheck, hookimpl
from teamchat_files_clamav.scanning import ClamAV, Options

if TYPE_CHECKING:
    from teamchat import Teamchat

__all__ = ["ClamAV", "Options", "file_checks"]


@hookimpl
def file_checks(app: Teamchat) -> Sequence[FileCheck]:
    """Offer the check, if the settings say where clamd listens."""
    options = app.plugin_options("files-clamav", Options)
    return [] if options.address is None else [ClamAV(options)]
