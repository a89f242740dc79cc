"""Change data in our tables: delta-spark reads the same changes as we do."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.main import LakeSession
from tests.engine.lake_sessions import rows, run
from tests.oracle.conftest import Oracle

pytestmark = [pytest.mark.oracle, pytest.mark.spark, pytest.mark.timeout(3000)]

FEED = "'delta.enableChangeDataFeed' = 'true'"
TABLES = {
    "plain": f"TBLPROPERTIES ({FEED})",
    "parted": f"PARTITIONED BY (p) TBLPROPERTIES ({FEED})",
    "mapped": f"PARTITIONED BY (p) TBLPROPERTIES ({FEED}, 'delta.columnMapping.mode' = 'name')",
    "with_vectors": f"TBLPROPERTIES ({FEED}, 'delta.enableDeletionVectors' = 'true')",
    "with_row_ids": f"TBLPROPERTIES ({FEED}, 'delta.enableRowTracking' = 'true')",
}
STEPS = (
    "INSERT INTO {t} SELECT id, string(id), 0 FROM range(4)",
    "INSERT INTO {t} SELECT id, string(id), 1 FROM range(4, 8)",
    "INSERT INTO {t} VALUES (10, 'ten', 2), (11, NULL, NULL)",
    "INSERT INTO {t} REPLACE WHERE p = 1 VALUES (12, 'twelve', 1)",
    "INSERT INTO {t} REPLACE USING (p) SELECT 13, 'thirteen', 0",
    "INSERT INTO {t} REPLACE WHERE id BETWEEN 2 AND 5 VALUES (3, 'three', 0), (4, NULL, 1)",
    "INSERT INTO {t} REPLACE USING (id) VALUES (4, 'four', 1), (11, 'eleven', 5), (14, 'new', 5)",
    "INSERT OVERWRITE {t} SELECT id + 100, s, p FROM {t} WHERE id < 12",
    "TRUNCATE TABLE {t}",
    "INSERT INTO {t} VALUES (20, 'twenty', 0)",
)
COLUMNS = "id, s, p, _change_type, _commit_version"


def test_peer_reads_the_changes_that_we_read(oracle: Oracle, session: LakeSession, lake: Path) -> None:
    ours, reads = [], []
    for name, clauses in TABLES.items():
        run(session, f"CREATE TABLE {name} (id BIGINT, s STRING, p INT) {clauses}")
        for step in STEPS:
            run(session, step.replace("{t}", name))
        found = rows(session, f"SELECT {COLUMNS} FROM table_changes('{name}', 0)")
        ours.append(sorted(([None if cell is None else str(cell) for cell in row] for row in found), key=repr))
        reads.append(f"SELECT {COLUMNS} FROM table_changes_by_path('{lake}/{name}', 0)")
    for name, expected, answer in zip(TABLES, ours, oracle(reads), strict=True):
        assert {row[-1] for row in expected} == {str(version) for version in range(1, len(STEPS) + 1)}, name
        assert sorted(answer, key=repr) == expected, name
