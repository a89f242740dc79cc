"""Files that are reached with credentials for one table alone, which a REST catalog gives out and takes back in time.

Spark is told of them by their lease, for which Java asks when it opens a file (`engine/spark/file_lists.py`): neither a
plan nor a setting of Spark's has a secret.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType
from typing import Any

from catalog.rest.vended import LentOptions
from engine.storage.storage import FsspecStorage, Storage

_NOT_KEPT = MappingProxyType({"skip_instance_cache": True})
"""fsspec would keep a file system for each of the options, as long as the server runs."""


class LentStorage(FsspecStorage):
    """Reached by options that are for this table alone, and become others while it is used."""

    def __init__(self, url: str, options: LentOptions, allowed_roots: Sequence[str] | None = None) -> None:
        self._options = options
        self._opened_with = options()
        super().__init__(url, {**self._opened_with, **_NOT_KEPT}, allowed_roots)

    @property
    def lease(self) -> str:
        """What Spark asks for the credentials by."""
        return self._options.lease

    @property
    def fs(self) -> Any:
        """That of fsspec, by the options of now."""
        options = self._options()
        if options != self._opened_with:
            self._opened = FsspecStorage(self.root, {**options, **_NOT_KEPT}).fs
            self._opened_with = options
        return self._opened

    @fs.setter
    def fs(self, opened: Any) -> None:
        self._opened = opened


def lease_of(storage: Storage) -> str | None:
    """None where files are reached with what the server has itself."""
    return storage.lease if isinstance(storage, LentStorage) else None
