"""The state folder's layout, and which gateway process owns which part of it.

    format.json                     the format's version; a gateway rejects another one
    key                             the key by which gateways sign the requests that they forward
    log-ins/<cookie's digest>       logins with a cookie (`log_ins.py`)
    gateways/<id>/lock              locked (`flock`) while its process runs, and touched every `BEAT_S` seconds
    gateways/<id>/address.json      its internal address (`addresses.py`)
    gateways/<id>/running.json      how many statements run there (`running_counts.py`)
    gateways/<id>/held.json         the size of its records
    gateways/<id>/sessions/<key>    one session's journal (`journal.py`), or one of several sessions that were
                                    opened for one statement (`shared_journal.py`); the key is the first six bytes
                                    of the sessions' ids
    gateways/<id>/results/          results that wait to be fetched, files with Arrow messages
    gateways/<id>/positions         each result's next row (`positions.py`)

A process owns one folder below `gateways`. At its start, and then every `BEAT_S` seconds, it takes over those whose
process has ended, or has not touched its lock for `LEASE_S` seconds. Taking over renames the folder, which only one
process can do, and of which the former owner, if it is only suspended, learns at its next check: it then ends
(`Lease.ensure_held`), and its journals are no longer at the paths that it knows.

All files have mode 0600 and all folders 0700: results and the texts of statements are data. They must be outside the
lake, as the catalog's files, if users log in.
"""

from __future__ import annotations

import fcntl
import json
import logging
import os
import secrets
import shutil
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from time import CLOCK_BOOTTIME, clock_gettime

from catalog.conditions import StateFolderNotUsable, StateFormatNotSupported, StateLost
from gateway.state.addresses import Address, read_address, write_address
from gateway.state.running_counts import Counts, read_counts, read_held_bytes, write_counts, write_held_bytes

logger = logging.getLogger(__name__)

# Version 2 has journals of several sessions (`shared_journal.py`). A folder of version 1 is readable, and becomes one
# of version 2.
FORMAT_VERSION, _READABLE_VERSIONS = 2, (1, 2)
BEAT_S = 1.0
LEASE_S = 10.0
# A lease that was renewed less recently is checked before each use.
_UNSURE_S = LEASE_S / 2

_FORMAT, _GATEWAYS, _LOCK, _KEY = "format.json", "gateways", "lock", "key"
KEY_BYTES = 32
_TAKEN, _NEW = ".taken", ".new"


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
        self._is_ending = False
        self._thread = threading.Thread(target=self._beat, name="state-lease", daemon=True)
        self._thread.start()

    @property
    def is_released(self) -> bool:
        """Returns True after `release`."""
        return self._is_ending

    def ensure_held(self) -> None:
        """Raises `StateLost` if another process may own the folder. Cheap while the lease was renewed recently."""
        if self._is_ending:
            raise StateLost()
        # Called ten times for a statement, so without `_now`.
        if clock_gettime(CLOCK_BOOTTIME) - self._renewed > _UNSURE_S and not self._renew():
            self._on_lost()
            raise StateLost()

    def release(self, *, removes: bool) -> None:
        """Stops renewing; with `removes` the folder is removed too."""
        self._is_ending = True
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


@dataclass(frozen=True, slots=True)
class SessionPlace:
    """The gateway that has a session; `address` is None while the session changes its owner."""

    address: Address | None


@dataclass(frozen=True, slots=True)
class TakenFolder:
    """Another process's folder, which this process now owns; `lock` is locked until `finish`."""

    path: Path
    lock: int

    def finish(self, *, removes: bool) -> None:
        """Ends the take-over; without `removes` another one repeats it."""
        if removes:
            shutil.rmtree(self.path, ignore_errors=True)
        os.close(self.lock)


