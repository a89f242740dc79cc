"""Requests to object stores, one per operation if the store supports it.

fsspec's file systems send more on S3: a HEAD before a GET, up to two listings after a HEAD or a listing without
results, and a request for each deleted file. This module calls S3 directly through fsspec's own client, with its
credentials, sessions and retries. File systems for other schemes are used unchanged.

fsspec translates a server's error responses. A connection error is the client's own (for example botocore's
`ConnectionClosedError`) and not an `OSError`; code that recognizes storage failures by that class would take it for a
bug, and a put whose response was lost for one that did not happen. `as_os_errors` translates these too; a client
without credentials raises `PermissionError`, as if access were denied.
"""

from __future__ import annotations

import asyncio
import errno
import io
import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from datetime import datetime
from typing import Any, BinaryIO, cast

from catalog.errors import SqlError

# Number of bytes from the end of a file that are read when it is opened: all of a small file, and the footer in a
# Parquet file.
_TAIL_BYTES = 1 << 20

# Number of bytes before it that are read by one request, as fsspec's files do.
_AHEAD_BYTES = 50 << 20

# Maximum number of objects in one DeleteObjects request.
_KEYS_MAX = 1000

_DELETES_AT_ONCE = 16

_TIMES = ("mtime", "LastModified", "last_modified", "updated", "created")


# Classes in botocore and google-auth.
_NO_CREDENTIALS = frozenset(["NoCredentialsError", "PartialCredentialsError", "DefaultCredentialsError"])


@contextmanager
def as_os_errors() -> Iterator[None]:
    """Translates errors from fsspec calls within the block; also usable as a decorator."""
    try:
        yield
    except (OSError, SqlError):
        raise
    except Exception as error:
        if type(error).__name__ in _NO_CREDENTIALS:
            raise PermissionError(errno.EACCES, str(error)) from error
        raise OSError(errno.EIO, f"{type(error).__name__}: {error}") from error


def is_s3(fs: Any) -> bool:
    """Returns True if an fsspec file system has an S3 client."""
    return hasattr(fs, "call_s3")


def read_file(fs: Any, path: str) -> bytes:
    """Returns a file's bytes. Raises FileNotFoundError, OSError."""
    if is_s3(fs):  # for files that it reads in concurrent ranges it would request the size first
        return bytes(fs.cat_file(path, max_concurrency=1))
    return bytes(fs.cat_file(path))


def open_file(fs: Any, path: str) -> BinaryIO:
    """Opens a seekable file for Parquet readers: its end, or all of a small one, is read by one request, and the length
    by none.

    Raises FileNotFoundError, OSError.
    """
    if not is_s3(fs):
        return cast(BinaryIO, fs.open(path, "rb"))
    try:
        tail, size = _read_tail(fs, path)
    except (FileNotFoundError, PermissionError):
        raise
    except OSError:  # an empty file does not have such a range
        return cast(BinaryIO, fs.open(path, "rb"))
    if size == len(tail):
        return io.BytesIO(tail)
    return cast(BinaryIO, io.BufferedReader(_RangedFile(fs, path, tail, size)))


def _read_tail(fs: Any, path: str) -> tuple[bytes, int]:
    """Returns a file's last bytes, and its length."""
    bucket, key = _place(fs, path)
    answer = fs.call_s3("get_object", Bucket=bucket, Key=key, Range=f"bytes=-{_TAIL_BYTES}")
    # A store without ranges returns the whole file.
    size = int(answer["ContentRange"].rpartition("/")[2] if "ContentRange" in answer else answer["ContentLength"])
    try:
        with as_os_errors():
            tail = bytes(asyncio.run_coroutine_threadsafe(answer["Body"].read(), fs.loop).result())
    except OSError:  # the connection ended within the body; fsspec repeats this request
        tail = fs.cat_file(path, start=-_TAIL_BYTES)
    return tail, size


class _RangedFile(io.RawIOBase):
    """A file whose end is in memory, read by ranged requests with read-ahead."""

    def __init__(self, fs: Any, path: str, tail: bytes, size: int) -> None:
        self._fs, self._path = fs, path
        self._tail, self._size, self._position = tail, size, 0
        self._tail_start = size - len(tail)
        self._ahead, self._ahead_start = b"", 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        origin = {os.SEEK_SET: 0, os.SEEK_CUR: self._position, os.SEEK_END: self._size}[whence]
        self._position = max(0, origin + offset)
        return self._position

    @as_os_errors()
    def _read_before_tail(self, end: int) -> bytes:
        """Returns bytes from the position on, at most to `end`, and reads further ones ahead."""
        if not self._ahead_start <= self._position < self._ahead_start + len(self._ahead):
            ahead_end = min(max(end, self._position + _AHEAD_BYTES), self._tail_start)
            self._ahead = bytes(self._fs.cat_file(self._path, start=self._position, end=ahead_end))
            self._ahead_start = self._position
        return self._ahead[self._position - self._ahead_start : end - self._ahead_start]

    def readinto(self, buffer: Any) -> int:
        end = min(self._position + len(buffer), self._size)
        if self._position >= self._tail_start:
            found = self._tail[self._position - self._tail_start : max(0, end - self._tail_start)]
        else:
            found = self._read_before_tail(min(end, self._tail_start))
        buffer[: len(found)] = found
        self._position += len(found)
        return len(found)


