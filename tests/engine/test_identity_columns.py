"""Identity columns: values are unique, on the grid, past the high-water mark; the log matches Delta's."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from engine.delta.commit.transaction import Transaction
from engine.delta.definition.metadata_changes import change_table
from engine.delta.snapshot.snapshot import load_snapshot
from engine.main import LakeEngine, LakeSession
from engine.runtime.identity import Identity
from engine.tables.column_metadata import HIGH_WATER_MARK
from engine.tables.definition_changes import set_high_water_mark
from engine.tables.operations import CommitDescription, TableOperation
from tests.engine.lake_sessions import actions, refuse, rows, run, version_of

pytestmark = pytest.mark.spark


@pytest.fixture
def table(session: LakeSession) -> Iterator[str]:
    run(session, "DROP TABLE IF EXISTS numbered")
    yield "numbered"
    run(session, "DROP TABLE IF EXISTS numbered")


def high_water_marks(lake: Path, name: str) -> dict[str, Any]:
    """Column -> its high-water mark in the newest metadata."""
    schema = load_snapshot(str(lake / "default" / name)).schema
    return {field.name: field.metadata.get(HIGH_WATER_MARK) for field in schema.fields}


def values(session: LakeSession, column: str = "id") -> list[int]:
    return [row[0] for row in rows(session, f"SELECT {column} FROM numbered ORDER BY {column}")]


DEFINITIONS = [
    ("ALWAYS AS IDENTITY", {"start": 1, "step": 1, "allowExplicitInsert": False}),
    ("BY DEFAULT AS IDENTITY (START WITH -5 INCREMENT BY -3)", {"start": -5, "step": -3, "allowExplicitInsert": True}),
    ("ALWAYS AS IDENTITY (INCREMENT BY 10)", {"start": 1, "step": 10, "allowExplicitInsert": False}),
]


@pytest.mark.parametrize(("clause", "expected"), DEFINITIONS)
def test_the_log_has_the_definition(
    session: LakeSession, lake: Path, table: str, clause: str, expected: dict[str, Any]
) -> None:
    run(session, f"CREATE TABLE numbered (id BIGINT GENERATED {clause}, s STRING)")
    log = actions(lake, table, 0)
    (metadata,) = [action["metaData"] for action in log if "metaData" in action]
    column = json.loads(metadata["schemaString"])["fields"][0]
    assert column["metadata"] == {f"delta.identity.{key}": value for key, value in expected.items()}
    (protocol,) = [action["protocol"] for action in log if "protocol" in action]
    assert protocol["minWriterVersion"] == 6 or "identityColumns" in protocol["writerFeatures"]
    ((text,),) = rows(session, "SHOW CREATE TABLE numbered")
    run(session, text.replace("`numbered`", "`numbered_again`"))
    ((again,),) = rows(session, "SHOW CREATE TABLE numbered_again")
    run(session, "DROP TABLE numbered_again")
    assert again == text.replace("`numbered`", "`numbered_again`")


REFUSED_DEFINITIONS = [
    ("id INT GENERATED ALWAYS AS IDENTITY, s STRING", "DELTA_IDENTITY_COLUMNS_UNSUPPORTED_DATA_TYPE"),
    ("id BIGINT GENERATED ALWAYS AS IDENTITY (INCREMENT BY 0), s STRING", "DELTA_IDENTITY_COLUMNS_ILLEGAL_STEP"),
    ("id BIGINT GENERATED ALWAYS AS IDENTITY (START WITH 9223372036854775808), s STRING", "ARITHMETIC_OVERFLOW"),
    (
        "id BIGINT GENERATED ALWAYS AS IDENTITY DEFAULT 3, s STRING",
        "DELTA_IDENTITY_COLUMNS_WITH_GENERATED_EXPRESSION",
    ),
    (
        "id BIGINT GENERATED ALWAYS AS IDENTITY, g BIGINT GENERATED ALWAYS AS (id + 1)",
        "DELTA_INVALID_GENERATED_COLUMN_REFERENCES",
    ),
]


@pytest.mark.parametrize(("columns", "condition"), REFUSED_DEFINITIONS)
def test_invalid_identity_columns_are_rejected(
    session: LakeSession, lake: Path, table: str, columns: str, condition: str
) -> None:
    assert refuse(session, f"CREATE TABLE numbered ({columns})").condition == condition
    assert not (lake / "default" / table).exists()


def test_an_identity_column_cannot_partition(session: LakeSession, table: str) -> None:
    error = refuse(
        session, "CREATE TABLE numbered (id BIGINT GENERATED ALWAYS AS IDENTITY, s STRING) PARTITIONED BY (id)"
    )
    assert error.condition == "DELTA_IDENTITY_COLUMNS_PARTITION_NOT_SUPPORTED"


GIVEN_OUT = [
    ("ALWAYS AS IDENTITY", [1, 2, 3], [4, 5], 5),
    ("ALWAYS AS IDENTITY (START WITH 10 INCREMENT BY 5)", [10, 15, 20], [25, 30], 30),
    ("BY DEFAULT AS IDENTITY (START WITH 0 INCREMENT BY -2)", [0, -2, -4], [-6, -8], -8),
]


@pytest.mark.parametrize(("clause", "first", "second", "high_water_mark"), GIVEN_OUT)
def test_literals_get_the_next_values_in_their_order(
    session: LakeSession, lake: Path, table: str, clause: str, first: list[int], second: list[int], high_water_mark: int
) -> None:
    run(session, f"CREATE TABLE numbered (s STRING, id BIGINT GENERATED {clause})")
    assert run(session, "INSERT INTO numbered (s) VALUES ('a'), ('b'), ('c')") == 3
    assert rows(session, "SELECT s, id FROM numbered ORDER BY s") == list(zip("abc", first, strict=True))
    assert high_water_marks(lake, table)["id"] == first[-1]
    run(session, "INSERT INTO numbered BY NAME SELECT * FROM VALUES ('d'), ('e') AS t(s)")
    assert values(session) == sorted([*first, *second])
    assert high_water_marks(lake, table)["id"] == high_water_mark
    (info,) = [action["commitInfo"] for action in actions(lake, table, 2) if "commitInfo" in action]
    assert info["tags"] == {"delta.identity.schemaUpdate": "true"}
    run(session, "INSERT INTO numbered (s) SELECT 'x' WHERE false")
    assert version_of(lake, table) == 2, "no value, no new mark"


QUERIES = [
    ("", "SELECT CAST(id % 3 AS STRING), id FROM range(0, 1000, 1, 3)"),
    (" PARTITIONED BY (s)", "SELECT CAST(id % 3 AS STRING), id FROM range(0, 1000, 1, 3)"),
    ("", "SELECT CAST(id % 7 AS STRING), count(*) FROM range(0, 1000, 1, 3) GROUP BY id % 7"),
    (" TBLPROPERTIES ('delta.columnMapping.mode' = 'name')", "SELECT 'x', id FROM range(0, 100, 1, 2)"),
    (" TBLPROPERTIES ('delta.dataSkippingNumIndexedCols' = 0)", "SELECT 'x', id FROM range(0, 100, 1, 2)"),
]


@pytest.mark.diagonals("step", "query", step=2)
@pytest.mark.parametrize("step", [1, -4])
@pytest.mark.parametrize(("clauses", "query"), QUERIES)
def test_queries_get_unique_values_on_the_grid_and_past_the_mark(
    session: LakeSession, lake: Path, table: str, clauses: str, query: str, step: int
) -> None:
    run(
        session,
        f"CREATE TABLE numbered (id BIGINT GENERATED ALWAYS AS IDENTITY (START WITH 7 INCREMENT BY {step}), "
        f"s STRING, n BIGINT, CONSTRAINT real CHECK (id IS NOT NULL)){clauses}",
    )
    count, high_water_mark = 0, 7 - step
    for _ in range(2):
        count += run(session, f"INSERT INTO numbered (s, n) {query}") or 0
        found = values(session)
        assert len(set(found)) == len(found) == count
        assert all((value - 7) % step == 0 for value in found)
        new = [value for value in found if (value - high_water_mark) * step > 0]
        assert len(new) == count // (2 if count > len(new) else 1)
        high_water_mark = max(found, key=lambda value: value * step)
        assert high_water_marks(lake, table)["id"] == high_water_mark


def test_given_values_are_refused_or_do_not_move_the_mark(session: LakeSession, lake: Path, table: str) -> None:
    run(
        session,
        "CREATE TABLE numbered (a BIGINT GENERATED ALWAYS AS IDENTITY, d BIGINT GENERATED BY DEFAULT AS IDENTITY)",
    )
    for text in (
        "VALUES (1, 1)",
        "(a) VALUES (1)",
        "(d, a) VALUES (1, 1)",
        "BY NAME SELECT 1 AS A",
        "VALUES (NULL, 1)",
    ):
        error = refuse(session, f"INSERT INTO numbered {text}")
        assert error.condition == "DELTA_IDENTITY_COLUMNS_EXPLICIT_INSERT_NOT_SUPPORTED", text
    error = refuse(session, "INSERT INTO numbered (d) VALUES (DEFAULT), (1)")
    assert error.condition == "UNSUPPORTED_FEATURE.STATEMENT"
    assert version_of(lake, table) == 0
    run(session, "INSERT INTO numbered (d) VALUES (100)")
    assert high_water_marks(lake, table) == {"a": 1, "d": None}
    run(session, "INSERT INTO numbered BY NAME SELECT 5 AS d")
    assert rows(session, "SELECT a, d FROM numbered ORDER BY a") == [(1, 100), (2, 5)]
    assert high_water_marks(lake, table) == {"a": 2, "d": None}


SYNCED = [
    ("(START WITH 1 INCREMENT BY 10)", "VALUES (25), (7)", 31, 41),
    ("(START WITH 0 INCREMENT BY -2)", "VALUES (-7), (100)", -8, -10),
    ("(START WITH 100 INCREMENT BY 1)", "VALUES (5), (NULL)", None, 100),
    ("", "SELECT 1 WHERE false", None, 1),
]


@pytest.mark.parametrize(("options", "source", "high_water_mark", "following"), SYNCED)
def test_sync_identity_moves_the_mark_past_given_values(
    session: LakeSession, lake: Path, table: str, options: str, source: str, high_water_mark: int | None, following: int
) -> None:
    run(session, f"CREATE TABLE numbered (id BIGINT GENERATED BY DEFAULT AS IDENTITY {options}, s STRING)")
    run(session, f"INSERT INTO numbered (id) {source}")
    before = version_of(lake, table)
    run(session, "ALTER TABLE numbered ALTER COLUMN ID SYNC IDENTITY")
    assert high_water_marks(lake, table)["id"] == high_water_mark
    assert version_of(lake, table) == before + (high_water_mark is not None)
    run(session, "ALTER TABLE numbered ALTER COLUMN id SYNC IDENTITY")
    assert version_of(lake, table) == before + (high_water_mark is not None), "the high-water mark is there already"
    run(session, "INSERT INTO numbered (s) VALUES ('next')")
    assert rows(session, "SELECT id FROM numbered WHERE s = 'next'") == [(following,)]


def test_only_identity_columns_can_be_synced(session: LakeSession, table: str) -> None:
    run(session, "CREATE TABLE numbered (id BIGINT GENERATED BY DEFAULT AS IDENTITY, s STRING)")
    error = refuse(session, "ALTER TABLE numbered ALTER COLUMN s SYNC IDENTITY")
    assert (error.condition, error.sqlstate) == ("DELTA_IDENTITY_COLUMNS_ALTER_NON_IDENTITY_COLUMN", "429BQ")
    assert refuse(session, "ALTER TABLE numbered ALTER COLUMN nope SYNC IDENTITY").sqlstate == "42703"


def test_values_that_do_not_fit_are_refused(session: LakeSession, lake: Path, table: str) -> None:
    run(
        session,
        "CREATE TABLE numbered (s STRING, id BIGINT GENERATED ALWAYS AS IDENTITY (START WITH 9223372036854775806))",
    )
    assert refuse(session, "INSERT INTO numbered (s) VALUES ('a'), ('b'), ('c')").condition == "ARITHMETIC_OVERFLOW"
    assert version_of(lake, table) == 0 and not list((lake / "default" / table).rglob("*.parquet"))
    run(session, "INSERT INTO numbered (s) VALUES ('a'), ('b')")
    assert values(session) == [9223372036854775806, 9223372036854775807]
    error = refuse(session, "INSERT INTO numbered (s) VALUES ('c')")
    assert error.condition == "ARITHMETIC_OVERFLOW" and "id" in error.full_message


def test_an_overwrite_goes_on_from_the_mark(session: LakeSession, lake: Path, table: str) -> None:
    run(session, "CREATE TABLE numbered (s STRING, id BIGINT GENERATED ALWAYS AS IDENTITY)")
    run(session, "INSERT INTO numbered (s) VALUES ('a'), ('b')")
    run(session, "INSERT OVERWRITE numbered (s) SELECT s FROM numbered")
    assert values(session) == [3, 4] and high_water_marks(lake, table)["id"] == 4


def test_sessions_that_insert_at_once_get_other_values(
    engine: LakeEngine, session: LakeSession, lake: Path, table: str
) -> None:
    run(session, "CREATE TABLE numbered (s STRING, id BIGINT GENERATED ALWAYS AS IDENTITY)")

    def insert(number: int) -> None:
        other = engine.open_session(Identity("bob"), settings={}, catalog=None, schema=None)
        for text in (f"VALUES ('{number}'), ('x')", "SELECT string(id) FROM range(0, 10, 1, 2)"):
            run(other, f"INSERT INTO numbered (s) {text}")
        other.close()

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(insert, range(8)))
    found = values(session)
    assert len(found) == len(set(found)) == 8 * 12
    assert version_of(lake, table) == 16 and high_water_marks(lake, table)["id"] == max(found)


def test_values_are_given_out_again_where_another_writer_took_them(
    engine: LakeEngine, session: LakeSession, lake: Path, table: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(session, "CREATE TABLE numbered (s STRING, id BIGINT GENERATED ALWAYS AS IDENTITY)")
    taken = iter([10, 20])

    def take_first(self: Transaction, *arguments: Any) -> Any:
        high_water_mark = next(taken, None)
        if high_water_mark is not None:
            move_high_water_mark(str(lake / "default" / table), high_water_mark)
        return commit(self, *arguments)

    commit = Transaction.commit

    def move_high_water_mark(location: str, high_water_mark: int) -> None:
        snapshot = load_snapshot(location)
        (column,) = snapshot.config.identities
        changed = change_table(snapshot.config, (set_high_water_mark(column, high_water_mark),))
        description = CommitDescription(name="WRITE", operation=TableOperation.METADATA)
        other = Transaction.on(snapshot, description)
        other.stage(changed.metadata)
        commit(other)

    monkeypatch.setattr(Transaction, "commit", take_first)
    assert run(session, "INSERT INTO numbered (s) VALUES ('a'), ('b')") == 2
    assert values(session) == [21, 22] and high_water_marks(lake, table)["id"] == 22
    assert len(list((lake / "default" / table).rglob("*.parquet"))) == 1, "the files of lost attempts are gone"
