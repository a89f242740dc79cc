"""PARTITION (…) names partition columns alone, with a value or without."""

from __future__ import annotations

import pytest

from engine.main import LakeSession
from tests.engine.lake_sessions import refuse, rows, run

pytestmark = pytest.mark.spark

STATEMENTS = (
    "INSERT INTO {t} PARTITION ({c} = 1) SELECT 1, 'x'",
    "INSERT INTO {t} PARTITION ({c}) SELECT 1, 2, 'x'",
    "INSERT INTO {t} PARTITION (p = 2, {c}) SELECT 1, 'x'",
    "INSERT OVERWRITE {t} PARTITION ({c} = 1) SELECT 1, 'x'",
    "INSERT OVERWRITE {t} PARTITION (p, {c}) SELECT 1, 2, 'x'",
    "SHOW PARTITIONS {t} PARTITION ({c} = 1)",
)


@pytest.mark.parametrize("format_", ["delta", "iceberg"])
def test_other_columns_are_rejected(session: LakeSession, format_: str) -> None:
    name, plain = f"parted_{format_}", f"plain_{format_}"
    run(session, f"CREATE TABLE {name} (id INT, p INT, q STRING) USING {format_} PARTITIONED BY (p)")
    run(session, f"CREATE TABLE {plain} (id INT, p INT, q STRING) USING {format_}")
    run(session, f"INSERT INTO {name} VALUES (1, 2, 'x')")
    for statement in STATEMENTS:
        for column in ("id", "nope"):
            error = refuse(session, statement.format(t=name, c=column))
            assert (error.condition, error.sqlstate) == ("NON_PARTITION_COLUMN", "42000"), statement
            assert (
                f"the non-partition column {column} (line 1" in error.full_message
                and error.hint == "The partition columns are: p."
            )
        if statement.startswith("INSERT") and "p = 2" not in statement:
            error = refuse(session, statement.format(t=plain, c="id"))
            assert (error.condition, "are: none." in str(error)) == ("NON_PARTITION_COLUMN", True)
    refused = refuse(session, f"TRUNCATE TABLE {name} PARTITION (id = 1)")
    assert refused.condition == "UNSUPPORTED_CLAUSE"
    assert rows(session, f"SELECT * FROM {name}") == [(1, 2, "x")]


@pytest.mark.parametrize("format_", ["delta", "iceberg"])
def test_partition_columns_are_taken(session: LakeSession, format_: str) -> None:
    name = f"taken_{format_}"
    run(session, f"CREATE TABLE {name} (id INT, p INT, q STRING) USING {format_} PARTITIONED BY (p, q)")
    run(session, f"INSERT INTO {name} PARTITION (P = 2, q = 'x') SELECT 1")
    run(session, f"INSERT INTO {name} PARTITION (p = 3, Q) SELECT 1, 'x'")
    run(session, f"INSERT INTO {name} PARTITION (p, q) SELECT 1, 4, 'x'")
    assert rows(session, f"SHOW PARTITIONS {name} PARTITION (P = 3)") == [("3", "x")]
    assert rows(session, f"SHOW PARTITIONS {name} PARTITION (p = 9)") == []
    assert rows(session, f"SELECT p FROM {name} ORDER BY p") == [(2,), (3,), (4,)]
