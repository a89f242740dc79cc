"""Contents of small commits of one log, which never change: on an object store each reading is a request."""

from __future__ import annotations

from threading import Lock

_COMMIT_BYTES_MAX = 1 << 16
_BYTES_MAX = 1 << 18


class RecentCommits:
    """Commits of one table that were read or written last, by file name. Thread-safe."""

    def __init__(self) -> None:
        self._contents: dict[str, bytes] = {}
        self._lock = Lock()
        self.num_bytes = 0

    def find(self, name: str) -> bytes | None:
        return self._contents.get(name)

    def keep(self, name: str, data: bytes) -> None:
        """Keeps a commit, in place of the oldest ones; none that is large."""
        if len(data) > _COMMIT_BYTES_MAX:
            return
        with self._lock:
            self.num_bytes += len(data) - len(self._contents.pop(name, b""))
            self._contents[name] = data
            while self.num_bytes > _BYTES_MAX:
                self.num_bytes -= len(self._contents.pop(next(iter(self._contents))))