class StateFolder:
    """A state folder on a local disk."""

    beat_s, wait_s = BEAT_S, LEASE_S + 1

    def __init__(self, path: Path) -> None:
        """Opens the folder, and creates it if necessary.

        Raises `StateFolderNotUsable` and `StateFormatNotSupported`.
        """
        self.path = path
        # The object that this process has written for the others.
        self._shown: tuple[Counts, int] | None = None
        try:
            (path / _GATEWAYS).mkdir(0o700, parents=True, exist_ok=True)
            if path.stat().st_uid != os.geteuid():
                raise StateFolderNotUsable(str(path), "it belongs to another user")
            path.chmod(0o700)
            self._ensure_format()
            self.key = self._ensure_key()
        except OSError as error:
            raise StateFolderNotUsable(str(path), os.strerror(error.errno or 0)) from error

    def _ensure_format(self) -> None:
        path = self.path / _FORMAT
        with suppress(FileNotFoundError):
            try:
                version = json.loads(path.read_text())["version"]
            except (ValueError, KeyError, TypeError) as error:
                raise StateFolderNotUsable(str(path), "it contains no format version") from error
            if version not in _READABLE_VERSIONS:
                raise StateFormatNotSupported(str(self.path), str(version), FORMAT_VERSION)
            if version == FORMAT_VERSION:
                return
        made = path.with_name(f"{_FORMAT}.{uuid.uuid4().hex}")
        made.touch(0o600)
        made.write_text(json.dumps({"version": FORMAT_VERSION}))
        made.rename(path)

    def _ensure_key(self) -> bytes:
        """Returns the key that all gateways share, and creates it if necessary."""
        path = self.path / _KEY
        if not path.exists():
            made = path.with_name(f"{_KEY}.{uuid.uuid4().hex}")
            made.touch(0o600)
            made.write_bytes(secrets.token_bytes(KEY_BYTES))
            with suppress(FileExistsError):  # another gateway's key is complete, too
                os.link(made, path)
            made.unlink()
        key = path.read_bytes()
        if len(key) != KEY_BYTES:
            raise StateFolderNotUsable(str(path), "it contains no valid key")
        return key

    def locate(self, key: str, own: Path) -> SessionPlace | None:
        """Returns the folder with the journal `key`; None if no folder has it. `own` is this process's folder."""
        for folder in (self.path / _GATEWAYS).iterdir():
            if (folder / "sessions" / key).exists():
                is_owned = folder != own and not folder.name.endswith(_TAKEN)
                return SessionPlace(read_address(folder) if is_owned else None)
        return None

    def owns(self, _: str) -> bool:
        """Returns False: a session's journal shows where it is."""
        return False

    def announce(self, own: Path, address: Address) -> None:
        """Shows other gateways where they can forward requests."""
        write_address(own, address)

    def other_addresses(self, own: Path) -> list[Address]:
        """Returns the addresses of the other gateways that run."""
        return [address for address in map(read_address, self._others(own)) if address is not None]

    def exchange_counts(self, own: Path, counts: Counts, held_bytes: int) -> tuple[list[Counts], int]:
        """Shows other gateways the running statements by group and the size of the records; returns the others'
        counts, and the sum of their sizes.
        """
        if (counts, held_bytes) != self._shown:
            write_counts(own, counts)
            write_held_bytes(own, held_bytes)
            self._shown = dict(counts), held_bytes
        others = list(self._others(own))
        return list(read_counts(others)), sum(map(read_held_bytes, others))

    def close(self) -> None:
        """Does nothing: the folder is for other processes, too."""

    def _others(self, own: Path) -> Iterator[Path]:
        """Yields the folders of other gateways that run."""
        for folder in (self.path / _GATEWAYS).iterdir():
            if folder != own and not folder.name.endswith((_TAKEN, _NEW)):
                yield folder

    def take_own(self, on_lost: Callable[[], None]) -> Lease:
        """Creates this process's folder."""
        gateways = self.path / _GATEWAYS
        # Renamed when it is locked: it is never visible without its owner.
        made = gateways / f"{uuid.uuid4().hex[:12]}{_NEW}"
        for folder in (made, made / "sessions", made / "results"):
            folder.mkdir(0o700)
        lock = os.open(made / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return Lease(made.rename(made.with_suffix("")), lock, on_lost)

    def take_over(self, own: Path) -> list[TakenFolder]:
        """Takes the folders of processes that have ended; the caller moves their content to `own`, and finishes each.

        An interrupted take-over is repeated by any process.
        """
        folders = sorted((self.path / _GATEWAYS).iterdir())
        return [taken for folder in folders if folder != own and (taken := self._take(folder)) is not None]

    def _take(self, folder: Path) -> TakenFolder | None:
        """Returns the renamed folder; None if its owner is alive."""
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
            is_renewed = time.time() - os.fstat(lock).st_mtime < LEASE_S
            # A folder that is being taken over is only free when the process that does it has ended, and one that is
            # being made is not locked yet.
            is_alive = not is_free and (is_renewed or folder.name.endswith(_TAKEN))
            if is_alive or (is_renewed and folder.name.endswith(_NEW)):
                os.close(lock)
                return None
            name = folder.name.removesuffix(_TAKEN).removesuffix(_NEW)
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
        return TakenFolder(target, lock)


def _now() -> float:
    """Returns seconds that also pass while the machine is suspended."""
    return clock_gettime(CLOCK_BOOTTIME)
