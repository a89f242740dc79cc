"""Puts a file that must exist once, and determines which writer's file it is.

A put has three outcomes: success, another writer's file, or unknown because the storage failed in between. The last two
are resolved by reading the file:

- it exists and is this writer's: the put succeeded, although the storage reported otherwise. Object store clients retry
requests whose answer was lost, and the retry finds the first request's file; so even "it exists" is verified.
- it exists and is another writer's: the put lost.
- it does not exist: the put did not happen, or has not yet. It is retried, because a put that arrives late can only
  make the retry find this writer's own file.
- it cannot be read either, after all attempts: the outcome stays unknown and is reported as unknown, never as a
  failure.

Only an error that a storage reports before it writes (no permission, no space) is a definite failure.
"""

from __future__ import annotations

import errno
import time
from collections.abc import Callable
from dataclasses import dataclass

from catalog.errors import SqlError
from catalog.store.commit_guard import ensure_may_commit
from engine.storage.storage import Storage

_REFUSALS = {errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EDQUOT, errno.ENAMETOOLONG}


class PutRefused(Exception):
    """The storage has rejected the file."""


class FolderGone(Exception):
    """The directory, which must exist, is missing."""


class PutOutcomeUnknown(Exception):
    """The file may exist, or may still appear."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StorageRetries:
    """Limits for storage failures before the outcome is unknown."""

    tries_max: int = 5
    # Before the second attempt; doubled for each further one.
    pause_s: float = 0.1
    sleep: Callable[[float], None] = time.sleep

    def pause(self, tries: int) -> None:
        """Pauses after the given number of failed attempts."""
        self.sleep(self.pause_s * 2 ** (tries - 1))


def put_confirmed(
    storage: Storage,
    name: str,
    data: bytes,
    is_ours: Callable[[bytes], bool],
    retries: StorageRetries,
    *,
    in_place: bool = False,
) -> bool:
    """Returns True if the file `name` is this writer's, False if it is another writer's, which `is_ours` decides from
    its bytes.

    `in_place` as for `Storage.put_if_absent`. Raises `FolderGone`, `PutRefused`, `PutOutcomeUnknown`,
    `StorageNotWritable`, and the errors of `ensure_may_commit`.
    """
    failure: Exception | None = None
    for tries in range(1, retries.tries_max + 1):
        try:
            # After a failure the file is looked up before it is sent again: it may be there
            # already, and may be large.
            if (failure is None or not storage.exists(name)) and _put(storage, name, data, in_place=in_place):
                return True
            return is_ours(storage.read_bytes(name))
        except (FolderGone, SqlError):
            raise
        except Exception as error:
            # Only for the first attempt. A later refusal does not prove that an earlier
            # request failed.
            if failure is None and isinstance(error, OSError) and error.errno in _REFUSALS:
                raise PutRefused(str(error)) from error
            failure = error
            if tries < retries.tries_max:
                retries.pause(tries)
    raise PutOutcomeUnknown(str(failure)) from failure


def _put(storage: Storage, name: str, data: bytes, *, in_place: bool) -> bool:
    ensure_may_commit()
    try:
        return storage.put_if_absent(name, data, in_place=in_place)
    except FileNotFoundError as error:
        raise FolderGone(name) from error
