"""`commitInfo` may hold any JSON object: whatever is in it, the table is read, written and described.

Protocol: "Commit Provenance Information".
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tests.engine.bare_lake import BareLake

OBJECTS: dict[str, dict[str, Any]] = {
    "empty": {},
    "a timestamp as text": {"timestamp": "2024-01-01T00:00:00Z", "operation": "WRITE"},
    "a timestamp of more than 64 bits": {"timestamp": 2**70},
    "an operation that is an object": {"operation": {"name": "WRITE"}, "userName": ["ann"], "userId": 7},
    "lists for objects": {
        "operationParameters": [1],
        "operationMetrics": "many",
        "tags": [],
        "job": 1,
        "notebook": [2],
    },
    "numbers and texts": {"readVersion": "one", "isBlindAppend": "yes", "engineInfo": 4.5, "txnId": {}, "clusterId": 0},
    "a commit time as text": {"inCommitTimestamp": "now", "isolationLevel": 1, "userMetadata": {"a": None}},
}


@pytest.mark.parametrize("case", OBJECTS)
def test_table_with_any_provenance(tmp_path: Path, case: str) -> None:
    lake = BareLake(tmp_path)
    lake.append("t", {"id": [1]})
    log = lake.path("t") / "_delta_log" / f"{0:020}.json"
    actions = [json.loads(line) for line in log.read_text().splitlines()]
    actions = [action for action in actions if "commitInfo" not in action] + [{"commitInfo": OBJECTS[case]}]
    log.write_text("".join(json.dumps(action) + "\n" for action in actions))
    assert lake.rows("SELECT count(*) FROM t") == [(1,)]
    (row,) = lake.answer("DESCRIBE HISTORY t").to_pylist()
    assert row["version"] == 0
    lake.answer("ALTER TABLE t SET TBLPROPERTIES ('a' = 'b')")
    lake.append("t", {"id": pa.array([2], pa.int64())})
    assert [row["version"] for row in lake.answer("DESCRIBE HISTORY t").to_pylist()] == [2, 1, 0]
