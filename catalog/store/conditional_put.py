"""Opens fsspec file systems, and creates files with put-if-absent.

A conditional put must be atomic on the server, or two writers can both succeed. fsspec has arguments for it, but their
effect depends on the file system: some check and then write. Only the schemes below are known to be atomic (or, in
memory, under our lock); all others are read but not written:

========================  =============================================================================================
`s3`, `s3a`               `If-None-Match: *` (s3fs from 2024.10)
`gs`, `gcs`               `ifGenerationMatch=0`
`abfs`, `abfss`, `az`     `If-None-Match: *`, which is `overwrite=False` in adlfs
`memory`                  this process only; for tests
========================  =============================================================================================

fsspec's listing cache is off: it misses files that other servers wrote, and files that this server put conditionally. A
request to S3 without a response ends after 30 s, and s3fs repeats it at most four times; botocore would wait for 60 s
and repeat each of these as well. A credential's options override these.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any
from urllib.parse import urlsplit

import fsspec

# Maps a scheme to the arguments that make fsspec's `pipe_file` and `put_file` conditional.
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

# The botocore configuration.
_S3_CLIENT = {"connect_timeout": 10, "read_timeout": 30, "retries": {"total_max_attempts": 1}}

_PRECONDITION_FAILED = 412
_memory_lock = threading.Lock()


def open_file_system(url: str, options: Mapping[str, Any]) -> Any:
    """Returns the file system for a URL, without a listing cache. Raises ImportError, ValueError."""
    options = {"use_listings_cache": False, **options}
    if urlsplit(url).scheme in ("s3", "s3a"):
        options["config_kwargs"] = {**_S3_CLIENT, **options.get("config_kwargs", {})}
    return fsspec.core.url_to_fs(url, **options)[0]


def put_if_absent(fs: Any, scheme: str, path: str, data: bytes) -> bool:
    """Creates a file; returns False if the name exists. `scheme` is a key in `CONDITIONS`.

    Any other exception means that the outcome is unknown. Even False does not mean that another writer won: clients
    repeat a request whose response was lost, and the second attempt finds the first one's file.
    """
    return _is_created(fs, scheme, path, partial(fs.pipe_file, path, data))


def put_file_if_absent(fs: Any, scheme: str, path: str, local: str) -> bool:
    """Creates a file from a local one, as `put_if_absent` does.

    Large files are uploaded in parts (s3fs: from 100 MiB), and the condition is on the request that completes the
    upload: CompleteMultipartUpload on S3, Put Block List on Azure, the resumable upload on Google Cloud Storage. One of
    several writers succeeds, but each has sent all of its bytes. On an S3-compatible store that ignores the condition
    on CompleteMultipartUpload, the last writer wins.
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
        # The client's exception differs by store and version, and some wrap it; the HTTP
        # status does not.
        if _is_precondition_failed(error):
            return False
        raise
    return True


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