def file_info(fs: Any, path: str) -> dict[str, Any]:
    """Returns a file's name, size and time, as fsspec's `info` does. Raises FileNotFoundError, OSError."""
    if not is_s3(fs):
        return cast(dict[str, Any], fs.info(path))
    bucket, key = _place(fs, path)
    found = fs.call_s3("head_object", Bucket=bucket, Key=key)
    return _file(bucket, key, {"Size": found["ContentLength"], **found})


def modified_s(entry: Mapping[str, Any]) -> float:
    """Returns the modification time in seconds since the epoch; each file system represents it differently."""
    if (found_ms := entry.get("modification_time")) is not None:  # in HDFS
        return float(found_ms) / 1000
    found: Any = next((entry[key] for key in _TIMES if entry.get(key)), 0)
    if isinstance(found, str):
        found = datetime.fromisoformat(found)
    return float(found.timestamp() if hasattr(found, "timestamp") else found)


def has_file(fs: Any, path: str) -> bool:
    """Returns True if a file exists."""
    if not is_s3(fs):
        return bool(fs.exists(path))
    try:
        file_info(fs, path)
    except FileNotFoundError:
        return False
    return True


def list_s3(fs: Any, folder: str, after: str = "", *, recursive: bool = False) -> Iterator[dict[str, Any]]:
    """Yields a folder's entries on S3, in the form of fsspec's `ls`, whose names sort after `after`; nothing for a
    missing folder.

    `recursive`: the files in it and in the folders below it, and no folders.
    """
    bucket, key = _place(fs, folder)
    prefix = f"{key}/" if key else ""
    parameters = {"Bucket": bucket, "Prefix": prefix, **({} if recursive else {"Delimiter": "/"})}
    if after:
        parameters["StartAfter"] = f"{prefix}{after}"
    while True:
        page = fs.call_s3("list_objects_v2", **parameters)
        for found in page.get("CommonPrefixes", ()):
            yield {"name": f"{bucket}/{found['Prefix'].rstrip('/')}", "size": 0, "type": "directory"}
        for found in page.get("Contents", ()):
            if not found["Key"].endswith("/"):  # a folder marker
                yield _file(bucket, found["Key"], found)
        if not page.get("IsTruncated"):
            return
        parameters = {**parameters, "ContinuationToken": page["NextContinuationToken"]}


def find_files(fs: Any, folder: str) -> list[str]:
    """Returns the paths for all files in a folder and below it."""
    return [each["name"] for each in list_s3(fs, folder, recursive=True)] if is_s3(fs) else list(fs.find(folder))


def delete_files(fs: Any, paths: Sequence[str]) -> dict[str, OSError]:
    """Deletes files; missing ones are not an error. Returns the reasons for remaining files, by path."""
    if is_s3(fs) and len(paths) > 1:
        pages = (paths[first : first + _KEYS_MAX] for first in range(0, len(paths), _KEYS_MAX))
        paths = [path for page in pages for path in _delete_objects(fs, page)]
    with ThreadPoolExecutor(_DELETES_AT_ONCE) as pool:
        failures = zip(paths, pool.map(lambda path: _failure_of_delete(fs, path), paths), strict=True)
        return {path: failure for path, failure in failures if failure is not None}


def delete_file(fs: Any, path: str) -> None:
    """Deletes a file; a missing one is not an error."""
    with as_os_errors(), suppress(FileNotFoundError):  # `rm` would interpret stars and brackets in names as patterns
        fs.rm_file(path)


def _failure_of_delete(fs: Any, path: str) -> OSError | None:
    try:
        delete_file(fs, path)
    except OSError as failure:
        return failure
    return None


def _delete_objects(fs: Any, paths: Sequence[str]) -> Sequence[str]:
    """Deletes objects by DeleteObjects. Returns the remaining ones, for single requests that report the reason: some
    stores lack DeleteObjects.
    """
    keys = [_place(fs, path)[1] for path in paths]
    named = {"Objects": [{"Key": key} for key in keys], "Quiet": True}
    try:
        with as_os_errors():
            answer = fs.call_s3("delete_objects", Bucket=_place(fs, paths[0])[0], Delete=named)
    except OSError:
        return paths
    refused = {each.get("Key") for each in answer.get("Errors", ())}
    return [path for path, key in zip(paths, keys, strict=True) if key in refused]


def _place(fs: Any, path: str) -> tuple[str, str]:
    """Returns the bucket, and an object's key or a folder's key prefix."""
    bucket, _, key = fs._strip_protocol(path).partition("/")
    return bucket, key


def _file(bucket: str, key: str, found: Mapping[str, Any]) -> dict[str, Any]:
    """Returns an entry with an object's properties."""
    entry = {"name": f"{bucket}/{key}", "size": found["Size"], "type": "file", "LastModified": found["LastModified"]}
    return {**entry, "ETag": found.get("ETag")}
