"""Files that are reached with credentials for one table alone, which a REST catalog gives out and takes back in time.

Spark has the credentials of whole buckets and accounts, and none of these.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from engine.storage.errors import LentCredentialsNotInSpark
from engine.storage.storage import FsspecStorage, Storage

_NOT_KEPT = MappingProxyType({"skip_instance_cache": True})
"""fsspec would keep a file system for each of the options, as long as the server runs."""


class LentStorage(FsspecStorage):
    """Reached by options that are for this table alone, and become others while it is used."""

    def __init__(
        self, url: str, options: Callable[[], Mapping[str, Any]], allowed_roots: Sequence[str] | None = None
    ) -> None:
        self._options, self._opened_with = options, options()
        super().__init__(url, {**self._opened_with, **_NOT_KEPT}, allowed_roots)

    @property
    def fs(self) -> Any:
        """That of fsspec, by the options of now."""
        options = self._options()
        if options != self._opened_with:
            self._opened, self._opened_with = FsspecStorage(self.root, {**options, **_NOT_KEPT}).fs, options
        return self._opened

    @fs.setter
    def fs(self, opened: Any) -> None:
        self._opened = opened


def ensure_known_to_spark(storage: Storage) -> None:
    """Raises `LentCredentialsNotInSpark` where Spark has no credentials for the files."""
    if isinstance(storage, LentStorage):
        raise LentCredentialsNotInSpark(storage.root)
