"""Files to which whole lines are appended, each by one `write` without `fsync`.

A file stays open between appends, as long as not too many are. The process that has taken a folder over may use the
same file, so that an append first ensures that this process still owns its folder.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections import deque
from collections.abc import Callable, Iterable
from pathlib import Path

# Files that stay open.
OPEN_FILES_MAX = 128

# The offset and the length of a line, in bytes.
Span = tuple[int, int]


class OpenFiles:
    """The open files, the first opened first. Thread-safe."""

    def __init__(self, files_max: int = OPEN_FILES_MAX) -> None:
        self._files_max = files_max
        self._lock = threading.Lock()
        self._opened: deque[AppendedFile] = deque()

    def add(self, opened: AppendedFile) -> None:
        """Adds a file that was opened, and closes others beyond the limit."""
        with self._lock:
            self._opened.append(opened)
            for _ in range(len(self._opened) - self._files_max):
                oldest = self._opened.popleft()
                if not oldest.try_close():
                    self._opened.append(oldest)


class AppendedFile:
    """A file of lines. Its owner holds `lock` for each call but `try_close`."""

    def __init__(self, path: Path, open_files: OpenFiles, ensure_held: Callable[[], None]) -> None:
        """`ensure_held` raises before an append if another process may own the folder."""
        self.path = path
        self.size = 0
        self.lock = threading.Lock()
        self._open_files = open_files
        self._ensure_held = ensure_held
        self._descriptor = -1

    def append(self, content: bytes) -> None:
        """Appends lines; after an `OSError` there are none of them."""
        self._ensure_held()
        descriptor = self._descriptor
        if descriptor < 0:
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
            descriptor = self._descriptor = os.open(self.path, flags, 0o600)
            self._open_files.add(self)
        try:
            if os.write(descriptor, content) != len(content):
                raise OSError("the disk is full")
        except OSError:
            with contextlib.suppress(OSError):
                os.ftruncate(descriptor, self.size)  # an incomplete line would join the next one
            raise
        self.size += len(content)

    def replace(self, spans: Iterable[Span]) -> int:
        """Replaces the content by these parts of it, and returns the number of bytes that were removed.

        Raises `OSError`, and then the file is as before.
        """
        self._ensure_held()
        content = self.path.read_bytes()
        live = b"".join([content[offset : offset + length] for offset, length in spans])
        made = self.path.with_name(f".{self.path.name}")
        made.touch(0o600)
        made.write_bytes(live)
        made.rename(self.path)
        self.close()
        removed, self.size = self.size - len(live), len(live)
        return removed

    def try_close(self) -> bool:
        """Closes the file; returns False, without waiting, if it is used."""
        if not self.lock.acquire(blocking=False):
            return False
        try:
            self.close()
        finally:
            self.lock.release()
        return True

    def close(self) -> None:
        """Closes the file; the next append opens it again."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def remove(self) -> None:
        """Removes the file."""
        self.close()
        with contextlib.suppress(FileNotFoundError):
            self.path.unlink()
