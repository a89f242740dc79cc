"""Listings from a given name: a store lists from there, and returns the same names as a full listing.

The fakes replace fsspec's file system clients at their calls.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest

from engine.storage.storage import FileStatus, FsspecStorage

NAMES = [f"{version:020d}.json" for version in range(2500)] + [
    "00000000000000000010.checkpoint.parquet",
    "_last_checkpoint",
]
FOLDER = "lake/t/_delta_log/"
MOMENT = datetime(2026, 1, 2, tzinfo=UTC)


class Paged:
    """One folder's names as stores list them: sorted, a thousand per page."""

    def __init__(self) -> None:
        self.keys = sorted(f"{FOLDER}{name}" for name in NAMES)
        self.calls: list[dict[str, Any]] = []

    @staticmethod
    def _strip_protocol(path: str) -> str:
        return path.partition("://")[2].rstrip("/")

    def page(
        self, parameters: dict[str, Any], prefix: str, is_left: Callable[[str], bool]
    ) -> tuple[list[str], str | None]:
        """Returns the next page's keys, and the key at which the following page begins."""
        self.calls.append(parameters)
        left = [key for key in self.keys if key.startswith(prefix) and is_left(key)]
        return left[:1000], left[1000] if len(left) > 1000 else None


class PagedS3(Paged):
    """Begins after `StartAfter`."""

    def call_s3(self, method: str, **parameters: Any) -> dict[str, Any]:
        assert (method, parameters["Bucket"], parameters["Delimiter"]) == ("list_objects_v2", "bucket", "/")
        after = parameters.get("ContinuationToken", parameters["StartAfter"])
        keys, following = self.page(parameters, parameters["Prefix"], lambda key: key > after)
        page = {"Contents": [{"Key": key, "Size": 7, "LastModified": MOMENT} for key in keys]}
        return page | {"IsTruncated": following is not None, "NextContinuationToken": keys[-1] if keys else ""}


class PagedGcs(Paged):
    """Begins at `startOffset`."""

    def call(self, method: str, path: str, *arguments: str, json_out: bool, **parameters: Any) -> dict[str, Any]:
        assert (method, path, arguments, json_out, parameters["delimiter"]) == ("GET", "b/{}/o", ("bucket",), True, "/")
        at = parameters.get("pageToken", parameters["startOffset"])
        keys, following = self.page(parameters, parameters["prefix"], lambda key: key >= at)
        if not keys:
            return {"kind": "storage#objects"}
        page = {"items": [{"name": key, "size": "7", "updated": "2026-01-02T00:00:00.000Z"} for key in keys]}
        return page | ({"nextPageToken": following} if following else {})


@dataclass
class Blob:
    name: str
    size: int = 7
    last_modified: datetime = MOMENT
    metadata: dict[str, str] | None = field(default_factory=dict)


class ResourceNotFoundError(Exception):
    """The exception that Azure's client raises."""


class PagedAzure(Paged):
    """Begins at `startFrom`, and lists folders, which are prefixes, and blobs if the account has a hierarchical
    namespace.
    """

    is_old, is_there = False, True

    def __init__(self) -> None:
        super().__init__()
        self.service_client = SimpleNamespace(get_container_client=self.container)
        self.loop = asyncio.new_event_loop()
        threading.Thread(target=self.loop.run_forever, daemon=True).start()

    @asynccontextmanager
    async def container(self, container: str) -> AsyncIterator[PagedAzure]:
        assert container == "bucket"
        yield self

    async def walk_blobs(
        self, name_starts_with: str, include: list[str], start_from: str | None = None
    ) -> AsyncIterator[Any]:
        if start_from is not None and self.is_old:
            raise TypeError("got an unexpected keyword argument 'start_from'")
        if not self.is_there:
            raise ResourceNotFoundError("The specified container does not exist.")
        assert include == ["metadata"]
        following = start_from or ""
        yield SimpleNamespace(name=f"{FOLDER}_sidecars/")
        yield Blob(f"{FOLDER}_sidecars", size=0, metadata={"hdi_isfolder": "true"})
        while following is not None:
            keys, following = self.page({}, name_starts_with, lambda key, at=following: key >= at)  # type: ignore[misc,assignment]
            for key in keys:
                yield Blob(key, metadata=None)


STORES: list[tuple[str, type[Paged]]] = [("s3", PagedS3), ("gs", PagedGcs), ("abfss", PagedAzure)]


def storage(scheme: str, kind: type[Paged]) -> tuple[FsspecStorage, Any]:
    made, fs = FsspecStorage("memory://bucket/lake/t"), kind()
    made.root, made.scheme, made.fs = f"{scheme}://bucket/lake/t", scheme, fs
    return made, fs


@pytest.fixture(autouse=True)
def _loops(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    made: list[asyncio.AbstractEventLoop] = []
    new = asyncio.new_event_loop

    def record() -> asyncio.AbstractEventLoop:
        made.append(new())
        return made[-1]

    monkeypatch.setattr(asyncio, "new_event_loop", record)
    yield
    for loop in made:
        loop.call_soon_threadsafe(loop.stop)


@pytest.mark.parametrize(
    ("start", "pages"),
    [("00000000000000002490.", 1), ("00000000000000002490.json", 1), ("00000000000000000010.", 3), ("0", 3), ("_l", 1)],
)
@pytest.mark.parametrize(("scheme", "kind"), STORES, ids=[scheme for scheme, _ in STORES])
def test_names_from_one_on(scheme: str, kind: type[Paged], start: str, pages: int) -> None:
    made, fs = storage(scheme, kind)
    found = made.list_files("_delta_log", start)
    assert [status.name for status in found] == sorted(name for name in NAMES if name >= start)
    assert found[0] == FileStatus(found[0].name, 7, int(MOMENT.timestamp() * 1000))
    assert len(fs.calls) == pages


@pytest.mark.parametrize(("scheme", "kind"), STORES, ids=[scheme for scheme, _ in STORES])
def test_a_folder_that_is_not_there_is_empty(scheme: str, kind: type[Paged]) -> None:
    made, fs = storage(scheme, kind)
    fs.keys = []
    assert made.list_names("_delta_log", "0") == []


def test_a_client_of_azure_that_cannot_begin_anywhere_lists_the_whole_folder() -> None:
    made, fs = storage("az", PagedAzure)
    fs.is_old = True
    assert len(made.list_names("_delta_log", "00000000000000002490.")) == 11
    assert len(fs.calls) == 3


def test_a_container_that_is_not_there_is_empty() -> None:
    made, fs = storage("az", PagedAzure)
    fs.is_there = False
    assert made.list_names("_delta_log", "0") == []
