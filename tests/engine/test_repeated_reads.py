"""Queries that are run again at the table versions that they have read."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pytest

from catalog.errors import SqlError
from engine.main import LakeSession
from engine.runtime.identity import Identity
from engine.runtime.request import StatementRequest
from tests.engine.lake_sessions import rows, run

pytestmark = pytest.mark.spark

ANN = Identity("ann")
_NONE: Mapping[str, str] = {}


def read(
    session: LakeSession, text: str, versions: Mapping[str, str] = _NONE, **options: Any
) -> tuple[list[tuple[Any, ...]], dict[str, str]]:
    """Returns the rows, and the versions that the query reported, as another process loads them."""
    reported: dict[str, str] = {}
    request = StatementRequest(identity=ANN, versions=versions, on_versions=reported.update, **options)
    result = session.execute(text, request)
    found = pa.Table.from_batches(result.batches(), result.schema)
    result.close()
    return list(zip(*(column.to_pylist() for column in found.columns), strict=True)), json.loads(json.dumps(reported))


@pytest.fixture(params=["delta", "iceberg"])
def table(session: LakeSession, request: pytest.FixtureRequest) -> str:
    name = f"t_{request.param}"
    run(session, f"DROP TABLE IF EXISTS {name}")
    run(session, f"CREATE TABLE {name} USING {request.param} AS SELECT x FROM VALUES (1), (2) v(x)")
    return name


QUERIES = (
    "SELECT x FROM {t} ORDER BY x",
    "SELECT count(*), max(x) FROM {t}",
    "SELECT a.x, b.x FROM {t} a JOIN {t} b ON a.x = b.x ORDER BY 1",
    "SELECT x FROM (SELECT * FROM {t} WHERE x > 1) UNION ALL SELECT count(*) FROM {t}",
    "SELECT x FROM {t}_view ORDER BY x",
)


@pytest.mark.parametrize("query", QUERIES)
def test_query_reads_the_reported_versions_again(session: LakeSession, table: str, query: str) -> None:
    run(session, f"CREATE OR REPLACE VIEW {table}_view AS SELECT x FROM {table}")
    first, versions = read(session, query.format(t=table))
    run(session, f"INSERT INTO {table} VALUES (3)")
    run(session, f"DELETE FROM {table} WHERE x = 1")
    newest, other = read(session, query.format(t=table))
    again, same = read(session, query.format(t=table), versions)
    assert (again, same) == (first, versions)
    assert newest != first and other != versions and other.keys() == versions.keys()


def test_tables_without_a_version_are_read_at_their_newest_one(session: LakeSession, table: str) -> None:
    run(session, "CREATE OR REPLACE TABLE beside AS SELECT 1 AS y")
    _, versions = read(session, f"SELECT * FROM {table}")
    run(session, f"INSERT INTO {table} VALUES (3)")
    run(session, "INSERT INTO beside VALUES (2)")
    query = f"SELECT (SELECT count(*) FROM {table}), (SELECT count(*) FROM beside)"
    assert read(session, query, versions)[0] == [(2, 2)]


def test_empty_table_is_read_empty_again(session: LakeSession) -> None:
    for kind in ("delta", "iceberg"):
        run(session, f"CREATE TABLE e_{kind} (x INT) USING {kind}")
    query = "SELECT x FROM e_delta UNION ALL SELECT x FROM e_iceberg"
    first, versions = read(session, query)
    assert (first, read(session, query, versions)) == ([], ([], versions))


def test_table_that_was_created_again_is_an_error(session: LakeSession, table: str) -> None:
    kind = table.removeprefix("t_")
    _, versions = read(session, f"SELECT * FROM {table}")
    run(session, f"DROP TABLE {table}")
    run(session, f"CREATE TABLE {table} USING {kind} AS SELECT 9 AS x")
    with pytest.raises(SqlError) as caught:
        read(session, f"SELECT * FROM {table}", versions)
    expected = {"delta": "CONCURRENT_DROP", "iceberg": "ICEBERG_SNAPSHOT_NOT_FOUND"}
    assert caught.value.condition == expected[kind]


def test_missing_version_is_the_error_of_time_travel(session: LakeSession) -> None:
    run(session, "CREATE OR REPLACE TABLE cleaned AS SELECT 1 AS x")
    location, text = next(iter(read(session, "SELECT * FROM cleaned")[1].items()))
    missing = {location: f"99 {text.partition(' ')[2]}"}
    with pytest.raises(SqlError) as caught:
        read(session, "SELECT * FROM cleaned", missing)
    with pytest.raises(SqlError) as traveled:
        read(session, "SELECT * FROM cleaned VERSION AS OF 99")
    assert caught.value.condition == traveled.value.condition == "DELTA_VERSION_NOT_FOUND"


def test_older_version_of_a_table_with_a_row_filter_is_not_read(session: LakeSession) -> None:
    """The filter applies to the current columns only."""
    run(session, "CREATE OR REPLACE TABLE filtered AS SELECT x FROM VALUES (1), (2) v(x)")
    run(session, "CREATE OR REPLACE FUNCTION over_one(x INT) RETURNS BOOLEAN RETURN x > 1")
    run(session, "ALTER TABLE filtered SET ROW FILTER over_one ON (x)")
    first, versions = read(session, "SELECT x FROM filtered")
    assert (first, read(session, "SELECT x FROM filtered", versions)[0]) == ([(2,)], [(2,)])
    run(session, "INSERT INTO filtered VALUES (3)")
    with pytest.raises(SqlError) as caught:
        read(session, "SELECT x FROM filtered", versions)
    assert caught.value.condition == "FGAC_TIME_TRAVEL_NOT_SUPPORTED.PER_TABLE_RLS_CM"


def test_write_reads_the_newest_versions(session: LakeSession, table: str) -> None:
    _, versions = read(session, f"SELECT * FROM {table}")
    run(session, f"INSERT INTO {table} VALUES (3)")
    _, reported = read(session, f"INSERT INTO {table} SELECT count(*) FROM {table}", versions)
    assert (sorted(rows(session, f"SELECT x FROM {table}")), reported) == ([(1,), (2,), (3,), (3,)], {})


def test_time_of_the_statement_is_the_same_again(session: LakeSession) -> None:
    query = "SELECT current_timestamp(), current_date()"
    instant_us = 1_767_225_600_000_000
    assert read(session, query, instant_us=instant_us) == read(session, query, instant_us=instant_us)
