"""Files with secrets: private to the server, replaced as a whole, and reread when they change."""

from __future__ import annotations

import contextlib
import fcntl
import os
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

from catalog.conditions import SecretReadable, SecretUnusable

# The group may read: orchestrators hand files to a process that is not root that way.
_OTHERS = stat.S_IRWXO | stat.S_IWGRP
Stamp = tuple[int, int, int]


def stamp_of(path: Path) -> Stamp | None:
    """Returns a value that changes when the file does; None if it does not exist."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_ino, found.st_size


def read_secret(path: Path) -> bytes:
    """Returns the content. Raises :class:`SecretUnusable`, or :class:`SecretReadable` if other users may read or change
    it.
    """
    try:
        with path.open("rb") as file:
            ensure_private(path, os.fstat(file.fileno()))
            return file.read()
    except OSError as error:
        raise SecretUnusable(str(path), (error.strerror or str(error)).lower()) from error


def ensure_private(path: Path, found: os.stat_result | None = None) -> None:
    """Raises :class:`SecretReadable` for a file that other users may read or change."""
    try:
        found = found or path.stat()
    except OSError as error:
        raise SecretUnusable(str(path), (error.strerror or str(error)).lower()) from error
    if not stat.S_ISREG(found.st_mode):
        raise SecretUnusable(str(path), "it is no regular file")
    _ensure_own(path, found)


def make_private_folder(path: Path) -> None:
    """Creates the folder if it does not exist. Raises :class:`SecretReadable` if other users can access it."""
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        _ensure_own(path, path.stat())
    except OSError as error:
        raise SecretUnusable(str(path), (error.strerror or str(error)).lower()) from error


def _ensure_own(path: Path, found: os.stat_result) -> None:
    if found.st_mode & _OTHERS or found.st_uid not in (0, os.geteuid()):
        raise SecretReadable(str(path), f"{stat.S_IMODE(found.st_mode):04o} and the owner {found.st_uid}")


def write_secret(path: Path, content: bytes) -> None:
    """Replaces the file atomically: a reader sees either the old or the new content."""
    try:
        descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")  # has the mode 0600
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            os.replace(name, path)
        except BaseException:
            os.unlink(name)
            raise
    except OSError as error:
        raise SecretUnusable(str(path), (error.strerror or str(error)).lower()) from error


@contextlib.contextmanager
def lock_file(path: Path, *, makes_folder: bool = False) -> Iterator[None]:
    """Prevents other processes from changing the file, whose folder may be created; the lock is released when the
    process ends.
    """
    try:
        if makes_folder and not path.parent.exists():
            path.parent.mkdir(mode=0o700)
        descriptor = os.open(path.with_name(f".{path.name}.lock"), os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise SecretUnusable(str(path), (error.strerror or str(error)).lower()) from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
