"""Lists a directory from a given name, if the store can start there.

A log contains every commit until it is cleaned up, so a reader that needs the newest ones must not list all.

========================  =============================================================================================
S3                        `StartAfter` in ListObjectsV2, which begins after a key Google Cloud Storage
`startOffset` in objects.list, which begins at a name Azure                     `startFrom` in List Blobs, which begins
at a name; services and clients that are older than
                          this parameter return the whole directory
========================  =============================================================================================

Requests use fsspec's own client for the store, with its credentials, sessions and retries, but not its `ls`, which has
no start parameter. Directories with any other scheme are listed completely. A result may always contain names before
the given one: the caller removes them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from catalog.store.store_requests import list_s3

Entries = Iterator[dict[str, Any]]


def entries_from(fs: Any, scheme: str, path: str, start: str) -> list[dict[str, Any]]:
    """Yields the files in the directory `path`, as fsspec's `ls` does, from the name `start`; possibly some before it.

    Raises FileNotFoundError, NotADirectoryError.
    """
    attribute, listed = _LISTINGS.get(scheme, ("", _whole))
    if (start or listed is _s3_objects) and hasattr(fs, attribute):
        return list(listed(fs, path, start))
    return list(_whole(fs, path, start))


def _whole(fs: Any, path: str, start: str) -> Entries:
    yield from fs.ls(path, detail=True)


def _s3_objects(fs: Any, path: str, start: str) -> Entries:
    # S3 begins after `StartAfter`, and an object may have exactly the name `start`: so a name that sorts just before
    # it.
    yield from list_s3(fs, path, _before(start) if start else "")


def _gcs_objects(fs: Any, path: str, start: str) -> Entries:
    bucket, prefix = _place(fs, path)
    parameters = {"prefix": prefix, "delimiter": "/", "startOffset": f"{prefix}{start}"}
    while True:
        page = fs.call("GET", "b/{}/o", bucket, json_out=True, **parameters)
        for found in page.get("items", ()):
            yield _file(bucket, found["name"], found["size"], found["updated"])
        if not page.get("nextPageToken"):
            return
        parameters = {**parameters, "pageToken": page["nextPageToken"]}


def _azure_blobs(fs: Any, path: str, start: str) -> Entries:
    container, prefix = _place(fs, path)

    async def load(**where: str) -> list[Any]:
        async with fs.service_client.get_container_client(container=container) as client:
            return [blob async for blob in client.walk_blobs(name_starts_with=prefix, include=["metadata"], **where)]

    try:
        blobs = _on_loop(fs, load(start_from=f"{prefix}{start}"))
    except TypeError:  # from a client that passes on unknown parameters
        blobs = _on_loop(fs, load())
    for blob in blobs:
        # A directory is a prefix, or, if the account has real directories, an empty blob with a flag.
        if not blob.name.endswith("/") and not (blob.metadata or {}).get("hdi_isfolder"):
            yield _file(container, blob.name, blob.size, blob.last_modified)


def _on_loop(fs: Any, load: Any) -> list[Any]:
    """Returns a coroutine's result, on the event loop to which the file system's client belongs."""
    try:
        answer: list[Any] = asyncio.run_coroutine_threadsafe(load, fs.loop).result()
    except Exception as error:
        if type(error).__name__ == "ResourceNotFoundError":
            raise FileNotFoundError(str(error)) from error
        raise
    return answer


# Scheme -> the attribute that its file system needs, and the listing function.
_LISTINGS: Mapping[str, tuple[str, Callable[[Any, str, str], Entries]]] = {
    "s3": ("call_s3", _s3_objects),
    "s3a": ("call_s3", _s3_objects),
    "gs": ("call", _gcs_objects),
    "gcs": ("call", _gcs_objects),
    "abfs": ("service_client", _azure_blobs),
    "abfss": ("service_client", _azure_blobs),
    "az": ("service_client", _azure_blobs),
}


def _place(fs: Any, path: str) -> tuple[str, str]:
    """Returns the bucket or container, and the prefix for the directory's file names."""
    bucket, _, folder = fs._strip_protocol(path).partition("/")
    return bucket, f"{folder.rstrip('/')}/" if folder else ""


def _file(bucket: str, key: str, size: Any, modified: Any) -> dict[str, Any]:
    return {"name": f"{bucket}/{key}", "size": size, "type": "file", "LastModified": modified}


def _before(name: str) -> str:
    """Returns a text before `name`, and after every file name in a log that sorts before it."""
    return f"{name[:-1]}{chr(ord(name[-1]) - 1)}~"
