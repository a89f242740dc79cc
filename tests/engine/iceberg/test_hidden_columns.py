"""`_file`, `_pos`, `_spec_id`, `_partition`, `_row_id`, …: read if named, and not included in `*`."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from engine.main import LakeSession
from tests.engine.iceberg.handmade import HandmadeTable
from tests.engine.lake_sessions import refuse, rows, run

pytestmark = pytest.mark.spark


def _new(session: LakeSession, name: str, version: int = 3) -> None:
    """Creates a file without partition and two with partitions, 4 rows each, with a row deleted in the first."""
    run(
        session,
        f"CREATE TABLE {name} (id BIGINT, kind STRING) USING iceberg TBLPROPERTIES ('format-version' = '{version}',"
        " 'write.delete.mode' = 'merge-on-read')",
    )
    run(session, f"INSERT INTO {name} SELECT /*+ COALESCE(1) */ id, 'x' FROM range(4)")
    run(session, f"ALTER TABLE {name} ADD PARTITION FIELD bucket(2, id)")
    run(session, f"ALTER TABLE {name} ADD PARTITION FIELD kind")
    run(session, f"INSERT INTO {name} SELECT 4, IF(id % 2 = 0, 'a', NULL) FROM range(8)")
    run(session, f"DELETE FROM {name} WHERE id = 1")


def test_hidden_columns_have_a_rows_position(session: LakeSession, lake: Path) -> None:
    _new(session, "places")
    files = dict(rows(session, "SELECT file_path, spec_id FROM places.data_files"))
    found = rows(session, "SELECT _file, _pos, _spec_id, _partition, id, kind FROM places")
    assert {(file, spec) for file, _, spec, *_ in found} == set(files.items())
    assert sorted((position, id) for _, position, spec, _, id, _ in found if spec == 0) == [(0, 0), (2, 2), (3, 3)]
    partitions = {(spec, tuple(partition.values()), kind) for _, _, spec, partition, _, kind in found}
    (bucket,) = {partition["id_bucket_2"] for _, _, spec, partition, *_ in found if spec != 0}
    assert partitions == {(0, (None, None), "x"), (2, (bucket, "a"), "a"), (2, (bucket, None), None)}
    assert [sorted(p for f, p, *_ in found if f == file) for file, spec in files.items() if spec] == [[0, 1, 2, 3]] * 2
    assert len(rows(session, "SELECT * FROM places WHERE _pos < 2")[0]) == 2
    for text in (
        "SELECT p._pos FROM places p WHERE id = 2",
        "SELECT q._pos FROM places p JOIN places q ON p._pos = q._pos WHERE p._file = q._file AND p.id = 2",
        "WITH c AS (SELECT _pos, * FROM places WHERE _spec_id = 0) SELECT _pos FROM c WHERE id = 2",
        "SELECT max(_pos) - 1 FROM places WHERE (_spec_id, _pos) IN (SELECT _spec_id, _pos FROM places WHERE id < 4)",
        "SELECT first(_pos) FROM places GROUP BY id, _file HAVING id = 2",
        "SELECT default.places._pos FROM places ORDER BY abs(id - 2), _pos LIMIT 1",
        "SELECT count(_pos) - count(DISTINCT _file) * 3 FROM places",
    ):
        assert rows(session, text) == [(2,)], text
    assert refuse(session, "SELECT _deleted FROM places").condition == "UNRESOLVED_COLUMN.WITH_SUGGESTION"


def test_a_condition_on_the_file_chooses_files(session: LakeSession, lake: Path) -> None:
    _new(session, "chosen", 2)
    (path,) = rows(session, "SELECT file_path FROM chosen.data_files WHERE spec_id = 0")[0]
    for other in Path(path.removeprefix("file://")).parents[1].glob("data/*.parquet"):
        if str(other) != path.removeprefix("file://"):
            other.unlink()
    assert sorted(rows(session, f"SELECT id, _pos FROM chosen WHERE _file = '{path}'")) == [(0, 0), (2, 2), (3, 3)]
    assert rows(session, "SELECT count(*) FROM chosen WHERE _spec_id = 0 AND _partition.kind IS NULL") == [(3,)]
    assert refuse(session, "SELECT _row_id FROM chosen").condition.startswith("UNRESOLVED_COLUMN")


def test_a_table_without_partitions_has_none_to_tell_of(session: LakeSession, lake: Path) -> None:
    run(session, "CREATE TABLE whole (id BIGINT) USING iceberg")
    run(session, "INSERT INTO whole VALUES (1)")
    assert rows(session, "SELECT _partition, _partition IS NULL, _spec_id, id FROM whole") == [(None, True, 0, 1)]
    assert rows(session, "SELECT count(*) FROM whole WHERE _partition IS NOT NULL") == [(0,)]


def test_rows_have_ids(session: LakeSession, lake: Path) -> None:
    _new(session, "lineage")
    ids = rows(session, "SELECT _row_id, _last_updated_sequence_number, _metadata.row_id FROM lineage")
    assert sorted(ids) == [(id, 1 if id < 4 else 2, id) for id in (0, 2, 3, *range(4, 12))]
    run(session, "UPDATE lineage SET kind = 'y' WHERE id = 2")
    assert rows(session, "SELECT _row_id, _last_updated_sequence_number FROM lineage WHERE id = 2") == [(2, 4)]


def test_partitions_are_the_same_under_all_settings(session: LakeSession, lake: Path) -> None:
    run(session, "CREATE TABLE odd (t TIMESTAMP, `my-col` DATE) USING iceberg PARTITIONED BY (t, `my-col`)")
    run(session, "INSERT INTO odd VALUES (TIMESTAMP'2024-03-31 02:30:00.123456Z', DATE'1500-03-01')")
    for policy in ("CORRECTED", "LEGACY"):
        run(session, f"SET spark.sql.legacy.timeParserPolicy = {policy}")
        same = "_partition.t <=> t, _partition.`my-col` <=> `my-col`"
        assert rows(session, f"SELECT {same} FROM odd") == [(True, True)], policy
        reported = "partition.t = TIMESTAMP'2024-03-31 02:30:00.123456Z', partition.`my-col` = DATE'1500-03-01'"
        assert rows(session, f"SELECT {reported} FROM odd.data_files") == [(True, True)], policy
        assert rows(session, f"SELECT {reported} FROM odd.partitions") == [(True, True)], policy
        near = "committed_at BETWEEN now() - INTERVAL 1 DAY AND now()"
        assert rows(session, f"SELECT {near} FROM odd.snapshots") == [(True,)], policy
    run(session, "RESET spark.sql.legacy.timeParserPolicy")


def test_a_subquery_of_a_change_has_the_same_ids(session: LakeSession, lake: Path) -> None:
    run(session, "CREATE TABLE asked (id BIGINT) USING iceberg TBLPROPERTIES ('format-version' = '3')")
    for first in (0, 3):
        run(session, f"INSERT INTO asked SELECT /*+ COALESCE(1) */ id FROM range({first}, {first + 3})")
    run(session, "CREATE TABLE changed (id BIGINT, x INT)")
    run(session, "INSERT INTO changed SELECT id, 0 FROM range(6)")
    query = "SELECT id FROM asked WHERE _row_id = 4"
    assert rows(session, f"SELECT id FROM changed WHERE id IN ({query})") == [(4,)]
    run(session, f"UPDATE changed SET x = 1 WHERE id IN ({query})")
    second = "(SELECT id FROM asked WHERE _last_updated_sequence_number = 2)"
    merge = "MERGE INTO changed USING (SELECT 5L AS id) AS s ON changed.id = s.id WHEN MATCHED"
    run(session, f"{merge} AND changed.id IN {second} THEN UPDATE SET x = 2")
    assert rows(session, "SELECT * FROM changed WHERE x > 0 ORDER BY id") == [(4, 1), (5, 2)]
    assert run(session, f"DELETE FROM changed WHERE id IN ({query})") == 1
    run(session, "MERGE INTO asked USING asked AS s ON asked.id = s.id - 2 WHEN MATCHED THEN DELETE")
    assert run(session, f"DELETE FROM asked WHERE id IN ({query})") == 1
    assert rows(session, "SELECT id, _row_id FROM asked") == [(5, 5)]


def test_a_column_of_the_table_comes_first(session: LakeSession, lake: Path) -> None:
    run(session, "CREATE TABLE taken (`_File` INT, _pos STRING) USING iceberg")
    run(session, "INSERT INTO taken VALUES (7, 'here')")
    assert rows(session, "SELECT _file, _pos, _spec_id FROM taken") == [(7, "here", 0)]


def test_hidden_columns_with_equality_deletes(session: LakeSession, lake: Path) -> None:
    table = HandmadeTable(lake / "keyed")
    table.commit(table.data({"id": pa.array([5, 6, 7])}))
    table.commit(table.equality({"id": [6]}, [1]), operation="delete")
    found = rows(session, "SELECT id, _pos, _file, _metadata.row_index FROM keyed ORDER BY _pos")
    path = f"{table.location}/data/00001.parquet"
    assert found == [(5, 0, path, 0), (7, 2, path, 2)]
    assert rows(session, "SELECT * FROM keyed WHERE _pos = 2") == [(7,)]
