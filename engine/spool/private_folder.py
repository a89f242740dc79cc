"""Directories for one server's temporary files, and removal of killed servers' directories.

A killed server cannot clean up; the next server that starts in the same place does. Each directory has a file `lock`,
which its server keeps locked (`flock`) while it runs. The system releases a lock with its process, however it ends; a
process id, in contrast, may be reused (in containers all servers have the same one). A directory without the file is
just being created, or belongs to another program.
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
    """A new private directory; call `remove` at the end."""

    def __init__(self, parent: str | None) -> None:
        """Creates the directory below `parent` (None: the system's default), and removes abandoned ones there."""
        _remove_abandoned(Path(parent or tempfile.gettempdir()))
        self.path = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=parent))  # mode 0700
        made = self.path / "lock.new"
        self._lock = os.open(made, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        made.rename(self.path / _LOCK)  # never visible unlocked while this process runs

    def remove(self) -> None:
        """Removes the directory with its contents; a second call does nothing."""
        shutil.rmtree(self.path, ignore_errors=True)
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1


def _remove_abandoned(parent: Path) -> None:
    for folder in parent.glob(f"{_PREFIX}*"):
        try:
            # Not through a link: the temporary directory is shared, and another user may
            # have put one there.
            lock = os.open(folder / _LOCK, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
        except OSError:
            continue
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            pass  # its server is running, or another one is removing it
        else:
            shutil.rmtree(folder, ignore_errors=True)
        finally:
            os.close(lock)
