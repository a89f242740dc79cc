"""Opens file systems of fsspec, and creates files on them that must not exist yet.

A conditional put must be one step on the server, or two writers can both succeed. fsspec has arguments for it, but what
they do is up to each file system: on some it is a check followed by a write. Only these schemes are known to do it in
one step (or, in memory, under our lock); all others are read but not written:

========================  =============================================================================================
`s3`, `s3a`               `If-None-Match: *` (s3fs from 2024.10)
`gs`, `gcs`               `ifGenerationMatch=0`
`abfs`, `abfss`, `az`     `If-None-Match: *`, which is `overwrite=False` in adlfs
`memory`                  this process only; for tests
========================  =============================================================================================

fsspec's cache of listings is off: it lacks files that other servers wrote, and those that this one put conditionally.
A request to S3 that gets no answer ends after half a minute, and s3fs sends it again, four times at most; botocore
would wait for a minute and repeat each of these as well. Options of a credential go before.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any
from urllib.parse import urlsplit

import fsspec

CONDITIONS: Mapping[str, Mapping[str, Any]] = {
    "s3": {"mode": "create"},
    "s3a": {"mode": "create"},
    "gs": {"mode": "create"},
    "gcs": {"mode": "create"},
    "abfs": {"overwrite": False},
    "abfss": {"overwrite": False},
    "az": {"overwrite": False},
    "memory": {},
}
"""Scheme -> the arguments that make fsspec's `pipe_file` and `put_file` conditional."""

_S3_CLIENT = {"connect_timeout": 10, "read_timeout": 30, "retries": {"total_max_attempts": 1}}
"""The configuration of botocore."""

_PRECONDITION_FAILED = 412
_memory_lock = threading.Lock()


def open_file_system(url: str, options: Mapping[str, Any]) -> Any:
    """Return the file system of a URL, without a cache of listings. Raises ImportError, ValueError."""
    options = {"use_listings_cache": False, **options}
    if urlsplit(url).scheme in ("s3", "s3a"):
        options["config_kwargs"] = {**_S3_CLIENT, **options.get("config_kwargs", {})}
    return fsspec.core.url_to_fs(url, **options)[0]


def put_if_absent(fs: Any, scheme: str, path: str, data: bytes) -> bool:
    """Creates a file; returns False if one of this name exists. `scheme` is one of `CONDITIONS`.

    Any other exception means that the outcome is unknown. Even False does not mean that another writer won: clients
    repeat a request whose answer was lost, and the repetition finds the file of the first.
    """
    return _is_created(fs, scheme, path, partial(fs.pipe_file, path, data))


def put_file_if_absent(fs: Any, scheme: str, path: str, local: str) -> bool:
    """Creates a file of the bytes of a local one, as `put_if_absent` does.

    Large files are uploaded in parts (s3fs: from 100 MiB), and the condition is that of the request which ends the
    upload: CompleteMultipartUpload on S3, Put Block List on Azure; on Google Cloud Storage it is that of the resumable
    upload. So one of several writers succeeds with these too, but each has sent all of its bytes. A store like S3 that
    ignores the condition of CompleteMultipartUpload lets the last writer of such a file win.
    """
    return _is_created(fs, scheme, path, partial(fs.put_file, local, path))


def _is_created(fs: Any, scheme: str, path: str, put: Callable[..., object]) -> bool:
    if scheme == "memory":
        with _memory_lock:
            if fs.exists(path):
                return False
            put()
            return True
    try:
        put(**CONDITIONS[scheme])
    except FileExistsError:
        return False
    except Exception as error:
        if _is_precondition_failed(error):
            return False
        raise
    return True


def _is_precondition_failed(error: BaseException | None) -> bool:
    """Returns whether a store answered 412. MinIO, Ceph and R2 do not name the condition: s3fs raises OSError."""
    while error is not None:
        response = getattr(error, "response", None)
        metadata = response.get("ResponseMetadata", {}) if isinstance(response, dict) else {}
        status = getattr(error, "status", None) or getattr(error, "status_code", None)
        if _PRECONDITION_FAILED in (metadata.get("HTTPStatusCode"), status):
            return True
        error = error.__cause__
    return False
