"""The folders of one server's temporary files, and what killed servers left of theirs.

A server that is killed cannot clean up; the next one that starts in the same place does it. Each folder has a file
`lock`, which its server holds locked (`flock`) for as long as it lives: the system lets go of a lock with its process,
however that ends, where a process id may by then be another program's (in containers all servers have the same one).
A folder without the file is being made at this moment, or none of ours.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from pathlib import Path

_PREFIX = "delta-gateway-"
_LOCK = "lock"


class PrivateFolder:
    """A new folder that nobody else may enter; `remove` it at the end."""

    def __init__(self, parent: str | None) -> None:
        """Below `parent` (None: the system's place for temporary files); removes abandoned folders there."""
        _remove_abandoned(Path(parent or tempfile.gettempdir()))
        self.path = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=parent))  # of the mode 0700
        made = self.path / "lock.new"
        self._lock = os.open(made, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        made.rename(self.path / _LOCK)  # never seen unlocked while this process lives

    def remove(self) -> None:
        """Remove it with all that is in it; removing twice does nothing."""
        shutil.rmtree(self.path, ignore_errors=True)
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1


def _remove_abandoned(parent: Path) -> None:
    for folder in parent.glob(f"{_PREFIX}*"):
        try:
            lock = os.open(folder / _LOCK, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
        except OSError:
            continue
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            pass  # its server runs, or another one removes it now
        else:
            shutil.rmtree(folder, ignore_errors=True)
        finally:
            os.close(lock)
