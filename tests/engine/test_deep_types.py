"""Types nested so deeply that no stack holds them, in SQL and in a log: an error with a condition, and on it goes."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest

from catalog.conditions import ResultTypeNotSupported
from engine.main import LakeSession
from engine.types.schema import TYPE_DEPTH_MAX
from tests.engine.lake_sessions import refuse, rows, run
from tests.handmade import Part, column, write_table

pytestmark = pytest.mark.spark

DEEP, SHALLOW = 20_000, 20
KINDS = {"array": ("ARRAY<", ">"), "struct": ("STRUCT<a: ", ">"), "map": ("MAP<INT, ", ">")}
JSON = {
    "array": ('{"type":"array","containsNull":true,"elementType":', "}"),
    "struct": ('{"type":"struct","fields":[{"name":"a","nullable":true,"metadata":{},"type":', "}]}"),
    "map": ('{"type":"map","keyType":"integer","valueContainsNull":true,"valueType":', "}"),
}


def sql(kind: str, depth: int) -> str:
    head, tail = KINDS[kind]
    return head * depth + "INT" + tail * depth


def in_log(kind: str, depth: int) -> str:
    head, tail = JSON[kind]
    return head * depth + '"integer"' + tail * depth


STATEMENTS = (
    "CREATE TABLE deep (id INT, x {type})",
    "ALTER TABLE flat ADD COLUMN x {type}",
    "ALTER TABLE flat ALTER COLUMN id TYPE {type}",
    "SELECT CAST(NULL AS {type})",
    "SELECT try_cast(NULL AS {type}) FROM flat",
    "SELECT NULL::{type}",
    "SELECT from_json('[]', '{type}')",
    "SELECT from_csv('1', 'a ' '{type}')",
    "SELECT try_variant_get(parse_json('[]'), '$', \"{type}\")",
    "INSERT INTO flat SELECT CAST(NULL AS {type})",
    "CREATE VIEW deep_view AS SELECT CAST(NULL AS {type}) AS x",
    "CREATE TABLE deep AS SELECT CAST(NULL AS {type}) AS x",
)


@pytest.fixture(scope="module", autouse=True)
def flat(engine: object, lake: Path) -> None:
    """Tables that another writer left."""
    rows_of = pa.table({"id": pa.array([1], pa.int32())})
    write_table(lake / "flat", [column("id", "integer")], [Part(name="f.parquet", rows=rows_of)])
    for kind in KINDS:
        for depth in (SHALLOW, 100, TYPE_DEPTH_MAX + 1, 3_000, DEEP):
            folder = lake / f"{kind}_{depth}"
            write_table(
                folder, [column("id", "integer"), column("x", "marker")], [Part(name="f.parquet", rows=rows_of)]
            )
            log = folder / "_delta_log" / f"{0:020}.json"
            nested = json.dumps(in_log(kind, depth))[1:-1]
            log.write_text(log.read_text().replace(json.dumps('"marker"')[1:-1], nested))


@pytest.mark.parametrize(
    ("kind", "statement"),
    [
        pytest.param(kind, statement, marks=pytest.mark.slow if (row + column) % len(KINDS) else ())
        for row, statement in enumerate(STATEMENTS)
        for column, kind in enumerate(KINDS)
    ],
)
def test_sql_with_a_deep_type_is_refused_by_name(session: LakeSession, kind: str, statement: str) -> None:
    """Each statement with one kind of type; other combinations are slow."""
    error = refuse(session, statement.format(type=sql(kind, DEEP)))
    assert error.condition == "FAILED_TO_PARSE_TOO_COMPLEX", error
    assert len(str(error)) < 1_000
    assert rows(session, "SELECT id FROM flat") == [(1,)]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("depth", [TYPE_DEPTH_MAX + 1, 3_000, DEEP])
def test_a_log_with_a_deep_type_is_refused_by_name(session: LakeSession, kind: str, depth: int) -> None:
    for statement in (
        "SELECT id FROM {}",
        "DESCRIBE TABLE {}",
        "INSERT INTO {} (id) VALUES (1)",
        "SHOW CREATE TABLE {}",
    ):
        error = refuse(session, statement.format(f"{kind}_{depth}"))
        assert error.condition == "DELTA_UNSUPPORTED_DATA_TYPES", error
        assert str(TYPE_DEPTH_MAX) in str(error) and len(str(error)) < 1_000


@pytest.mark.parametrize("kind", KINDS)
def test_types_as_deep_as_anybody_has_them(session: LakeSession, kind: str) -> None:
    assert rows(session, f"SELECT * FROM {kind}_{SHALLOW}") == [(1, None)]
    run(session, f"CREATE TABLE own_{kind} (id INT, x {sql(kind, SHALLOW)})")
    run(session, f"INSERT INTO own_{kind} VALUES (1, NULL)")
    assert rows(session, f"SELECT id FROM own_{kind} WHERE x IS NULL") == [(1,)]


@pytest.mark.parametrize("kind", KINDS)
def test_values_that_no_result_can_hold_are_refused_by_name(session: LakeSession, kind: str) -> None:
    assert rows(session, f"SELECT id FROM {kind}_100") == [(1,)]
    with pytest.raises(ResultTypeNotSupported):
        rows(session, f"SELECT x FROM {kind}_100")
