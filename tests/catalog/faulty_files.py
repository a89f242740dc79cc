"""A file system that dies, returns wrong results or is slow, for the stores' tests."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum, auto

from catalog.store.files import Files


class Crash(BaseException):
    """The process ends here; nothing may handle it."""


class Fault(Enum):
    CRASH_BEFORE = auto()
    CRASH_AFTER = auto()
    # The request never arrived.
    ERROR_BEFORE = auto()
    # The answer was lost.
    ERROR_AFTER = auto()
    # The answer was lost and the store's client repeated the request.
    REPEATED = auto()


class FaultyFiles:
    """`inner`, but its `at`-th write (from 0; a deletion counts) goes wrong."""

    def __init__(self, inner: Files, fault: Fault | None = None, at: int = 0) -> None:
        self.root, self.lists_freely = inner.root, inner.lists_freely
        self._inner, self._fault, self._at = inner, fault, at
        self.writes = 0
        self.before_create: Callable[[str], None] = lambda path: None

    def names(self, folder: str) -> list[str]:
        return self._inner.names(folder)

    def times_s(self, folder: str) -> dict[str, float]:
        return self._inner.times_s(folder)

    def read(self, path: str) -> bytes:
        return self._inner.read(path)

    def create(self, path: str, data: bytes) -> bool:
        self.before_create(path)
        return self._write(lambda: self._inner.create(path, data))

    def delete(self, path: str) -> None:
        def delete() -> bool:
            self._inner.delete(path)
            return True

        self._write(delete)

    def _write(self, write: Callable[[], bool]) -> bool:
        fault = self._fault if self.writes == self._at else None
        self.writes += 1
        match fault:
            case None:
                return write()
            case Fault.CRASH_BEFORE:
                raise Crash
            case Fault.CRASH_AFTER:
                write()
                raise Crash
            case Fault.ERROR_BEFORE:
                raise OSError("no route to the store")
            case Fault.ERROR_AFTER:
                write()
                raise OSError("connection reset")
            case Fault.REPEATED:
                write()
                return write()
