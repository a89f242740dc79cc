"""Listings of a folder from a given name on, where the store can begin there.

A log keeps every commit until it is cleaned up, so a reader of the newest ones must not list all of them.

========================  =============================================================================================
S3                        `StartAfter` of ListObjectsV2, which begins behind a key
Google Cloud Storage      `startOffset` of objects.list, which begins at a name
Azure                     `startFrom` of List Blobs, which begins at a name; services and clients that are older than
                          this parameter answer the whole folder
========================  =============================================================================================

Requests go through fsspec's own client of the store, with its credentials, sessions and repetitions, past its `ls`,
which cannot say where to begin. Folders of every other scheme are listed as a whole. An answer may always hold names
before the given one: the caller leaves them out.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from catalog.store.store_requests import list_s3

Entries = Iterator[dict[str, Any]]


def entries_from(fs: Any, scheme: str, path: str, start: str) -> list[dict[str, Any]]:
    """Files of the folder `path`, as fsspec's `ls` has them, from the name `start` on; maybe some before it.

    Raises FileNotFoundError, NotADirectoryError.
    """
    attribute, listed = _LISTINGS.get(scheme, ("", _whole))
    if (start or listed is _s3_objects) and hasattr(fs, attribute):
        return list(listed(fs, path, start))
    return list(_whole(fs, path, start))


def _whole(fs: Any, path: str, start: str) -> Entries:
    yield from fs.ls(path, detail=True)


def _s3_objects(fs: Any, path: str, start: str) -> Entries:
    # S3 begins behind `StartAfter`, and an object may be called just `start`: so one that sorts right before it.
    yield from list_s3(fs, path, _before(start) if start else "")


def _gcs_objects(fs: Any, path: str, start: str) -> Entries:
    bucket, prefix = _place(fs, path)
    asked = {"prefix": prefix, "delimiter": "/", "startOffset": f"{prefix}{start}"}
    while True:
        page = fs.call("GET", "b/{}/o", bucket, json_out=True, **asked)
        for found in page.get("items", ()):
            yield _file(bucket, found["name"], found["size"], found["updated"])
        if not page.get("nextPageToken"):
            return
        asked = {**asked, "pageToken": page["nextPageToken"]}


def _azure_blobs(fs: Any, path: str, start: str) -> Entries:
    container, prefix = _place(fs, path)

    async def load(**where: str) -> list[Any]:
        async with fs.service_client.get_container_client(container=container) as client:
            return [blob async for blob in client.walk_blobs(name_starts_with=prefix, include=["metadata"], **where)]

    try:
        blobs = _on_loop(fs, load(start_from=f"{prefix}{start}"))
    except TypeError:  # of a client that hands on what it does not know
        blobs = _on_loop(fs, load())
    for blob in blobs:
        # A folder is a prefix, or, where the account has real folders, an empty blob that says so.
        if not blob.name.endswith("/") and not (blob.metadata or {}).get("hdi_isfolder"):
            yield _file(container, blob.name, blob.size, blob.last_modified)


def _on_loop(fs: Any, load: Any) -> list[Any]:
    """What a coroutine answers on the loop to which the file system's client belongs."""
    try:
        answer: list[Any] = asyncio.run_coroutine_threadsafe(load, fs.loop).result()
    except Exception as error:
        if type(error).__name__ == "ResourceNotFoundError":
            raise FileNotFoundError(str(error)) from error
        raise
    return answer


_LISTINGS: Mapping[str, tuple[str, Callable[[Any, str, str], Entries]]] = {
    "s3": ("call_s3", _s3_objects),
    "s3a": ("call_s3", _s3_objects),
    "gs": ("call", _gcs_objects),
    "gcs": ("call", _gcs_objects),
    "abfs": ("service_client", _azure_blobs),
    "abfss": ("service_client", _azure_blobs),
    "az": ("service_client", _azure_blobs),
}
"""Scheme -> what its file system must have, and how it is asked."""


def _place(fs: Any, path: str) -> tuple[str, str]:
    """The bucket or container, and what the names of the folder's files begin with."""
    bucket, _, folder = fs._strip_protocol(path).partition("/")
    return bucket, f"{folder.rstrip('/')}/" if folder else ""


def _file(bucket: str, key: str, size: Any, modified: Any) -> dict[str, Any]:
    return {"name": f"{bucket}/{key}", "size": size, "type": "file", "LastModified": modified}


def _before(name: str) -> str:
    """A text before `name`, and behind every file name that sorts before it in a log."""
    return f"{name[:-1]}{chr(ord(name[-1]) - 1)}~"
