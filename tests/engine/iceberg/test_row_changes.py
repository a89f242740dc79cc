"""DELETE, UPDATE and MERGE on Iceberg tables: after each, every reader finds the same rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyiceberg.table import StaticTable

from engine.main import LakeSession
from tests.engine.iceberg.foreign import open_duckdb
from tests.engine.iceberg.handmade import HandmadeTable
from tests.engine.iceberg.writing.commits import commit, entries, staged
from tests.engine.lake_sessions import rows, run
from tests.samples import some, with_slow

pytestmark = pytest.mark.spark

COLUMNS = [
    {"id": 1, "name": "id", "required": False, "type": "long"},
    {"id": 2, "name": "name", "required": False, "type": "string"},
]
MODES = ("write.delete.mode", "write.update.mode", "write.merge.mode")


def _new(lake: Path, name: str, version: int, mode: str, **properties: str) -> HandmadeTable:
    """Creates three files with four rows each."""
    settings = dict.fromkeys(MODES, mode) | properties
    table = HandmadeTable(lake / name, columns=COLUMNS, version=version, properties=settings)
    table.write()
    manifests = staged(table, 1001)
    files = [
        table.data({"id": list(range(start, start + 4)), "name": [f"n{id}" for id in range(start, start + 4)]})
        for start in (0, 4, 8)
    ]
    manifests.add(entries(files))
    commit(table, manifests)
    return table


def newest_metadata(lake: Path, name: str) -> Path:
    files = lake.glob(f"**/{name}/metadata/v*.metadata.json")
    return max(files, key=lambda path: int(path.name[1:].split(".")[0]))


def read_by_all(session: LakeSession, lake: Path, name: str) -> list[tuple[Any, ...]]:
    """Returns a table's rows, if we, pyiceberg and DuckDB agree."""
    path = newest_metadata(lake, name)
    ours = sorted(rows(session, f"SELECT * FROM {name}"), key=str)
    theirs = open_duckdb().execute(f"SELECT * FROM iceberg_scan('{path}')").fetchall()
    found = StaticTable.from_metadata(str(path)).scan().to_arrow()
    assert sorted(theirs, key=str) == ours
    assert sorted(zip(*(column.to_pylist() for column in found.columns), strict=True), key=str) == ours
    return ours


@pytest.mark.parametrize(("version", "mode"), with_slow([(2, "merge-on-read"), (3, "copy-on-write")], (1,)))
def test_rows_are_changed(session: LakeSession, lake: Path, version: int, mode: str) -> None:
    name = f"changed{version}{mode[:4]}"
    _new(lake, name, version, mode)
    expected = {id: f"n{id}" for id in range(12)}
    run(session, f"DELETE FROM {name} WHERE id IN (1, 5) OR id >= 8")
    expected = {id: each for id, each in expected.items() if id not in (1, 5) and id < 8}
    assert read_by_all(session, lake, name) == sorted(expected.items(), key=str)
    run(session, f"UPDATE {name} SET name = upper(name) WHERE id % 2 = 0")
    expected |= {id: f"N{id}" for id in expected if id % 2 == 0}
    assert read_by_all(session, lake, name) == sorted(expected.items(), key=str)
    run(
        session,
        f"MERGE INTO {name} AS t USING (SELECT id + 2 AS id FROM range(8)) AS s ON t.id = s.id"
        " WHEN MATCHED AND t.id = 4 THEN DELETE WHEN MATCHED THEN UPDATE SET name = 'm'"
        " WHEN NOT MATCHED THEN INSERT (id, name) VALUES (s.id, 'new')",
    )
    expected |= {id: "m" if id in expected else "new" for id in range(2, 10)}
    del expected[4]
    assert read_by_all(session, lake, name) == sorted(expected.items(), key=str)
    run(session, f"DELETE FROM {name}")
    assert read_by_all(session, lake, name) == []


