"""The check of tables after interleaved statements detects wrong feeds and duplicate row ids."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.interleave.outcomes import outcome, row_ids_given

FIELDS = [{"name": "k", "type": "long", "nullable": True, "metadata": {}}]
FEATURES = ["changeDataFeed", "domainMetadata", "rowTracking"]
PROPERTIES = {"delta.enableChangeDataFeed": "true", "delta.enableRowTracking": "true"} | {
    f"delta.rowTracking.materialized{name}ColumnName": f"_{name}" for name in ("RowId", "RowCommitVersion")
}
WATERMARK = json.dumps({"rowIdHighWaterMark": 2})


class Table:
    """A table with a change feed and row ids, written by hand: three rows in its second version."""

    def __init__(self, lake: Path) -> None:
        self.lake, self.folder, self.version = lake, lake / "default" / "t", 0
        (self.folder / "_delta_log").mkdir(parents=True)
        self.commit(
            {"protocol": {"minReaderVersion": 1, "minWriterVersion": 7, "writerFeatures": FEATURES}},
            {
                "metaData": {
                    "id": "0b5d8ab7-5b0e-4f6a-9a7c-000000000001",
                    "format": {"provider": "parquet", "options": {}},
                    "schemaString": json.dumps({"type": "struct", "fields": FIELDS}),
                    "partitionColumns": [],
                    "configuration": PROPERTIES,
                }
            },
        )
        domain = {"domain": "delta.rowTracking", "configuration": WATERMARK, "removed": False}
        self.commit(self.add("a", [1, 2, 3], 0), {"domainMetadata": domain})

    def commit(self, *actions: dict[str, Any]) -> None:
        log = self.folder / "_delta_log" / f"{self.version:020}.json"
        log.write_text("".join(json.dumps(action) + "\n" for action in actions))
        self.version += 1

    def add(self, path: str, keys: list[int], base_row_id: int) -> dict[str, Any]:
        size = self._write(path, pa.table({"k": keys}))
        stats = json.dumps({"numRecords": len(keys)})
        reported = {"modificationTime": 1, "dataChange": True, "stats": stats}
        ids = {"baseRowId": base_row_id, "defaultRowCommitVersion": self.version}
        return {"add": {"path": f"{path}.parquet", "partitionValues": {}, "size": size, **reported, **ids}}

    def remove(self, path: str) -> dict[str, Any]:
        return {"remove": {"path": f"{path}.parquet", "deletionTimestamp": 1, "dataChange": True}}

    def changed(self, path: str, kinds: dict[int, str]) -> dict[str, Any]:
        size = self._write(path, pa.table({"k": list(kinds), "_change_type": list(kinds.values())}))
        return {"cdc": {"path": f"{path}.parquet", "partitionValues": {}, "size": size, "dataChange": False}}

    def _write(self, path: str, rows: pa.Table) -> int:
        pq.write_table(rows, self.folder / f"{path}.parquet")
        return (self.folder / f"{path}.parquet").stat().st_size


@pytest.fixture
def table(tmp_path: Path) -> Table:
    return Table(tmp_path)


@pytest.mark.parametrize(
    ("kinds", "message"),
    [
        ({2: "delete"}, None),
        ({3: "delete"}, "the change feed makes"),
        ({}, "the change feed makes"),
        ({2: "delete", 9: "delete"}, "takes rows that are not there"),
        ({2: "delete", 9: "insert"}, "the change feed makes"),
    ],
)
def test_a_feed_has_to_make_the_rows(table: Table, kinds: dict[int, str], message: str | None) -> None:
    table.commit(table.remove("a"), table.add("b", [1, 3], 3), table.changed("c", kinds))
    if message is None:
        found = json.loads(outcome(table.lake, [], row_ids_given(table.lake)).tables)
        assert [row["k"] for row in found["t"]["rows"]] == ["1", "3"]
    else:
        with pytest.raises(AssertionError, match=message):
            outcome(table.lake, [], {})


def test_no_two_rows_have_one_id(table: Table) -> None:
    table.commit(table.add("b", [7], 2))
    with pytest.raises(AssertionError, match="two rows of one id"):
        outcome(table.lake, [], {})


def test_ids_are_those_that_were_there(table: Table) -> None:
    """A new row's id is left out."""
    given = row_ids_given(table.lake)
    table.commit(table.add("b", [7], 3))
    found = json.loads(outcome(table.lake, [], given).tables)
    ids = {row["k"]: row.get("_metadata.row_id") for row in found["t"]["rows"]}
    assert ids == {"1": "0", "2": "1", "3": "2", "7": None}
