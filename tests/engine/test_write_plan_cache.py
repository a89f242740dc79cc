"""Plan cache for writes: a repeated write is not analyzed again, and writes the same rows and checks.

Each case repeats one text while its source, the table's constraints, or the session changes. Java reports the number of
cached writes: reuse under another write's key adds none.
"""

from __future__ import annotations

from typing import Any

import pytest

from catalog.errors import SqlError
from engine.main import LakeEngine, LakeSession
from engine.runtime.identity import Identity
from engine.runtime.request import StatementRequest
from engine.spark.session import SparkDriver

pytestmark = pytest.mark.spark

ANN = Identity("ann")
FORMATS = ("delta", "iceberg")
UNCACHED = {
    "chance": "SELECT id, cast(rand() * 1000000000 AS bigint) AS v, DATE'2024-01-01' AS day FROM {t}_source",
    "chance of the server": "SELECT id, hash(uuid()) AS v, DATE'2024-01-01' AS day FROM {t}_source",
    "time": "SELECT id, unix_micros(current_timestamp()) AS v, DATE'2024-01-01' AS day FROM {t}_source",
}


def rows(session: LakeSession, text: str) -> list[Any]:
    batches = session.execute(text, StatementRequest(identity=ANN)).batches()
    return sorted(tuple(row.values()) for batch in batches for row in batch.to_pylist())


def run(session: LakeSession, *texts: str) -> None:
    for text in texts:
        rows(session, text)


@pytest.fixture(autouse=True)
def empty_cache(spark_driver: SparkDriver) -> None:
    """Clears entries from earlier tests, since the cache's size is limited."""
    writes_of(spark_driver).clear()


def cache_size(driver: SparkDriver) -> int:
    return int(writes_of(driver).size())


def writes_of(driver: SparkDriver) -> Any:
    return field(field(driver.process.driver, "plans"), "writes")


def field(of: Any, name: str) -> Any:
    found = of.getClass().getDeclaredField(name)
    found.setAccessible(True)
    return found.get(of)


def make(session: LakeSession, name: str, kind: str) -> None:
    run(
        session,
        f"CREATE OR REPLACE TABLE {name} (id BIGINT, v BIGINT, day DATE) USING {kind} PARTITIONED BY (day)",
        f"CREATE OR REPLACE TABLE {name}_source (id BIGINT, v BIGINT) USING {kind}",
        f"INSERT INTO {name}_source SELECT id, id * 10 FROM range(3)",
    )


@pytest.mark.parametrize("kind", FORMATS)
def test_cached_merge_plan_reads_current_rows(session: LakeSession, spark_driver: SparkDriver, kind: str) -> None:
    name = f"kept_merge_{kind}"
    make(session, name, kind)
    merge = (
        f"MERGE INTO {name} t USING (SELECT id, v, DATE'2024-01-01' AS day FROM {name}_source) s ON t.id = s.id "
        "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
    )
    run(session, merge)
    assert rows(session, f"SELECT id, v FROM {name}") == [(0, 0), (1, 10), (2, 20)]
    run(session, merge)
    remaining = cache_size(spark_driver)
    for value in (7, 8, 9):
        run(session, f"INSERT OVERWRITE {name}_source SELECT id, {value} FROM range(3)")
        run(session, merge)
        assert rows(session, f"SELECT id, v FROM {name}") == [(0, value), (1, value), (2, value)]
    assert cache_size(spark_driver) <= remaining + 6  # half are those for INSERT OVERWRITE
    run(session, f"INSERT INTO {name}_source VALUES (5, 50)", merge)
    assert rows(session, f"SELECT id, v FROM {name}") == [(0, 9), (1, 9), (2, 9), (5, 50)]


@pytest.mark.parametrize("kind", FORMATS)
def test_repeated_insert_is_cached_once(session: LakeSession, spark_driver: SparkDriver, kind: str) -> None:
    name = f"kept_insert_{kind}"
    make(session, name, kind)
    insert = f"INSERT INTO {name} SELECT id, v, DATE'2024-01-01' FROM {name}_source"
    before = cache_size(spark_driver)
    run(session, insert)
    assert cache_size(spark_driver) == before + 1
    run(session, insert)
    assert cache_size(spark_driver) == before + 1
    assert rows(session, f"SELECT id, v FROM {name}") == sorted([(0, 0), (1, 10), (2, 20)] * 2)


