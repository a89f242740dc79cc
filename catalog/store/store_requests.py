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

import errno
import io
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from datetime import datetime
from typing import Any, BinaryIO, cast

from catalog.errors import SqlError

# Number of bytes from the end of a file that are read when it is opened: all of a small file, and the footer in a
# Parquet file.
_TAIL_BYTES = 1 << 20

# Maximum number of objects in one DeleteObjects request.
_KEYS_MAX = 1000

_DELETES_AT_ONCE = 16

_TIMES = ("mtime", "LastModified", "last_modified", "updated", "created")


def is_s3(fs: Any) -> bool:
    """Returns True if an fsspec file system has an S3 client."""
    return hasattr(fs, "call_s3")


def read_file(fs: Any, path: str) -> bytes:
    """Returns a file's bytes. Raises FileNotFoundError, OSError."""
    if is_s3(fs):  # for files that it reads in concurrent ranges it would request the size first
        return bytes(fs.cat_file(path, max_concurrency=1))
    return bytes(fs.cat_file(path))


def open_file(fs: Any, path: str) -> BinaryIO:
    """Opens a seekable file for Parquet readers; a small one is read by one request.

    Raises FileNotFoundError, OSError.
    """
    if is_s3(fs):
        try:
            tail = fs.cat_file(path, start=-_TAIL_BYTES)
        except (FileNotFoundError, PermissionError):
            raise
        except OSError:  # an empty file does not have such a range
            tail = None
        if tail is not None and len(tail) < _TAIL_BYTES:
            return io.BytesIO(tail)
    return cast(BinaryIO, fs.open(path, "rb"))


def file_info(fs: Any, path: str) -> dict[str, Any]:
    """Returns a file's name, size and time, as fsspec's `info` does. Raises FileNotFoundError, OSError."""
    if not is_s3(fs):
        return cast(dict[str, Any], fs.info(path))
    bucket, key = _place(fs, path)
    found = fs.call_s3("head_object", Bucket=bucket, Key=key)
    return _file(bucket, key, found["ContentLength"], found["LastModified"])


def modified_s(entry: Mapping[str, Any]) -> float:
    """Returns the modification time in seconds since the epoch; each file system represents it differently."""
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
                yield _file(bucket, found["Key"], found["Size"], found["LastModified"])
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


def _file(bucket: str, key: str, size: Any, modified: Any) -> dict[str, Any]:
    return {"name": f"{bucket}/{key}", "size": size, "type": "file", "LastModified": modified}


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
