"""Void columns: in the schema and in no file; every value is null."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote

import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable

from engine.main import LakeSession
from tests.engine.lake_sessions import actions, refuse, rows, run, table, version_of

ALLOWED = "TBLPROPERTIES ('gateway.allowVoidColumns' = 'true')"
CANNOT_CAST = "INCOMPATIBLE_DATA_FOR_TABLE.CANNOT_SAFELY_CAST"
MAKING = {
    "created": ("CREATE TABLE {} (n VOID, a INT)", "INSERT INTO {} VALUES (NULL, 1)"),
    "created with rules": (
        "CREATE TABLE {} (n VOID, a INT, g INT GENERATED ALWAYS AS (a + 1), CONSTRAINT c CHECK (a > 0))",
        "INSERT INTO {} (n, a) VALUES (NULL, 1)",
    ),
    "mapped": (
        "CREATE TABLE {} (n VOID, a INT) TBLPROPERTIES ('delta.columnMapping.mode' = 'id')",
        "INSERT INTO {} (a) VALUES (1)",
    ),
    "partitioned": ("CREATE TABLE {} (n VOID, a INT, p INT) PARTITIONED BY (p)", "INSERT INTO {} VALUES (NULL, 1, 2)"),
    "of a query": (f"CREATE TABLE {{}} {ALLOWED} AS SELECT NULL AS n, 1 AS a",),
    "replaced by a query": ("CREATE TABLE {} (x INT)", f"REPLACE TABLE {{}} {ALLOWED} AS SELECT NULL AS n, 1 AS a"),
    "added": ("CREATE TABLE {} AS SELECT 1 AS a", "ALTER TABLE {} ADD COLUMN n VOID"),
    "added by rows": (
        f"CREATE TABLE {{}} {ALLOWED} AS SELECT 9 AS a",
        "INSERT WITH SCHEMA EVOLUTION INTO {} REPLACE WHERE true SELECT 1 AS a, NULL AS n",
    ),
}


@pytest.mark.parametrize("how", MAKING)
def test_nulls_are_read_and_nothing_is_stored(lake: Path, session: LakeSession, how: str) -> None:
    name = f"void_{how.replace(' ', '_')}"
    for statement in MAKING[how]:
        run(session, statement.format(name))
    assert rows(session, f"SELECT n, a FROM {name}") == [(None, 1)]
    assert [row[1] for row in rows(session, f"DESCRIBE {name}") if row[0] == "n"] == ["void"]
    run(session, f"INSERT INTO {name} (a) VALUES (2)")
    run(session, f"INSERT INTO {name} REPLACE WHERE a = 1 SELECT * FROM {name} WHERE a = 1")
    assert rows(session, f"SELECT a, n, n IS NULL FROM {name} WHERE n IS NULL ORDER BY a") == [
        (1, None, True),
        (2, None, True),
    ]
    assert rows(session, f"SELECT count(*), count(n) FROM {name}") == [(2, 0)]
    found = DeltaTable(lake / "default" / name, without_files=False)
    for path in found.file_uris():
        assert "n" not in pq.read_schema(unquote(path)).names
    committed = [action["metaData"]["schemaString"] for action in actions(lake, name, 0) if "metaData" in action]
    assert committed
    assert refuse(session, f"INSERT INTO {name} (a, n) VALUES (3, 3)").condition == CANNOT_CAST
    run(session, f"ALTER TABLE {name} ALTER COLUMN n TYPE STRING")
    run(session, f"INSERT INTO {name} (a, n) VALUES (4, 'x')")
    assert rows(session, f"SELECT n FROM {name} ORDER BY a") == [(None,), (None,), ("x",)]
    ((shown,),) = rows(session, f"SHOW CREATE TABLE {name}")
    assert "VOID" not in shown


def test_constraints_are_checked_with_leading_void_column(lake: Path, session: LakeSession) -> None:
    run(session, "CREATE TABLE ruled_void (n VOID, a INT, CONSTRAINT c CHECK (a > 0))")
    assert (
        refuse(session, "INSERT INTO ruled_void VALUES (NULL, 0)").condition == "DELTA_VIOLATE_CONSTRAINT_WITH_VALUES"
    )
    assert version_of(lake, "ruled_void") == 0
    ((shown,),) = rows(session, "SHOW CREATE TABLE ruled_void")
    run(session, "DROP TABLE ruled_void")
    run(session, shown)
    assert [row[1] for row in rows(session, "DESCRIBE ruled_void")] == ["void", "int"]


NESTED = "DELTA_COMPLEX_TYPE_COLUMN_CONTAINS_NULL_TYPE"
REFUSED = [
    ("CREATE TABLE bad (a INT, s STRUCT<n: VOID>)", NESTED),
    ("CREATE TABLE bad (a INT, s ARRAY<VOID>)", NESTED),
    ("CREATE TABLE bad (a INT, s MAP<INT, VOID>)", NESTED),
    (f"CREATE TABLE bad {ALLOWED} AS SELECT 1 AS a, array(NULL) AS s", NESTED),
    (f"CREATE TABLE bad {ALLOWED} AS SELECT 1 AS a, named_struct('n', NULL) AS s", NESTED),
    ("ALTER TABLE good ADD COLUMN s ARRAY<VOID>", NESTED),
    ("INSERT WITH SCHEMA EVOLUTION INTO good SELECT 1 AS a, map('k', NULL) AS s", NESTED),
    (f"CREATE TABLE bad {ALLOWED} AS SELECT NULL AS a", "DELTA_CANNOT_WRITE_EMPTY_SCHEMA"),
    ("INSERT INTO hollow VALUES (NULL)", "DELTA_CANNOT_WRITE_EMPTY_SCHEMA"),
    ("CREATE TABLE bad (a INT, p VOID) PARTITIONED BY (p)", "DELTA_INVALID_PARTITION_COLUMN_TYPE"),
]


@pytest.mark.parametrize(("statement", "condition"), REFUSED, ids=[row[0] for row in REFUSED])
def test_void_column_in_a_file_is_rejected(session: LakeSession, statement: str, condition: str) -> None:
    run(session, f"CREATE TABLE IF NOT EXISTS good (a INT) {ALLOWED}")
    run(session, "CREATE TABLE IF NOT EXISTS hollow (a VOID)")
    assert refuse(session, statement).condition == condition
    assert "bad" not in table(session, "SHOW TABLES").column("tableName").to_pylist()


BROUGHT = [
    # statement, the column
    ("CREATE TABLE unmade {f} AS SELECT 1 AS a, NULL AS n", "n"),
    ("CREATE TABLE unmade {f} AS SELECT 1 AS a, array(NULL) AS n", "n"),
    ("CREATE TABLE unmade {f} AS SELECT 1 AS a, named_struct('x', 1, 'y', named_struct('z', NULL)) AS n", "n.y.z"),
    ("CREATE TABLE unmade {f} AS SELECT 1 AS a, map('k', array(named_struct('z', NULL))) AS n", "n.value.element.z"),
    ("CREATE OR REPLACE TABLE {t} {f} AS SELECT 1 AS a, NULL AS n", "n"),
    ("INSERT WITH SCHEMA EVOLUTION INTO {t} BY NAME SELECT 1 AS a, NULL AS n", "n"),
    ("INSERT WITH SCHEMA EVOLUTION INTO {t} SELECT 1, named_struct('x', 1), NULL AS n", "n"),
    ("INSERT WITH SCHEMA EVOLUTION INTO {t} BY NAME SELECT 1 AS a, named_struct('x', 1, 'n', NULL) AS s", "s.n"),
    ("{m} WHEN NOT MATCHED THEN INSERT *", "n"),
    ("{m} WHEN MATCHED THEN UPDATE SET *", "n"),
    ("{m} WHEN MATCHED THEN UPDATE SET n = v.n", "n"),
    ("{m} WHEN MATCHED THEN UPDATE SET s.n = v.n", "s.n"),
]


@pytest.mark.parametrize("format_", ["delta", "iceberg"])
def test_queries_bring_no_void_columns_unless_the_table_allows_them(session: LakeSession, format_: str) -> None:
    name, using = f"closed_{format_}", f"USING {format_}"
    version = "" if format_ == "delta" else "'format-version' = '3', "
    run(session, f"CREATE TABLE {name} (a INT, s STRUCT<x: INT>) {using} TBLPROPERTIES ({version}'k' = 'v')")
    run(session, f"INSERT INTO {name} VALUES (1, NULL)")
    source = "(SELECT 1 AS a, named_struct('x', 1) AS s, NULL AS n)"
    merge = "MERGE WITH SCHEMA EVOLUTION INTO {} t USING {} v ON t.a = v.a"
    texts = {"t": name, "f": using, "m": merge.format(name, source)}
    for statement, column in BROUGHT[:-1] + [(BROUGHT[-1][0].replace("v.n", "v.s.n"), "s.n")]:
        if column == "s.n" and "{m}" in statement:
            texts["m"] = merge.format(name, "(SELECT 1 AS a, named_struct('x', 1, 'n', NULL) AS s)")
        error = refuse(session, statement.format_map(texts))
        assert (error.condition, error.sqlstate) == ("UNSUPPORTED_DATA_TYPE_FOR_DATASOURCE", "0A000")
        assert f"The column {column} would" in str(error) and "'gateway.allowVoidColumns' = 'true'" in str(error)
    assert rows(session, f"SELECT * FROM {name}") == [(1, None)]
    run(session, f"ALTER TABLE {name} SET TBLPROPERTIES ('gateway.allowVoidColumns' = 'true')")
    run(session, f"INSERT WITH SCHEMA EVOLUTION INTO {name} BY NAME SELECT 2 AS a, NULL AS n")
    run(session, f"{merge.format(name, source.replace('AS n', 'AS n2'))} WHEN MATCHED THEN UPDATE SET n2 = v.n2")
    assert rows(session, f"SELECT a, n, n2 FROM {name} ORDER BY a") == [(1, None, None), (2, None, None)]


def test_nulls_of_known_columns_bring_none(session: LakeSession) -> None:
    run(session, "CREATE TABLE known (a INT, s STRUCT<x: INT>)")
    run(session, "INSERT WITH SCHEMA EVOLUTION INTO known BY NAME SELECT NULL AS a, named_struct('x', NULL) AS s")
    run(
        session,
        "MERGE WITH SCHEMA EVOLUTION INTO known t USING (SELECT 1 AS a, NULL AS s, NULL AS unused) v ON t.a = v.a"
        " WHEN NOT MATCHED THEN INSERT (a, s) VALUES (v.a, v.s)",
    )
    assert rows(session, "DESCRIBE known") == [("a", "int", None), ("s", "struct<x:int>", None)]
