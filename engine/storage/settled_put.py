"""Puts a file that must be there once, and finds out whose it is.

A put has three outcomes: ours, somebody else's, or unknown because the storage failed in between. The last two are
settled by reading the file back:

- it is there and is ours: we won, although the storage said otherwise. The clients of object stores repeat requests
  whose answer was lost, and the repetition finds the file of the first; so even "it exists" is not taken at its word.
- it is there and is another's: we lost.
- it is not there: the put did not happen, or has not yet. It is tried again, since a put that arrives late can only
  make the repetition find our own file.
- it cannot be read either, however often: the outcome stays unknown and is reported as that, never as a failure.

Only what a storage refuses before it writes (no permission, no space) is a plain failure.
"""

from __future__ import annotations

import errno
import time
from collections.abc import Callable
from dataclasses import dataclass

from catalog.errors import SqlError
from engine.storage.storage import Storage

_REFUSALS = {errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EDQUOT, errno.ENAMETOOLONG}


class PutRefused(Exception):
    """The storage has not taken the file."""


class FolderGone(Exception):
    """The folder of a file that goes into one that is there."""


class PutOutcomeUnknown(Exception):
    """The file may be there, or come yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StorageRetries:
    """How long a storage may fail before the outcome is called unknown."""

    tries_max: int = 5
    pause_s: float = 0.1
    """Before the second try; doubled for each further one."""
    sleep: Callable[[float], None] = time.sleep

    def pause(self, tries: int) -> None:
        """After the given number of failed tries."""
        self.sleep(self.pause_s * 2 ** (tries - 1))


def put_settled(
    storage: Storage,
    name: str,
    data: bytes,
    is_ours: Callable[[bytes], bool],
    retries: StorageRetries,
    *,
    in_place: bool = False,
) -> bool:
    """True: the file `name` is ours. False: it is another writer's, as `is_ours` says of its bytes.

    `in_place` as for `Storage.put_if_absent`. Raises `FolderGone`, `PutRefused`, `PutOutcomeUnknown`,
    `StorageNotWritable`.
    """
    failure: Exception | None = None
    for tries in range(1, retries.tries_max + 1):
        try:
            if (failure is None or not storage.exists(name)) and _put(storage, name, data, in_place=in_place):
                return True
            return is_ours(storage.read_bytes(name))
        except (FolderGone, SqlError):
            raise
        except Exception as error:
            if failure is None and isinstance(error, OSError) and error.errno in _REFUSALS:
                raise PutRefused(str(error)) from error
            failure = error
            if tries < retries.tries_max:
                retries.pause(tries)
    raise PutOutcomeUnknown(str(failure)) from failure


def _put(storage: Storage, name: str, data: bytes, *, in_place: bool) -> bool:
    try:
        return storage.put_if_absent(name, data, in_place=in_place)
    except FileNotFoundError as error:
        raise FolderGone(name) from error
