"""Listings of a folder from a given name on, where the store can begin there.

A log keeps every commit until it is cleaned up, so whoever only wants the newest ones must not be told all of them. S3
lists a thousand objects a request and begins behind any key; the other stores that fsspec knows are listed as a whole.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

_S3 = frozenset({"s3", "s3a"})


def entries_from(fs: Any, scheme: str, path: str, start: str) -> list[dict[str, Any]]:
    """Files of the folder `path`, as fsspec's `ls` has them, from the name `start` on; maybe some before it.

    Raises FileNotFoundError, NotADirectoryError.
    """
    if start and scheme in _S3 and hasattr(fs, "call_s3"):
        return list(_s3_objects(fs, path, start))
    fs.invalidate_cache(path)  # a cached listing would hide other writers' commits
    entries: list[dict[str, Any]] = fs.ls(path, detail=True)
    return entries


def _s3_objects(fs: Any, path: str, start: str) -> Iterator[dict[str, Any]]:
    bucket, _, folder = fs._strip_protocol(path).partition("/")
    prefix = f"{folder.rstrip('/')}/" if folder else ""
    # S3 begins behind `StartAfter`, and an object may be called just `start`: so one that sorts right before it.
    asked = {"Bucket": bucket, "Prefix": prefix, "Delimiter": "/", "StartAfter": f"{prefix}{_before(start)}"}
    while True:
        page = fs.call_s3("list_objects_v2", **asked)
        for found in page.get("Contents", ()):
            yield {
                "name": f"{bucket}/{found['Key']}",
                "size": found["Size"],
                "type": "file",
                "LastModified": found["LastModified"],
            }
        if not page.get("IsTruncated"):
            return
        asked = {**asked, "ContinuationToken": page["NextContinuationToken"]}


def _before(name: str) -> str:
    """A text before `name`, and behind every file name that sorts before it in a log."""
    return f"{name[:-1]}{chr(ord(name[-1]) - 1)}~"
