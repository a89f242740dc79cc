"""Tables from old writers: one schema, one partition spec without ids, manifests in the metadata; and their changes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.engine.bare_lake import BareLake
from tests.engine.iceberg.handmade import HandmadeTable

_NEWER = (
    *("schemas", "current-schema-id", "partition-specs", "default-spec-id", "last-partition-id", "sort-orders"),
    *("default-sort-order-id", "snapshot-log", "metadata-log", "refs", "last-sequence-number", "table-uuid"),
)


@pytest.fixture
def lake(tmp_path: Path) -> BareLake:
    """Creates a table `t` with two snapshots, partitioned by `p`."""
    made = BareLake(tmp_path)
    spec = {"spec-id": 0, "fields": [{"source-id": 1, "name": "p", "transform": "identity"}]}
    table = HandmadeTable(
        tmp_path / "default" / "t", version=1, specs=[spec], partition=[(1000, "p", "long")], properties={"a": "b"}
    )
    for number in range(2):
        table.commit(table.data({"id": [number]}, partition={"p": number}))
    paths = [each["manifest_path"] for each in table.listed]
    value = table.metadata()
    value |= {"schema": dict(value["schemas"][0]), "partition-spec": spec["fields"]}
    del value["schema"]["schema-id"]
    for number, snapshot in enumerate(value["snapshots"]):
        snapshot["manifests"] = paths[: number + 1]
        for key in ("manifest-list", "schema-id", "summary", "sequence-number"):
            del snapshot[key]
    for key in _NEWER:
        del value[key]
    (table.folder / "metadata" / "v2.metadata.json").write_text(json.dumps(value))
    return made


def newest(lake: BareLake) -> dict[str, Any]:
    folder = lake.folder / "default" / "t" / "metadata"
    number = (folder / "version-hint.text").read_text()
    found: dict[str, Any] = json.loads((folder / f"v{number}.metadata.json").read_text())
    return found


@pytest.mark.parametrize("version", [1, 2, 3])
def test_rows_are_removed(lake: BareLake, version: int) -> None:
    if version > 1:
        lake.answer(f"ALTER TABLE t SET TBLPROPERTIES ('format-version' = '{version}')")
        assert newest(lake)["format-version"] == version and len(newest(lake)["table-uuid"]) == 36
    assert lake.rows("CALL system.rewrite_manifests('t')") == [(2, 1)]
    lake.answer("TRUNCATE TABLE t")
    found = newest(lake)
    assert found["snapshots"][-1]["schema-id"] == 0 and found["snapshots"][-1]["summary"]["operation"] == "delete"
    assert found["partition-specs"][0]["fields"][0]["field-id"] == 1000
    assert lake.rows("CALL system.ancestors_of('t')")[-1][0] == 1001
