"""Opens fsspec file systems, and creates files with put-if-absent.

A conditional put must be atomic on the server, or two writers can both succeed. fsspec has arguments for it, but their
effect depends on the file system: some check and then write. Only the schemes below are known to be atomic (or, in
memory, under our lock); all others are read but not written:

========================  =============================================================================================
`s3`, `s3a`               `If-None-Match: *` (s3fs from 2024.10)
`gs`, `gcs`               `ifGenerationMatch=0`
`abfs`, `abfss`, `az`     `If-None-Match: *`, which is `overwrite=False` in adlfs
`hdfs`                    a temporary file, and a rename that does not replace: one operation of the NameNode
`memory`                  this process only; for tests
========================  =============================================================================================

A store that has the scheme of another one may ignore the condition. `verify_conditional_puts` tries it when the server
starts; a store that fails is then read but not written, as a scheme that is not in the table.

fsspec's listing cache is off: it misses files that other servers wrote, and files that this server put conditionally. A
request to S3 without a response ends after 30 s, and s3fs repeats it at most four times; botocore would wait for 60 s
and repeat each of these as well. A credential's options override these.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from importlib.util import find_spec
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

import fsspec

from catalog.conditions import StorageNotAvailable
from catalog.roots import SAME_STORE

# Maps a scheme to the arguments that make fsspec's `pipe_file` and `put_file` conditional.
CONDITIONS: Mapping[str, Mapping[str, Any]] = {
    "s3": {"mode": "create"},
    "s3a": {"mode": "create"},
    "gs": {"mode": "create"},
    "gcs": {"mode": "create"},
    "abfs": {"overwrite": False},
    "abfss": {"overwrite": False},
    "az": {"overwrite": False},
    "hdfs": {},
    "memory": {},
}

# Maps a scheme to the Python package that fsspec needs for it, and the extra of this package that brings it.
_PACKAGES: Mapping[str, tuple[str, str]] = {
    **dict.fromkeys(("s3", "s3a"), ("s3fs", "s3")),
    **dict.fromkeys(("gs", "gcs"), ("gcsfs", "gcs")),
    **dict.fromkeys(("abfs", "abfss", "az"), ("adlfs", "azure")),
    "hdfs": ("hdfs_native", "hdfs"),
}

# The botocore configuration.
_S3_CLIENT = {"connect_timeout": 10, "read_timeout": 30, "retries": {"total_max_attempts": 1}}

_PRECONDITION_FAILED = 412
_memory_lock = threading.Lock()

# Stores that ignored the condition, as scheme and authority.
_unconditional: set[str] = set()


def open_file_system(url: str, options: Mapping[str, Any]) -> Any:
    """Returns the file system for a URL, without a listing cache. Raises `StorageNotAvailable`."""
    options = {"use_listings_cache": False, **options}
    ensure_package(url)
    scheme = urlsplit(url).scheme
    if scheme in ("s3", "s3a"):
        options["config_kwargs"] = {**_S3_CLIENT, **options.get("config_kwargs", {})}
    elif scheme == "hdfs":
        del options["use_listings_cache"]  # its file system has none
    try:
        return fsspec.core.url_to_fs(url, **options)[0]
    except (ImportError, ValueError) as error:
        raise StorageNotAvailable(url, str(error)) from error


def ensure_package(url: str) -> None:
    """Raises `StorageNotAvailable`, with the extra to install, if the package for the URL's scheme is missing."""
    package, extra = _PACKAGES.get(urlsplit(url).scheme, ("", ""))
    if package and find_spec(package) is None:
        reason = f"the Python package {package} is not installed (pip install 'delta-gateway[{extra}]')"
        raise StorageNotAvailable(url, reason)


def reason_against_puts(url: str) -> str | None:
    """Returns why files are not put below `url`; None if they can be."""
    if urlsplit(url).scheme not in CONDITIONS:
        return "the scheme has no atomic put-if-absent"
    return "its store ignores the condition of a conditional put" if _store_of(url) in _unconditional else None


