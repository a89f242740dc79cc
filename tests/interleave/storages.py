"""Storages that a test controls: in memory, stepped by a scheduler, and failing on purpose."""

from __future__ import annotations

import contextlib
import io
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, BinaryIO, TypeAlias, TypeVar

from catalog.discovery.other_tables import OtherTables
from engine.storage.confinement import Confinement
from engine.storage.storage import FileStatus, FolderListing, Storage


class DictStorage(Storage):
    """Files in a dictionary, with the storage guarantees that the log requires."""

    def __init__(self, root: str = "dict://table") -> None:
        self.root = root
        self.files: dict[str, tuple[bytes, int]] = {}
        self.now_ms = time.time_ns() // 1_000_000

    def list_names(self, directory: str, start: str = "") -> list[str]:
        return [status.name for status in self.list_files(directory, start)]

    def list_files(self, directory: str, start: str = "") -> list[FileStatus]:
        prefix = f"{directory}/"
        found = (
            FileStatus(name[len(prefix) :], len(data), modified)
            for name, (data, modified) in self.files.items()
            if name.startswith(prefix) and "/" not in name[len(prefix) :]
        )
        return sorted((status for status in found if status.name >= start), key=lambda status: status.name)

    def list_folder(self, directory: str) -> FolderListing:
        """Lists a folder; folders are name prefixes."""
        prefix = f"{directory}/" if directory else ""
        below = [name[len(prefix) :] for name in self.files if name.startswith(prefix)]
        files = (FileStatus(name, *self._size_and_time(f"{prefix}{name}")) for name in below if "/" not in name)
        folders = sorted({name.partition("/")[0] for name in below if "/" in name})
        return FolderListing(tuple(files), tuple(FileStatus(name, 0, 0) for name in folders))

    def _size_and_time(self, name: str) -> tuple[int, int]:
        data, modified = self.files[name]
        return len(data), modified

    def stat(self, name: str) -> FileStatus:
        data, modified = self._get(name)
        return FileStatus(name.rsplit("/", 1)[-1], len(data), modified)

    def exists(self, name: str) -> bool:
        return name in self.files

    def read_bytes(self, name: str) -> bytes:
        return self._get(name)[0]

    def read_range(self, name: str, offset: int, length: int) -> bytes:
        return self._get(name)[0][offset : offset + length]

    def read_many(self, names: Sequence[str]) -> Iterator[bytes]:
        return map(self.read_bytes, names)

    def open_input(self, name: str) -> BinaryIO:
        return io.BytesIO(self.read_bytes(name))

    def ensure_writable(self) -> None:
        pass

    def put_if_absent(self, name: str, data: bytes, *, in_place: bool = False) -> bool:
        if name in self.files:
            return False
        self.write(name, data)
        return True

    def write(self, name: str, data: bytes) -> None:
        self.now_ms += 1
        self.files[name] = (bytes(data), self.now_ms)

    @contextlib.contextmanager
    def open_output(self, name: str, *, replace: bool = True) -> Iterator[BinaryIO]:
        assert replace, name
        buffer = _StoredBytes()
        yield buffer
        self.write(name, buffer.getvalue())

    def delete(self, name: str) -> None:
        self.files.pop(name, None)

    def delete_empty_folder(self, name: str) -> bool:
        return False

    def delete_tree(self) -> None:
        self.files.clear()

    def _get(self, name: str) -> tuple[bytes, int]:
        try:
            return self.files[name.removeprefix(f"{self.root}/")]
        except KeyError:
            raise FileNotFoundError(name) from None


class _StoredBytes(io.BytesIO):
    """A buffer that stays readable, since Parquet writers close their output."""

    def close(self) -> None:
        pass


T = TypeVar("T")
# (method, file name, action) -> result; may wait, fail, or act differently.
Around: TypeAlias = Callable[[str, str, Callable[[], Any]], Any]


class Interposed(Storage):
    """Every call to `inner` goes through `around`."""

    def __init__(self, inner: Storage, around: Around) -> None:
        self.inner = inner
        self.root = inner.root
        self.allowed_roots = inner.allowed_roots
        self.around = around

    @property
    def confinement(self) -> Confinement:
        return self.inner.confinement

    @property
    def find_others(self) -> Callable[[str], OtherTables]:
        return self.inner.find_others

    @find_others.setter
    def find_others(self, find: Callable[[str], OtherTables]) -> None:
        self.inner.find_others = find

    def _through(self, method: str, name: str, action: Callable[[], T]) -> T:
        result: T = self.around(method, name, action)
        return result

    def list_names(self, directory: str, start: str = "") -> list[str]:
        return self._through("list", directory, lambda: self.inner.list_names(directory, start))

    def list_files(self, directory: str, start: str = "") -> list[FileStatus]:
        return self._through("list", directory, lambda: self.inner.list_files(directory, start))

    def list_folder(self, directory: str) -> FolderListing:
        return self._through("list", directory, lambda: self.inner.list_folder(directory))

    def stat(self, name: str) -> FileStatus:
        return self._through("stat", name, lambda: self.inner.stat(name))

    def exists(self, name: str) -> bool:
        return self._through("exists", name, lambda: self.inner.exists(name))

    def read_bytes(self, name: str) -> bytes:
        return self._through("read", name, lambda: self.inner.read_bytes(name))

    def read_range(self, name: str, offset: int, length: int) -> bytes:
        return self._through("read", name, lambda: self.inner.read_range(name, offset, length))

    def read_many(self, names: Sequence[str]) -> Iterator[bytes]:
        return (self.read_bytes(name) for name in names)

    def open_input(self, name: str) -> BinaryIO:
        return self._through("read", name, lambda: self.inner.open_input(name))

    def ensure_writable(self) -> None:
        self.inner.ensure_writable()

    def put_if_absent(self, name: str, data: bytes, *, in_place: bool = False) -> bool:
        return self._through("put", name, lambda: self.inner.put_if_absent(name, data, in_place=in_place))

    def write(self, name: str, data: bytes) -> None:
        self.around("write", name, lambda: self.inner.write(name, data))

    @contextlib.contextmanager
    def open_output(self, name: str, *, replace: bool = True) -> Iterator[BinaryIO]:
        assert replace, name
        buffer = _StoredBytes()
        yield buffer
        self.around("write", name, lambda: self.inner.write(name, buffer.getvalue()))

    def delete(self, name: str) -> None:
        self.around("delete", name, lambda: self.inner.delete(name))

    def delete_empty_folder(self, name: str) -> bool:
        return self._through("delete", name, lambda: self.inner.delete_empty_folder(name))

    def delete_tree(self) -> None:
        self.around("remove", "", self.inner.delete_tree)


class Crash(BaseException):
    """The process is gone: nothing may catch this."""


def deaths(make: Callable[[], DictStorage], write: Callable[[Storage], Any], when: str) -> Iterator[tuple[Any, Any]]:
    """Yields storages from `make` after a writer died in each, `when` ("before", "after") its first call, its second,
    and so on, with the result: None. The last one survived.
    """
    calls, result = 0, None
    while result is None:
        storage, left = make(), calls

        def around(method: str, name: str, do: Callable[[], Any]) -> Any:
            nonlocal left
            left -= 1
            if left < 0 and when == "before":
                raise Crash
            found = do()
            if left < 0:
                raise Crash
            return found

        with contextlib.suppress(Crash):
            result = write(Interposed(storage, around))
        yield storage, result
        calls += 1
    assert calls > 6
