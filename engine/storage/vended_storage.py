"""Files accessed with vended credentials for one table, which a REST catalog issues for a limited time.

Spark receives only their lease, with which Java requests them when it opens a file (`engine/spark/file_lists.py`):
neither a plan nor a Spark setting contains a secret.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType
from typing import Any

from catalog.rest.vended import VendedOptions
from engine.storage.storage import FsspecStorage, Storage

# fsspec would cache a file system for each set of options, as long as the server runs.
_NOT_CACHED = MappingProxyType({"skip_instance_cache": True})


class VendedStorage(FsspecStorage):
    """A storage with options for this table alone, which change while it is used."""

    def __init__(self, url: str, options: VendedOptions, allowed_roots: Sequence[str] | None = None) -> None:
        self._options = options
        self._opened_with = options()
        super().__init__(url, {**self._opened_with, **_NOT_CACHED}, allowed_roots)

    @property
    def credentials_id(self) -> str:
        """Returns the identifier with which Spark requests the credentials."""
        return self._options.credentials_id

    @property
    def fs(self) -> Any:
        """Returns fsspec's file system with the current options."""
        options = self._options()
        if options != self._opened_with:
            self._opened = FsspecStorage(self.root, {**options, **_NOT_CACHED}).fs
            self._opened_with = options
        return self._opened

    @fs.setter
    def fs(self, opened: Any) -> None:
        self._opened = opened


def credentials_id_of(storage: Storage) -> str | None:
    """Returns None if files are accessed with the server's own credentials."""
    return storage.credentials_id if isinstance(storage, VendedStorage) else None
