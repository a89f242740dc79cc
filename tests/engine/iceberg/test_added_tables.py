"""CALL system.add_files from a table in the catalog, checked by pyiceberg and DuckDB."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from tests.engine.bare_lake import BareLake
from tests.engine.iceberg.handmade import HandmadeTable
from tests.engine.iceberg.test_snapshot_tables import read_by_all


@pytest.fixture
def bare(tmp_path: Path) -> BareLake:
    return BareLake(tmp_path)


def test_live_files_of_a_delta_table(bare: BareLake) -> None:
    """Not removed files, nor unreferenced ones."""
    day = [dt.date(2024, 1, 1), dt.date(2024, 1, 2), None]
    bare.append("d", {"id": [1, 2, 3], "day": pa.array(day), "p": ["a b", "é", None]}, partition_by=["day", "p"])
    bare.append("d", {"id": [4], "day": [dt.date(2024, 1, 1)], "p": ["gone"]}, partition_by=["day", "p"])
    DeltaTable(bare.path("d")).delete("p = 'gone'")
    bare.answer("CREATE TABLE t (id BIGINT, day DATE, p STRING, more INT) USING iceberg PARTITIONED BY (day, p)")
    assert bare.rows("CALL system.add_files('t', 'd', map('DAY', '2024-01-02'))") == [(1, 1)]
    assert read_by_all(bare, ["id", "day", "p", "more"]) == [(2, dt.date(2024, 1, 2), "é", None)]
    error = bare.refuse("CALL system.add_files('t', 'd')")
    assert error.condition == "ICEBERG_PROCEDURE_REFUSED" and "has 1 of the files already" in str(error)
    bare.answer("CREATE TABLE u (p STRING, id BIGINT, day DATE) USING iceberg PARTITIONED BY (p, day)")
    assert bare.rows("CALL system.add_files(table => 'u', source_table => 'default.d')") == [(3, 3)]
    rows = [(1, day[0], "a b"), (2, day[1], "é"), (3, None, None)]
    assert read_by_all(bare, ["id", "day", "p"], "u") == rows
    assert "partition_filter" in str(bare.refuse("CALL system.add_files('u', 'd', map('id', '1'))"))
    assert bare.rows("CALL system.add_files('u', 'd', map('p', 'none'), true)") == [(0, 0)]
    assert bare.rows("CALL system.add_files('u', 'd', map('p', 'é'), false)") == [(1, 1)]
    assert len(read_by_all(bare, ["id"], "u")) == 4


def test_shared_files_are_retained(bare: BareLake) -> None:
    """The catalog records it, so that VACUUM on the other table removes no shared file."""
    bare.append("d", {"id": [1]})
    bare.append("d", {"id": [2]})
    bare.answer("CREATE TABLE t (id BIGINT) USING iceberg")
    assert bare.rows("CALL system.add_files('t', 'd')") == [(2, 1)]
    assert bare.sources.catalog.view().sources_of(str(bare.path("t"))) == (str(bare.path("d")),)
    DeltaTable(bare.path("d")).delete("id = 1")
    bare.answer("SET spark.databricks.delta.retentionDurationCheck.enabled = false")
    bare.answer("VACUUM d RETAIN 0 HOURS")
    assert read_by_all(bare, ["id"]) == [(1,), (2,)]


IDS: list[dict[str, Any]] = [
    {"id": 1, "name": "id", "required": False, "type": "long"},
    {"id": 2, "name": "s", "required": False, "type": "string"},
]


def test_files_of_an_iceberg_table(bare: BareLake) -> None:
    """Their columns are found by field ids, mapped from the same names."""
    made = HandmadeTable(bare.path("i"), columns=IDS)
    made.commit(made.data({"id": [1], "s": ["a"]}), made.data({"id": [2], "s": ["b"]}))
    bare.answer("CREATE TABLE t (id BIGINT, s STRING, x INT) USING iceberg")
    assert "set its property gc.enabled to false first" in str(bare.refuse("CALL system.add_files('t', 'i')"))
    bare.answer("ALTER TABLE i SET TBLPROPERTIES ('gc.enabled' = 'false')")
    assert bare.rows("CALL system.add_files('t', 'i')") == [(2, 1)]
    assert read_by_all(bare, ["id", "s", "x"]) == [(1, "a", None), (2, "b", None)]
    bare.answer("CREATE TABLE u (s STRING, id BIGINT) USING iceberg")
    error = bare.refuse("CALL system.add_files('u', 'i')")
    assert error.condition == "ICEBERG_PROCEDURE_REFUSED" and "has the field id 1, which is not that of" in str(error)


SHARED = {"gc.enabled": "false"}


def _positions(bare: BareLake) -> None:
    made = HandmadeTable(bare.path("s"), properties=SHARED)
    one = made.data({"id": [1, 2]})
    made.commit(one)
    made.commit(made.positions([one["file_path"]], [0]), operation="delete")


def _equality(bare: BareLake) -> None:
    made = HandmadeTable(bare.path("s"), properties=SHARED)
    made.commit(made.data({"id": [1, 2]}))
    made.commit(made.equality({"id": [1]}, [1]), operation="delete")


def _default(bare: BareLake) -> None:
    made = HandmadeTable(bare.path("s"), version=3, properties=SHARED)
    made.commit(made.data({"id": [1]}))
    made.evolve([*made.columns, {"id": 2, "name": "x", "required": False, "type": "int", "initial-default": 5}])


def _renamed(bare: BareLake) -> None:
    bare.append("s", {"was": [1]})
    bare.answer("ALTER TABLE s SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name')")
    bare.answer("ALTER TABLE s RENAME COLUMN was TO id")


def _other_type(bare: BareLake) -> None:
    bare.append("s", {"id": ["x"]})


def _partitioned(bare: BareLake) -> None:
    bare.append("s", {"id": [1], "p": ["x"]}, partition_by=["p"])


REFUSED = {
    "rows that are deleted by position": _positions,
    "rows that are deleted by their values": _equality,
    "has a default for a column": _default,
    "called otherwise in its files (column mapping)": _renamed,
    "has the type string": _other_type,
    "partitioned by none": _partitioned,
}


@pytest.mark.parametrize("reason", REFUSED)
def test_tables_whose_files_are_no_files_of_another(bare: BareLake, reason: str) -> None:
    REFUSED[reason](bare)
    bare.answer("CREATE TABLE t (id BIGINT, was BIGINT) USING iceberg")
    error = bare.refuse("CALL system.add_files('t', 's')")
    assert error.condition in ("ICEBERG_PROCEDURE_REFUSED", "FILES_NOT_CONVERTIBLE") and reason in str(error), error
    assert read_by_all(bare, ["id"]) == []
    assert bare.sources.catalog.view().sources_of(str(bare.path("t"))) == ()


def test_adding_the_tables_own_files_is_refused(bare: BareLake) -> None:
    bare.answer("CREATE TABLE t (id BIGINT) USING iceberg")
    assert "same folder" in str(bare.refuse("CALL system.add_files('t', 't')"))
    assert bare.refuse("CALL system.add_files('t', 'nobody')").condition == "TABLE_OR_VIEW_NOT_FOUND"