@pytest.mark.parametrize("kind", FORMATS)
def test_a_table_that_changed_demands_what_it_does_now(session: LakeSession, kind: str) -> None:
    name = f"kept_altered_{kind}"
    make(session, name, kind)
    insert = f"INSERT INTO {name} SELECT id, v, DATE'2024-01-01' FROM {name}_source"
    run(session, insert, insert, f"ALTER TABLE {name} ADD COLUMN more STRING")
    run(session, insert.replace("SELECT", "(id, v, day) SELECT"))
    assert rows(session, f"SELECT count(*), count(more) FROM {name}") == [(9, 0)]
    run(session, f"ALTER TABLE {name}_source RENAME TO {name}_away")
    run(session, f"CREATE TABLE {name}_source (id BIGINT, v BIGINT) USING {kind}")
    run(session, f"INSERT INTO {name}_source VALUES (100, 1)", insert.replace("SELECT", "(id, v, day) SELECT"))
    assert rows(session, f"SELECT id FROM {name} WHERE v = 1") == [(100,)]


def test_a_constraint_that_came_is_checked(session: LakeSession) -> None:
    make(session, "kept_checked", "delta")
    insert = "INSERT INTO kept_checked SELECT id, v, DATE'2024-01-01' FROM kept_checked_source"
    run(session, insert, insert, "ALTER TABLE kept_checked ADD CONSTRAINT small CHECK (v < 100)", insert)
    run(session, "INSERT INTO kept_checked_source VALUES (3, 100)")
    for _ in range(2):
        with pytest.raises(SqlError, match="small"):
            run(session, insert)
    assert rows(session, "SELECT count(*) FROM kept_checked") == [(9,)]


def test_settings_are_those_of_the_statement(session: LakeSession) -> None:
    make(session, "kept_set", "delta")
    run(session, "CREATE OR REPLACE TABLE kept_set (id BIGINT, at TIMESTAMP)")
    insert = (
        "INSERT INTO kept_set SELECT id, cast('2024-01-01 00:00:00' AS timestamp) FROM kept_set_source WHERE id = 0"
    )
    for zone in ("UTC", "Asia/Tokyo", "UTC"):
        run(session, f"SET TIME ZONE '{zone}'", insert)
    run(session, "SET TIME ZONE 'UTC'")
    found = rows(session, "SELECT unix_seconds(at) FROM kept_set")
    assert found == [(1704067200 - 9 * 3600,), (1704067200,), (1704067200,)]


@pytest.mark.parametrize("query", UNCACHED.values(), ids=UNCACHED)
def test_values_of_chance_and_time_are_other_ones_each_time(
    session: LakeSession, spark_driver: SparkDriver, query: str
) -> None:
    make(session, "kept_not", "iceberg")
    before = cache_size(spark_driver)
    for _ in range(3):
        run(session, f"INSERT INTO kept_not {query.format(t='kept_not')}")
    assert cache_size(spark_driver) == before
    assert rows(session, "SELECT count(*), count(DISTINCT v) >= 3 FROM kept_not") == [(9, True)]


def test_defaults_of_chance_and_time_are_other_ones_each_time(session: LakeSession) -> None:
    run(
        session,
        "CREATE OR REPLACE TABLE kept_default (id BIGINT, at TIMESTAMP DEFAULT current_timestamp()) "
        "TBLPROPERTIES ('delta.feature.allowColumnDefaults' = 'supported')",
        "CREATE OR REPLACE TABLE kept_default_source AS SELECT id FROM range(2)",
    )
    for _ in range(3):
        run(session, "INSERT INTO kept_default (id) SELECT id FROM kept_default_source")
    assert rows(session, "SELECT count(DISTINCT at) FROM kept_default") == [(3,)]


def test_another_user_writes_as_themselves(session: LakeSession, engine: LakeEngine) -> None:
    run(session, "CREATE OR REPLACE TABLE kept_users (id BIGINT, name STRING)")
    run(session, "CREATE OR REPLACE TABLE kept_users_source AS SELECT id FROM range(1)")
    insert = "INSERT INTO kept_users SELECT id, current_user() FROM kept_users_source"
    run(session, insert, insert, "GRANT ALL PRIVILEGES ON SCHEMA default TO USER bob")
    bob = engine.open_session(Identity("bob"), settings={}, catalog=None, schema=None)
    try:
        list(bob.execute(insert, StatementRequest(identity=Identity("bob"))).batches())
    finally:
        bob.close()
    assert rows(session, "SELECT name FROM kept_users") == [("ann",), ("ann",), ("bob",)]