@pytest.mark.parametrize(("version", "mode"), with_slow([(2, "copy-on-write"), (3, "merge-on-read")], (0,)))
def test_rows_of_partitions_are_changed(session: LakeSession, lake: Path, version: int, mode: str) -> None:
    """Partitions for null, an empty text and a bucket; rows move to others."""
    name = f"parts{version}"
    properties = ", ".join(f"'{each}' = '{mode}'" for each in MODES)
    run(
        session,
        f"CREATE TABLE {name} (id BIGINT, kind STRING, n INT) USING iceberg PARTITIONED BY (kind, bucket(2, id))"
        f" TBLPROPERTIES ('format-version' = '{version}', {properties})",
    )
    run(session, f"INSERT INTO {name} SELECT id, CASE id % 3 WHEN 0 THEN 'a' WHEN 1 THEN '' END, 0 FROM range(12)")
    expected = {id: ("a", "", None)[id % 3] for id in range(12)}
    ids = dict(rows(session, f"SELECT id, _metadata.row_id FROM {name}")) if version == 3 else {}

    def check() -> None:
        found = [(id, kind, n) for id, kind, n in read_by_all(session, lake, name)]
        assert {id: kind for id, kind, _ in found} == expected
        assert len(found) == len(expected)
        if ids:
            known = dict(rows(session, f"SELECT id, _metadata.row_id FROM {name}"))
            assert {id: known[id] for id in known if id in ids} == {id: ids[id] for id in known if id in ids}
            assert len(set(known.values())) == len(known)

    check()
    run(session, f"DELETE FROM {name} WHERE kind = 'a' AND id > 3")
    expected = {id: kind for id, kind in expected.items() if kind != "a" or id <= 3}
    check()
    run(session, f"UPDATE {name} SET kind = concat(coalesce(kind, 'null'), 'x') WHERE id IN (1, 2, 4)")
    expected |= {id: f"{'null' if expected[id] is None else expected[id]}x" for id in (1, 2, 4)}
    check()
    run(
        session,
        f"MERGE INTO {name} AS t USING (SELECT id, 'm' AS kind FROM range(5, 20, 3)) AS s ON t.id = s.id"
        " WHEN MATCHED THEN UPDATE SET kind = s.kind, n = 1"
        " WHEN NOT MATCHED THEN INSERT (id, kind, n) VALUES (s.id, s.kind, 2)"
        " WHEN NOT MATCHED BY SOURCE AND t.kind = '' THEN DELETE",
    )
    matched = set(range(5, 20, 3))
    expected = {id: kind for id, kind in expected.items() if kind != "" or id in matched}
    expected |= dict.fromkeys(matched, "m")
    check()
    for (path,) in rows(session, f"SELECT file_path FROM {name}.data_files WHERE partition.kind = 'm'"):
        Path(path.removeprefix("file://")).unlink()  # whole files go without being read
    run(session, f"DELETE FROM {name} WHERE kind = 'm'")
    expected = {id: kind for id, kind in expected.items() if kind != "m"}
    check()


