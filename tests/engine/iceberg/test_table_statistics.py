"""Foreign statistics: distinct counts, which the metadata repeats from Puffin files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.engine.iceberg.handmade import HandmadeTable
from tests.engine.iceberg.test_snapshots import load


@pytest.fixture
def table(tmp_path: Path) -> HandmadeTable:
    return HandmadeTable(tmp_path / "t")


NDV = "apache-datasketches-theta-v1"


def counted(table: HandmadeTable, *statistics: Any) -> dict[str, tuple[int, int]]:
    """Returns distinct counts, with their row counts, if the metadata has these statistics."""
    newest = max(table.folder.glob("metadata/v*.metadata.json"), key=lambda path: int(path.name[1:].partition(".")[0]))
    value = json.loads(newest.read_text())
    for snapshot, total in zip(value["snapshots"], (3, 5), strict=True):
        snapshot["summary"]["total-records"] = str(total)
    newest.write_text(json.dumps(value | {"statistics": list(statistics)}))
    return {name: (each.distinct, each.rows) for name, each in load(table.folder).distinct_counts.columns.items()}


def blob(ndv: object, *fields: int, kind: str = NDV) -> dict[str, Any]:
    return {"type": kind, "snapshot-id": 1, "sequence-number": 1, "fields": list(fields), "properties": {"ndv": ndv}}


def test_distinct_values_are_those_of_puffin_files(table: HandmadeTable) -> None:
    """The newest snapshot that has some counts; malformed ones are ignored."""
    table.commit(table.data({"id": [1, 2, 3]}))
    first = load(table.folder).version
    table.commit(table.data({"id": [4, 5]}))
    second = load(table.folder).version

    def of(snapshot: int, *blobs: Any) -> dict[str, Any]:
        return {"snapshot-id": snapshot, "statistics-path": "x", "blob-metadata": list(blobs)}

    assert counted(table) == {}
    assert counted(table, of(first, blob("3", 1))) == {"id": (3, 3)}
    assert counted(table, of(first, blob("3", 1)), of(second, blob("4", 1))) == {"id": (4, 5)}
    for odd in (blob("3", 99), blob("3", 1, 2), blob("x", 1), blob("3", 1, kind="other"), {}, "no object"):
        assert counted(table, of(second, odd)) == {}, odd
    assert counted(table, "no object", {"snapshot-id": second}) == {}
