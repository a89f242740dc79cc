"""File bodies: stored on disk, not in memory, until they are complete.

A body is received after the application has accepted its head: the client is authenticated and may write the file. The
file on disk has no name, so a client that vanishes leaves nothing. Its announced size counts from then on, so that all
clients' files together stay within a limit.
"""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import BinaryIO, cast

from gateway.http.wire import Head, RequestRefused


@dataclass(slots=True)
class Uploads:
    """Upload limits. `folder` is for the files (None: the system's), `file_bytes_max` for one file, `held_bytes_max`
    for all.
    """

    folder: str | None = None
    file_bytes_max: int = 5 << 30
    held_bytes_max: int = 20 << 30
    _held: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def begin(self, head: Head) -> Upload:
        """Begins an upload; raises `RequestRefused`."""
        with self._lock:
            if self._held + head.length > self.held_bytes_max:
                reason = "The server receives as many bytes of files as it may. Try again later."
                raise RequestRefused(HTTPStatus.SERVICE_UNAVAILABLE, reason)
            # Counted by the announced length, before a byte has come: many uploads that
            # begin together would otherwise all pass the check.
            self._held += head.length
        try:
            file = cast(BinaryIO, tempfile.TemporaryFile(dir=self.folder))
        except OSError as error:
            self._release(head.length)
            raise RequestRefused(HTTPStatus.INSUFFICIENT_STORAGE, "The server has no room for the file.") from error
        return Upload(file, head.length, self._release)

    def _release(self, count: int) -> None:
        with self._lock:
            self._held -= count


class Upload:
    """One body on disk."""

    def __init__(self, file: BinaryIO, length: int, release: Callable[[int], None]) -> None:
        self.file = file
        self._length = length
        self._missing = length
        self._release = release

    @property
    def is_complete(self) -> bool:
        """Returns True if all bytes of the body have arrived."""
        return not self._missing

    def receive(self, content: bytearray) -> None:
        """Moves the body's bytes out of `content`. Raises `RequestRefused`."""
        taken = min(len(content), self._missing)
        try:
            self.file.write(content[:taken])
        except OSError as error:
            raise RequestRefused(HTTPStatus.INSUFFICIENT_STORAGE, "The server has no room for the file.") from error
        del content[:taken]
        self._missing -= taken
        if self.is_complete:
            self.file.seek(0)

    def close(self) -> None:
        """Removes the file and gives back its length to the limit of all uploads. May be called again."""
        if not self.file.closed:
            self.file.close()
            self._release(self._length)
