"""Requests to object stores, one for each question where the store has one that answers it.

fsspec's file systems send more on S3: a HEAD before a GET, up to two listings after a HEAD or a listing that found
nothing, and a request for each file that is deleted. Here S3 is asked directly, by fsspec's own client of it, with its
credentials, sessions and repetitions. File systems of other schemes are used as they are.

fsspec translates the errors that a server answers. An error on the way to it is the client's own (botocore's
`ConnectionClosedError`, say) and no `OSError`; code that recognizes failures of a storage by that class would take it
for a bug, and a put whose answer was lost for one that did not happen. `as_os_errors` translates these too; a client
without any credentials raises `PermissionError`, as if they were refused.
"""

from __future__ import annotations

import errno
import io
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from datetime import datetime
from typing import Any, BinaryIO, cast

from catalog.errors import SqlError

_TAIL_BYTES = 1 << 20
"""How much of the end of a file is read when it is opened: all of a small one, and the footer of a Parquet file."""

_KEYS_MAX = 1000
"""Objects that one DeleteObjects request names, at most."""

_DELETES_AT_ONCE = 16

_TIMES = ("mtime", "LastModified", "last_modified", "updated", "created")


def is_s3(fs: Any) -> bool:
    """Returns whether a file system of fsspec has a client of S3."""
    return hasattr(fs, "call_s3")


def read_file(fs: Any, path: str) -> bytes:
    """Returns the bytes of a file. Raises FileNotFoundError, OSError."""
    if is_s3(fs):  # of files that are read in pieces at once it would ask for the size first
        return bytes(fs.cat_file(path, max_concurrency=1))
    return bytes(fs.cat_file(path))


def open_file(fs: Any, path: str) -> BinaryIO:
    """A seekable file, for readers of Parquet; a small one is read by one request.

    Raises FileNotFoundError, OSError.
    """
    if is_s3(fs):
        try:
            tail = fs.cat_file(path, start=-_TAIL_BYTES)
        except (FileNotFoundError, PermissionError):
            raise
        except OSError:  # an empty file has no such range
            tail = None
        if tail is not None and len(tail) < _TAIL_BYTES:
            return io.BytesIO(tail)
    return cast(BinaryIO, fs.open(path, "rb"))


def file_info(fs: Any, path: str) -> dict[str, Any]:
    """Returns name, size and time of a file, as fsspec's `info` does. Raises FileNotFoundError, OSError."""
    if not is_s3(fs):
        return cast(dict[str, Any], fs.info(path))
    bucket, key = _place(fs, path)
    found = fs.call_s3("head_object", Bucket=bucket, Key=key)
    return _file(bucket, key, found["ContentLength"], found["LastModified"])


def modified_s(entry: Mapping[str, Any]) -> float:
    """Returns the time of modification in seconds since the epoch, which file systems spell in their own ways."""
    found: Any = next((entry[key] for key in _TIMES if entry.get(key)), 0)
    if isinstance(found, str):
        found = datetime.fromisoformat(found)
    return float(found.timestamp() if hasattr(found, "timestamp") else found)


def has_file(fs: Any, path: str) -> bool:
    """Returns whether a file exists."""
    if not is_s3(fs):
        return bool(fs.exists(path))
    try:
        file_info(fs, path)
    except FileNotFoundError:
        return False
    return True


def list_s3(fs: Any, folder: str, after: str = "", *, recursive: bool = False) -> Iterator[dict[str, Any]]:
    """The entries of a folder on S3, as fsspec's `ls` has them, whose names sort after `after`; none if there is none.

    `recursive`: the files in it and in the folders below it, and no folders.
    """
    bucket, key = _place(fs, folder)
    prefix = f"{key}/" if key else ""
    asked = {"Bucket": bucket, "Prefix": prefix, **({} if recursive else {"Delimiter": "/"})}
    if after:
        asked["StartAfter"] = f"{prefix}{after}"
    while True:
        page = fs.call_s3("list_objects_v2", **asked)
        for found in page.get("CommonPrefixes", ()):
            yield {"name": f"{bucket}/{found['Prefix'].rstrip('/')}", "size": 0, "type": "directory"}
        for found in page.get("Contents", ()):
            if not found["Key"].endswith("/"):  # the mark of a folder
                yield _file(bucket, found["Key"], found["Size"], found["LastModified"])
        if not page.get("IsTruncated"):
            return
        asked = {**asked, "ContinuationToken": page["NextContinuationToken"]}


def find_files(fs: Any, folder: str) -> list[str]:
    """Returns the paths of all files in a folder and below it."""
    return [each["name"] for each in list_s3(fs, folder, recursive=True)] if is_s3(fs) else list(fs.find(folder))


def delete_files(fs: Any, paths: Sequence[str]) -> dict[str, OSError]:
    """Deletes files, those that are missing too. Returns why files are left, by path."""
    if is_s3(fs) and len(paths) > 1:
        pages = (paths[first : first + _KEYS_MAX] for first in range(0, len(paths), _KEYS_MAX))
        paths = [path for page in pages for path in _delete_objects(fs, page)]
    with ThreadPoolExecutor(_DELETES_AT_ONCE) as pool:
        failures = zip(paths, pool.map(lambda path: _failure_of_delete(fs, path), paths), strict=True)
        return {path: failure for path, failure in failures if failure is not None}


def delete_file(fs: Any, path: str) -> None:
    """Deletes a file, or nothing if it is missing."""
    with as_os_errors(), suppress(FileNotFoundError):  # `rm` would take stars and brackets in names for patterns
        fs.rm_file(path)


def _failure_of_delete(fs: Any, path: str) -> OSError | None:
    try:
        delete_file(fs, path)
    except OSError as failure:
        return failure
    return None


def _delete_objects(fs: Any, paths: Sequence[str]) -> Sequence[str]:
    """Returns those that are left, for requests of their own, which say why: some stores lack DeleteObjects."""
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
    """The bucket, and the object's key or what the keys of a folder's objects begin with."""
    bucket, _, key = fs._strip_protocol(path).partition("/")
    return bucket, key


def _file(bucket: str, key: str, size: Any, modified: Any) -> dict[str, Any]:
    return {"name": f"{bucket}/{key}", "size": size, "type": "file", "LastModified": modified}


_NO_CREDENTIALS = frozenset(["NoCredentialsError", "PartialCredentialsError", "DefaultCredentialsError"])
"""Classes of botocore and google-auth."""


@contextmanager
def as_os_errors() -> Iterator[None]:
    """Around calls of fsspec, also as a decorator."""
    try:
        yield
    except (OSError, SqlError):
        raise
    except Exception as error:
        if type(error).__name__ in _NO_CREDENTIALS:
            raise PermissionError(errno.EACCES, str(error)) from error
        raise OSError(errno.EIO, f"{type(error).__name__}: {error}") from error