def test_tables_of_version_1_are_changed_and_upgraded(session: LakeSession, lake: Path) -> None:
    """Version 1 has no delete files: copy-on-write in any mode, until the table is upgraded."""
    modes = ", ".join(f"'{each}' = 'merge-on-read'" for each in MODES)
    run(
        session,
        "CREATE TABLE first (id BIGINT, kind STRING) USING iceberg PARTITIONED BY (kind)"
        f" TBLPROPERTIES ('format-version' = '1', {modes})",
    )
    run(session, "INSERT INTO first SELECT id, concat('k', id % 2) FROM range(40)")
    expected = {id: f"k{id % 2}" for id in range(40)}

    def check(files_of_deletes: set[str]) -> None:
        assert read_by_all(session, lake, "first") == sorted(expected.items(), key=str)
        assert {each for (each,) in rows(session, "SELECT file_format FROM first.delete_files")} == files_of_deletes

    def change(ids: tuple[int, int, int]) -> None:
        gone, changed, merged = ids
        run(session, f"DELETE FROM first WHERE id = {gone}")
        run(session, f"UPDATE first SET kind = 'u' WHERE id = {changed}")
        source = f"SELECT explode(array({merged}, {100 + merged})) AS id, 'm' AS kind"
        run(
            session,
            f"MERGE INTO first AS t USING ({source}) AS s ON t.id = s.id"
            " WHEN MATCHED THEN UPDATE SET kind = s.kind WHEN NOT MATCHED THEN INSERT *",
        )
        del expected[gone]
        expected.update({changed: "u", merged: "m", 100 + merged: "m"})

    change((0, 1, 2))
    check(set())
    run(session, "ALTER TABLE first DROP PARTITION FIELD kind")
    run(session, "ALTER TABLE first SET TBLPROPERTIES ('format-version' = '2')")
    change((3, 4, 5))
    check({"PARQUET"})
    run(session, "ALTER TABLE first SET TBLPROPERTIES ('format-version' = '3')")
    change((6, 7, 1))
    assert "PUFFIN" in {each for (each,) in rows(session, "SELECT file_format FROM first.delete_files")}
    assert dict(rows(session, "SELECT * FROM first")) == expected


def test_rows_of_a_branch_are_changed(session: LakeSession, lake: Path) -> None:
    """The main branch stays as it is."""
    _new(lake, "branched", 2, "merge-on-read")
    before = read_by_all(session, lake, "branched")
    run(session, "ALTER TABLE branched CREATE BRANCH trial")
    run(session, "DELETE FROM branched.branch_trial WHERE id < 6")
    run(session, "UPDATE branched.branch_trial SET name = 'b' WHERE id = 7")
    run(session, "DELETE FROM branched.branch_trial WHERE id >= 8")
    assert rows(session, "SELECT id, name FROM branched.branch_trial ORDER BY id") == [(6, "n6"), (7, "b")]
    assert read_by_all(session, lake, "branched") == before
    names = "SELECT name FROM branched.refs ORDER BY name"
    assert rows(session, names) == [("main",), ("trial",)]


@pytest.mark.parametrize("evolved", some((False, True), (True,)))
def test_rows_that_stay_are_copied_to_their_partitions(session: LakeSession, lake: Path, evolved: bool) -> None:
    """A file with an older spec has rows from many partitions, which nevertheless get few files."""
    name = f"copied_{evolved}".lower()
    modes = ", ".join(f"'{each}' = 'copy-on-write'" for each in MODES)
    parts = "" if evolved else "PARTITIONED BY (bucket(4, id))"
    run(session, f"CREATE TABLE {name} (id BIGINT, name STRING) USING iceberg {parts} TBLPROPERTIES ({modes})")
    for first in (0, 40, 80):
        run(session, f"INSERT INTO {name} SELECT /*+ COALESCE(1) */ id, 'n' || id FROM range({first}, {first + 40})")
    if evolved:
        run(session, f"ALTER TABLE {name} ADD PARTITION FIELD bucket(4, id)")
    before = rows(session, f"SELECT count(*) FROM {name}.files")[0][0]
    run(session, f"DELETE FROM {name} WHERE id % 10 = 3")
    source = "(SELECT explode(array(4L, 200L)) AS id, 'new' AS name)"
    run(
        session,
        f"MERGE INTO {name} t USING {source} s ON t.id = s.id "
        "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *",
    )
    expected = {id: f"n{id}" for id in range(120) if id % 10 != 3} | {4: "new", 200: "new"}
    assert read_by_all(session, lake, name) == sorted(expected.items(), key=str)
    files = rows(session, f"SELECT partition, spec_id, file_path FROM {name}.files")
    assert len(files) <= before + 3 and {spec for _, spec, _ in files} == ({1} if evolved else {0})
    reported = rows(session, f"SELECT count(DISTINCT id) FROM {name} WHERE id = 4 OR id = 200")
    assert reported == [(2,)]
