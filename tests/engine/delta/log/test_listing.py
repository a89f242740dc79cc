"""Listings from a given name: S3 is asked to begin there, and answers what a whole listing would."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from engine.delta.log.storage import FileStatus, FsspecStorage

NAMES = [f"{version:020d}.json" for version in range(2500)] + [
    "00000000000000000010.checkpoint.parquet",
    "_last_checkpoint",
]
MOMENT = datetime(2026, 1, 2, tzinfo=UTC)


class PagedS3:
    """The listing of one folder as S3 gives it: sorted, a thousand keys a page, behind `StartAfter`."""

    def __init__(self) -> None:
        self.keys = sorted(f"lake/t/_delta_log/{name}" for name in NAMES)
        self.calls: list[dict[str, Any]] = []

    @staticmethod
    def _strip_protocol(path: str) -> str:
        return path.removeprefix("s3://").rstrip("/")

    def call_s3(self, method: str, **asked: Any) -> dict[str, Any]:
        assert (method, asked["Bucket"], asked["Delimiter"]) == ("list_objects_v2", "bucket", "/")
        self.calls.append(asked)
        after = asked.get("ContinuationToken", asked["StartAfter"])
        left = [key for key in self.keys if key.startswith(asked["Prefix"]) and key > after]
        page = {"Contents": [{"Key": key, "Size": 7, "LastModified": MOMENT} for key in left[:1000]]}
        return page | {"IsTruncated": len(left) > 1000, "NextContinuationToken": left[:1000][-1] if left else ""}


def storage() -> tuple[FsspecStorage, PagedS3]:
    made, fs = FsspecStorage("memory://bucket/lake/t"), PagedS3()
    made.root, made.scheme, made.fs = "s3://bucket/lake/t", "s3", fs
    return made, fs


@pytest.mark.parametrize(
    ("start", "pages"),
    [("00000000000000002490.", 1), ("00000000000000002490.json", 1), ("00000000000000000010.", 3), ("0", 3), ("_l", 1)],
)
def test_names_from_one_on(start: str, pages: int) -> None:
    made, fs = storage()
    found = made.list_files("_delta_log", start)
    assert [status.name for status in found] == sorted(name for name in NAMES if name >= start)
    assert found[0] == FileStatus(found[0].name, 7, int(MOMENT.timestamp() * 1000))
    assert len(fs.calls) == pages
