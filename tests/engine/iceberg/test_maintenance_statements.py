"""Delta's maintenance statements on Iceberg tables: their effects, and errors with advice."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.main import LakeSession
from tests.engine.bare_lake import BareLake
from tests.engine.iceberg.handmade import HandmadeTable
from tests.engine.iceberg.test_tables import read_by_all
from tests.engine.lake_sessions import rows, run


@pytest.fixture
def bare(tmp_path: Path) -> BareLake:
    """Creates the table `t` with two snapshots."""
    found = BareLake(tmp_path)
    made = HandmadeTable(found.path("t"))
    for number in range(2):
        made.commit(made.data({"id": [number]}))
    return found


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        ("VACUUM t", "expire_snapshots"),
        ("VACUUM t DRY RUN", "remove_orphan_files"),
        ("OPTIMIZE t FULL", "rewrite-all"),
        ("REORG TABLE t APPLY (PURGE)", "rewrite_data_files"),
        ("FSCK REPAIR TABLE t", "files"),
        ("GENERATE symlink_format_manifest FOR TABLE t", "need no such"),
        ("ANALYZE TABLE t COMPUTE DELTA STATISTICS", "statistics"),
    ],
)
def test_rejected_maintenance_suggests_an_alternative(bare: BareLake, text: str, advice: str) -> None:
    error = bare.refuse(text)
    assert error.condition == "ICEBERG_STATEMENT_NOT_SUPPORTED" and advice in str(error)


def test_restore_sets_the_current_snapshot(bare: BareLake) -> None:
    assert bare.rows("RESTORE TABLE t TO VERSION AS OF 1001") == [(1002, 1001)]
    assert bare.rows("RESTORE TABLE t TO VERSION AS OF 1002") == [(1001, 1002)]
    assert bare.refuse("RESTORE TABLE t TO VERSION AS OF 1002").condition == "ICEBERG_CANNOT_RESTORE_TABLE_VERSION"
    assert "5" in str(bare.refuse("RESTORE TABLE t TO VERSION AS OF 5"))


@pytest.mark.spark
def test_optimize_writes_files_again(session: LakeSession) -> None:
    run(session, "CREATE TABLE small (id BIGINT, kind STRING) USING iceberg PARTITIONED BY (kind)")
    for start in (0, 10):
        run(session, f"INSERT INTO small SELECT id, IF(id % 2 = 0, 'a', 'b') FROM range({start}, {start} + 10)")
    before = read_by_all(session, "small")
    assert rows(session, "OPTIMIZE small WHERE kind = 'a'")[0][:2] == (2, 1)
    assert rows(session, "OPTIMIZE small")[0][:2] == (2, 1)
    assert rows(session, "OPTIMIZE small")[0][:2] == (0, 0)
    assert rows(session, "OPTIMIZE small ZORDER BY (id)")[0][:2] == (2, 2)
    assert read_by_all(session, "small") == before


@pytest.mark.spark
def test_long_texts_partition_a_table(session: LakeSession) -> None:
    run(session, "CREATE TABLE long_texts (id BIGINT, s STRING) USING iceberg PARTITIONED BY (s)")
    run(session, "INSERT INTO long_texts SELECT id, concat(repeat('é', 300), id) FROM range(2)")
    run(session, "INSERT INTO long_texts VALUES (7, repeat('y', 127))")  # without a job
    assert read_by_all(session, "long_texts") == [(0, "é" * 300 + "0"), (1, "é" * 300 + "1"), (7, "y" * 127)]
    assert rows(session, "SELECT id FROM long_texts WHERE s = concat(repeat('é', 300), 1)") == [(1,)]


@pytest.mark.spark
def test_a_name_of_two_partition_fields_is_the_newer_ones(session: LakeSession) -> None:
    run(session, "CREATE TABLE named (id INT) USING iceberg PARTITIONED BY (truncate(10, id))")
    run(session, "INSERT INTO named VALUES (17)")
    run(session, "ALTER TABLE named DROP PARTITION FIELD id_trunc")
    run(session, "ALTER TABLE named ADD PARTITION FIELD truncate(100, id) AS id_trunc")
    run(session, "INSERT INTO named VALUES (217)")
    found = rows(session, "SELECT partition.id_trunc, partition.id_trunc_1000 FROM named.partitions ORDER BY 2")
    assert found == [(200, None), (None, 10)]
    assert len(rows(session, "SHOW PARTITIONS named")) == 2
