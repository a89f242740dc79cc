"""Removal of files in a table's folder: many at once, and one that cannot be removed stops no other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from engine.storage.storage import Storage

_THREADS = 16
_FILES_AT_ONCE = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Removed:
    """`failed` are names; `reason` is why the first of them could not be removed."""

    names: tuple[str, ...]
    failed: tuple[str, ...]
    reason: str


def remove_files(storage: Storage, names: Sequence[str], check: Callable[[], None]) -> Removed:
    """`check` is called between batches, and ends the removal by raising."""
    done: list[str] = []
    failed: list[str] = []
    reason = ""
    with ThreadPoolExecutor(_THREADS, "remove") as threads:
        for start in range(0, len(names), _FILES_AT_ONCE):
            check()
            some = names[start : start + _FILES_AT_ONCE]
            for name, error in zip(some, threads.map(lambda name: _error(storage, name), some), strict=True):
                (done if error is None else failed).append(name)
                reason = reason or ("" if error is None else str(error))
    return Removed(names=tuple(done), failed=tuple(failed), reason=reason)


def _error(storage: Storage, name: str) -> OSError | None:
    try:
        storage.delete(name)
    except OSError as error:
        return error
    return None
