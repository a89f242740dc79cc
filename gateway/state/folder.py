"""The state folder's layout, and which gateway process owns which part of it.

    format.json                     the format's version; a gateway rejects another one
    gateways/<id>/lock              locked (`flock`) while its process runs, and touched every `BEAT_S` seconds
    gateways/<id>/sessions/<key>    one session's journal (`journal.py`); the key is the first half of the session's id
    gateways/<id>/results/          results that wait to be fetched, files with Arrow messages
    gateways/<id>/positions         each result's next row (`positions.py`)

A process owns one folder below `gateways`, and takes over those whose process has ended, or has not touched its lock
for `LEASE_S` seconds. Taking over renames the folder, which only one process can do, and of which the former owner, if
it is only suspended, learns at its next check: it then ends (`Lease.ensure_held`), and its journals are no longer at
the paths that it knows.

All files have mode 0600 and all folders 0700: results and the texts of statements are data. They must be outside the
lake, as the catalog's files, if users log in.
"""

from __future__ import annotations

import fcntl
import json
import logging
import os
import shutil
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

from catalog.conditions import StateFolderNotUsable, StateFormatNotSupported, StateLost

logger = logging.getLogger(__name__)

FORMAT_VERSION = 1
BEAT_S = 1.0
LEASE_S = 10.0

_FORMAT, _GATEWAYS, _LOCK = "format.json", "gateways", "lock"
_TAKEN = ".taken"


class Lease:
    """A process's ownership of its folder. Thread-safe; call `release` at the end.

    `on_lost` is called, on a thread, when another process has taken the folder over.
    """

    def __init__(self, folder: Path, lock: int, on_lost: Callable[[], None]) -> None:
        self.folder = folder
        self._lock = lock
        self._inode = os.fstat(lock).st_ino
        self._on_lost = on_lost
        self._renewed = _now()
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._beat, name="state-lease", daemon=True)
        self._thread.start()

    def ensure_held(self) -> None:
        """Raises `StateLost` if another process may own the folder. Cheap while the lease was renewed recently."""
        if _now() - self._renewed > LEASE_S / 2 and not self._renew():
            raise StateLost()

    def release(self, *, removes: bool) -> None:
        """Stops renewing; with `removes` the folder is removed too."""
        self._ending.set()
        self._thread.join()
        if removes:
            shutil.rmtree(self.folder, ignore_errors=True)
        os.close(self._lock)

    def _beat(self) -> None:
        while not self._ending.wait(BEAT_S):
            if not self._renew():
                logger.error("another gateway has taken over this gateway's sessions")
                self._on_lost()
                return

    def _renew(self) -> bool:
        # Read before the check: a process that is suspended between the two must not count the
        # time of its suspension as valid.
        now = _now()
        try:
            path = self.folder / _LOCK
            if path.stat().st_ino != self._inode:
                return False
            os.utime(path)
        except FileNotFoundError:
            return False
        except OSError as error:  # a full or failing disk is not a loss
            logger.warning("the state folder's lease cannot be renewed: %s", error)
            return True
        self._renewed = now
        return True


class StateFolder:
    """A state folder on a local disk."""

    def __init__(self, path: Path) -> None:
        """Opens the folder, and creates it if necessary.

        Raises `StateFolderNotUsable` and `StateFormatNotSupported`.
        """
        self.path = path
        try:
            (path / _GATEWAYS).mkdir(0o700, parents=True, exist_ok=True)
            if path.stat().st_uid != os.geteuid():
                raise StateFolderNotUsable(str(path), "it belongs to another user")
            path.chmod(0o700)
            self._ensure_format()
        except OSError as error:
            raise StateFolderNotUsable(str(path), os.strerror(error.errno or 0)) from error

    def _ensure_format(self) -> None:
        path = self.path / _FORMAT
        with suppress(FileNotFoundError):
            try:
                version = json.loads(path.read_text())["version"]
            except (ValueError, KeyError, TypeError) as error:
                raise StateFolderNotUsable(str(path), "it is not the format's file") from error
            if version != FORMAT_VERSION:
                raise StateFormatNotSupported(str(self.path), str(version), FORMAT_VERSION)
            return
        made = path.with_name(f"{_FORMAT}.{uuid.uuid4().hex}")
        made.touch(0o600)
        made.write_text(json.dumps({"version": FORMAT_VERSION}))
        made.rename(path)

    def take_own(self, on_lost: Callable[[], None]) -> Lease:
        """Creates this process's folder."""
        gateways = self.path / _GATEWAYS
        # Renamed when it is locked: it is never visible without its owner.
        made = gateways / f"{uuid.uuid4().hex[:12]}.new"
        for folder in (made, made / "sessions", made / "results"):
            folder.mkdir(0o700)
        lock = os.open(made / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return Lease(made.rename(made.with_suffix("")), lock, on_lost)

    def take_over(self, own: Path) -> Iterator[Path]:
        """Yields the folders of processes that have ended; the caller moves their content to `own`.

        Each is removed after the caller has asked for the next one. An interrupted take-over is repeated.
        """
        for folder in sorted((self.path / _GATEWAYS).iterdir()):
            if folder == own or not (taken := self._take(folder)):
                continue
            path, lock = taken
            try:
                yield path
                shutil.rmtree(path, ignore_errors=True)
            finally:
                os.close(lock)

    def _take(self, folder: Path) -> tuple[Path, int] | None:
        """Returns the renamed folder and its lock; None if its owner is alive."""
        try:
            lock = os.open(folder / _LOCK, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
        except OSError:
            return None
        is_free = True
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            is_free = False
        try:
            age_s = time.time() - os.fstat(lock).st_mtime
            # A folder that is being taken over is only free when the process that does it has ended.
            if not is_free and (age_s < LEASE_S or folder.name.endswith(_TAKEN)):
                os.close(lock)
                return None
            name = folder.name.removesuffix(_TAKEN).removesuffix(".new")
            target = folder.with_name(f"{name}.{uuid.uuid4().hex[:8]}{_TAKEN}")
            folder.rename(target)
            if not is_free:  # its suspended owner holds the lock on the former file
                os.close(lock)
                (target / _LOCK).unlink()
                lock = os.open(target / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(lock)
            return None
        return target, lock


def _now() -> float:
    """Returns seconds that also pass while the machine is suspended."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)