def verify_conditional_puts(url: str, options: Mapping[str, Any]) -> bool:
    """Tries two puts of one new file below `url`; returns False if the second one succeeds, and then refuses writes to
    this store.

    Raises `StorageNotAvailable`, and the client's errors: without an answer, or without permission to write, nothing is
    known.
    """
    scheme = urlsplit(url).scheme
    fs, path = open_file_system(url, options), f"{url.rstrip('/')}/.gateway-{uuid4().hex}"
    try:
        put_if_absent(fs, scheme, path, b"1")
        is_honored = not put_if_absent(fs, scheme, path, b"2")
    finally:
        with suppress(Exception):  # an empty file that no reader lists may stay
            fs.rm_file(path)
    (_unconditional.discard if is_honored else _unconditional.add)(_store_of(url))
    return is_honored


def _store_of(url: str) -> str:
    scheme, _, rest = url.partition("://")
    return f"{SAME_STORE.get(scheme, scheme)}://{rest.partition('/')[0]}"


def put_if_absent(fs: Any, scheme: str, path: str, data: bytes) -> bool:
    """Creates a file; returns False if the name exists. `scheme` is a key in `CONDITIONS`.

    Any other exception means that the outcome is unknown. Even False does not mean that another writer won: clients
    repeat a request whose response was lost, and the second attempt finds the first one's file.
    """
    return _is_created(fs, scheme, path, lambda target, **condition: fs.pipe_file(target, data, **condition))


def put_file_if_absent(fs: Any, scheme: str, path: str, local: str) -> bool:
    """Creates a file from a local one, as `put_if_absent` does.

    Large files are uploaded in parts (s3fs: from 100 MiB), and the condition is on the request that completes the
    upload: CompleteMultipartUpload on S3, Put Block List on Azure, the resumable upload on Google Cloud Storage. One of
    several writers succeeds, but each has sent all of its bytes. On an S3-compatible store that ignores the condition
    on CompleteMultipartUpload, the last writer wins.
    """
    return _is_created(fs, scheme, path, lambda target, **condition: fs.put_file(local, target, **condition))


def _is_created(fs: Any, scheme: str, path: str, put: Callable[..., object]) -> bool:
    if scheme == "memory":
        with _memory_lock:
            if fs.exists(path):
                return False
            put(path)
            return True
    try:
        if scheme == "hdfs":
            _put_and_rename(fs, path, put)
        else:
            put(path, **CONDITIONS[scheme])
    except FileExistsError:
        return False
    except Exception as error:
        # The client's exception differs by store and version, and some wrap it; the HTTP
        # status does not.
        if _is_precondition_failed(error):
            return False
        raise
    return True


def _put_and_rename(fs: Any, path: str, put: Callable[..., object]) -> None:
    """Raises FileExistsError for an existing name, before anything is written if possible."""
    if fs.exists(path):
        raise FileExistsError(path)
    folder, _, name = path.rpartition("/")
    temporary = f"{folder}/.{name}.{uuid4().hex}.tmp"
    try:
        put(temporary)
        fs.mv(temporary, path, overwrite=False)
    finally:
        with suppress(Exception):  # readers ignore it, as they ignore a killed writer's object
            fs.rm_file(temporary)


def _is_precondition_failed(error: BaseException | None) -> bool:
    """Returns True for a 412 response. MinIO, Ceph and R2 do not name the condition: s3fs raises OSError."""
    while error is not None:
        response = getattr(error, "response", None)
        metadata = response.get("ResponseMetadata", {}) if isinstance(response, dict) else {}
        status = getattr(error, "status", None) or getattr(error, "status_code", None)
        if _PRECONDITION_FAILED in (metadata.get("HTTPStatusCode"), status):
            return True
        error = error.__cause__
    return False
