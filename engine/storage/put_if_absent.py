"""Put-if-absent: the primitive that makes commits atomic, for each storage scheme.

A commit is a file that must appear completely, and for one writer only. For a local file, a synced temporary file is
hard-linked to its name: `link` fails if the name exists. Object stores have conditional puts
(:mod:`catalog.store.conditional_put`). Nothing is emulated by check-then-write; a scheme without either is not written.

Three outcomes. True: the file is this writer's. False: a file with that name exists. `OSError`: *unknown*. And even
False does not prove that another writer won: object store clients retry a request whose answer was lost, and the retry
finds the first request's file. A caller that needs certainty compares the file's content (as Delta's committer does).
"""

from __future__ import annotations

import contextlib
import errno
import os
import uuid
from collections.abc import Iterator
from typing import Any, BinaryIO

from catalog.conditions import StorageNotWritable
from catalog.store.conditional_put import put_file_if_absent, put_if_absent, reason_against_puts

TEMPORARY_SUFFIX = ".tmp"

_NO_LINKS = {errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK}


def ensure_puts_atomic(url: str) -> None:
    """Raises `StorageNotWritable` unless the URL's store has an atomic put-if-absent."""
    if (reason := reason_against_puts(url)) is not None:
        raise StorageNotWritable(url, reason)


def put_local(path: str, data: bytes, *, in_place: bool = False) -> bool:
    """Creates `path` with `data`, durable when this returns. See the module for the outcomes.

    `in_place`: raises `FileNotFoundError` if its directory is missing, instead of creating it.
    """
    if os.path.lexists(path):  # the written and synced file could not get this name
        return False
    temporary = write_temporary(path, data, in_place=in_place)
    try:
        return _link(temporary, path)
    finally:
        with contextlib.suppress(OSError):
            os.unlink(temporary)


def put_fsspec(fs: Any, scheme: str, path: str, data: bytes) -> bool:
    """Does the same on an fsspec file system."""
    ensure_puts_atomic(path)
    return put_if_absent(fs, scheme, path, data)


def put_file_fsspec(fs: Any, scheme: str, path: str, local: str) -> bool:
    """Does the same with a local file's bytes."""
    ensure_puts_atomic(path)
    return put_file_if_absent(fs, scheme, path, local)


def replace_local(path: str, data: bytes) -> None:
    """Writes `path` completely, replacing an existing file."""
    with output_local(path) as file:
        file.write(data)


@contextlib.contextmanager
def output_local(path: str, *, replace: bool = True) -> Iterator[BinaryIO]:
    """Yields a file that appears under `path` when the block ends, and does not appear if it raises.

    Raises `FileExistsError` without `replace` if `path` exists then.
    """
    temporary = temporary_path(path)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    try:
        with open(temporary, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if replace:
            os.replace(temporary, path)
        elif _link(temporary, path):
            os.unlink(temporary)
        else:
            raise FileExistsError(path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
    sync_directory(os.path.dirname(path))


def temporary_path(path: str) -> str:
    """Returns a hidden name next to `path`: not a log file, and left over only after a crash."""
    directory, name = os.path.split(path)
    return os.path.join(directory, f".{name}.{uuid.uuid4().hex}{TEMPORARY_SUFFIX}")


def write_temporary(path: str, data: bytes, *, in_place: bool = False) -> str:
    """Writes a synced temporary file next to `path`; creates a missing directory, unless `in_place`."""
    temporary = temporary_path(path)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
    try:
        descriptor = os.open(temporary, flags, 0o666)
    except FileNotFoundError:
        if in_place:
            raise
        os.makedirs(os.path.dirname(path), exist_ok=True)
        descriptor = os.open(temporary, flags, 0o666)
    try:
        with open(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
    return temporary


def sync_directory(directory: str) -> None:
    """Makes the names in `directory` durable. File systems without support keep their own durability."""
    with contextlib.suppress(OSError):  # the file has its name, so an error here is not a failed put
        descriptor = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _link(temporary: str, path: str) -> bool:
    try:
        os.link(temporary, path)
    except OSError as error:
        # Over a network a link can succeed and its answer be lost; the temporary file then has two names.
        # NFS may report EEXIST for a link that its server made before the answer was lost
        # (link(2), BUGS).
        if _link_count(temporary) == 2:
            return True
        if isinstance(error, FileExistsError):
            return False
        if error.errno in _NO_LINKS:
            raise StorageNotWritable(path, "its file system has no hard links") from error
        raise
    sync_directory(os.path.dirname(path))
    return True


def _link_count(path: str) -> int:
    try:
        return os.stat(path).st_nlink
    except OSError:
        return 1
