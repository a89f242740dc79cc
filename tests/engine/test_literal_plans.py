"""Literal rows whose plan was made for other values have the cells, files, log and errors of a job.

The plan is cached when values of the same types are written a second time, and used from the third time on.
"""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from catalog.errors import SqlError
from engine.execution.writes import staged_files
from engine.main import LakeSession
from engine.runtime.identity import Identity
from engine.runtime.parameters import Parameter
from engine.runtime.request import StatementRequest
from tests.engine.lake_sessions import refuse, rows, run, version_of
from tests.engine.test_literal_rows import jobs_alone, logged, stored
from tests.samples import some

pytestmark = pytest.mark.spark

DEFAULTS = "TBLPROPERTIES ('delta.feature.allowColumnDefaults' = 'supported')"
CHECKED = (
    "id BIGINT GENERATED ALWAYS AS IDENTITY (START WITH 5 INCREMENT BY 3), k INT NOT NULL, v VARCHAR(5) DEFAULT 'none',"
    " g INT GENERATED ALWAYS AS (k * 2), y INT GENERATED ALWAYS AS (year(d)), d DATE, c CHAR(3),"
    " CONSTRAINT small CHECK (k < 1000 AND v <> 'never')"
)

# Columns, the clauses after them, the rows that are written twice, and rows of the same types.
WRITTEN = {
    "numbers": (
        "a TINYINT, b SMALLINT, c INT, d BIGINT, f FLOAT, g DOUBLE, n DECIMAL(9, 2), m DECIMAL(38, 10)",
        "",
        "VALUES (1, 2, 3, 4000000000, 0.5, 2e0, 1.25, 7)",
        "VALUES (-128, 32767, -2147483648, -9223372036854775808, 0.1, -0e0, 9.99, - 8)",
    ),
    "numbers of several types": (
        "k DOUBLE, n DECIMAL(9, 3)",
        "",
        "VALUES (1, 1.5), (4000000000, 22.25), (2.5, 333.125)",
        "VALUES (-7, -9.1), (9223372036854775807, -99.99), (3.1, 100.001)",
    ),
    "null among values": ("k INT, s STRING", "", "VALUES (1, NULL), (NULL, 'a')", "VALUES (NULL, ''), (2, NULL)"),
    "nulls alone": ("k INT, s STRING, d DATE", "", "VALUES (NULL, NULL, NULL)", "VALUES (null, NULL, Null)"),
    "texts": (
        "s STRING, v VARCHAR(5), c CHAR(4), b BINARY",
        "",
        "VALUES ('a', 'abc  ', 'x', 'y')",
        "VALUES ('ünï\U0001f600 \"\n', 'abcde      ', '', 'ß')",
    ),
    "casts": (
        "k INT, s STRING, d DATE, t TIMESTAMP, n TIMESTAMP_NTZ, o BOOLEAN, f FLOAT",
        "",
        "VALUES ('1', 2, '2024-01-01', '2024-01-01 00:00:00', '2024-01-01 00:00:00', 'true', '1.5')",
        "VALUES (' 77 ', -2, '2024-2-9', '1500-03-01 12:00:00.123456', '9999-12-31 23:59:59.999999', 'f', '-0.0')",
    ),
    "dates": (
        "d DATE, t TIMESTAMP",
        "",
        "VALUES (DATE'2024-02-29', DATE'2024-03-31')",
        "VALUES (date '0001-01-01', DATE'9999-12-31')",
    ),
    "partitions": (
        "k INT, p STRING, d DATE",
        "PARTITIONED BY (p, d)",
        "VALUES (1, 'b', '2024-01-01'), (2, NULL, NULL), (3, 'a', NULL)",
        "VALUES (4, 'a/b %=ü', NULL), (5, NULL, '2024-01-02'), (6, '', '2024-01-02')",
    ),
    "static partition": (
        "k INT, p STRING",
        "PARTITIONED BY (p)",
        "PARTITION (p = 'x') VALUES (1)",
        "PARTITION (p = 'x') VALUES (2)",
    ),
    "all checks": (
        CHECKED,
        DEFAULTS,
        "(k, d, c) VALUES (1, DATE'2024-01-01', 'x'), (2, DATE'2025-01-01', 'y')",
        "(k, d, c) VALUES (999, DATE'1999-12-31', ''), (-5, DATE'1900-01-01', 'xyz'), (7, DATE'2000-01-01', 'z')",
    ),
    "settings": (
        "a STRING, b STRING",
        "CLUSTER BY (b) TBLPROPERTIES ('delta.dataSkippingStatsColumns' = 'b', 'delta.columnMapping.mode' = 'name', "
        "'delta.parquet.compression.codec' = 'zstd', 'delta.enableRowTracking' = 'true')",
        "VALUES ('x', 'y')",
        "VALUES ('v', 'w')",
    ),
    "iceberg": (
        "k INT, s STRING, d DATE",
        "USING iceberg PARTITIONED BY (bucket(4, k), truncate(2, s), month(d))",
        "VALUES (1, 'abc', DATE'2024-01-01'), (2, '', NULL)",
        "VALUES (3, 'zyx', DATE'1969-12-31'), (4, 'ü', NULL)",
    ),
    "many rows": (
        "k BIGINT, s STRING",
        "",
        "VALUES (1, 'a')",
        "VALUES " + ", ".join(f"({k}, 'name {k}')" for k in range(300)),
    ),
}

# Likewise; the rows depend on more than the values, or Spark has to parse them.
NOT_PLANNED = {
    "time": ("k INT, t TIMESTAMP DEFAULT current_timestamp()", DEFAULTS, "(k) VALUES (1)", "(k) VALUES (2)"),
    "day": ("k INT, d DATE DEFAULT DATE 'today'", DEFAULTS, "(k) VALUES (1)", "(k) VALUES (2)"),
    "day in a check": (
        "k INT, d DATE, CONSTRAINT past CHECK (d <= DATE 'today')",
        "",
        "VALUES (1, DATE '2024-01-01')",
        "VALUES (2, DATE '2024-01-02')",
    ),
    "calls": ("k INT", "", "VALUES (abs(-1))", "VALUES (abs(-2))"),
    "comment": ("k INT", "", "VALUES (1 /* one */)", "VALUES (2 /* two */)"),
}

# Columns, the rows that are written twice, and rows of the same types that fail.
REFUSED = {
    "cast": ("d DATE", "VALUES ('2024-02-29')", "VALUES ('2023-02-29')"),
    "overflow": ("b TINYINT", "VALUES (1)", "VALUES (128)"),
    "decimal overflow": ("n DECIMAL(5, 2)", "VALUES (234.5)", "VALUES (1234.5), (1.5)"),
    "length": ("v VARCHAR(3)", "VALUES ('abc')", "VALUES ('abcd')"),
    "null": ("k INT, s STRING NOT NULL", "VALUES (1, 'a')", "VALUES (1, NULL)"),
    "null in a column with nulls": (
        "k INT, s STRING, CONSTRAINT c CHECK (k IS NOT NULL OR s IS NULL)",
        "VALUES (NULL, NULL), (1, 'a')",
        "VALUES (NULL, 'b'), (1, NULL)",
    ),
    "check": ("k INT, s STRING, CONSTRAINT small CHECK (k < 10)", "VALUES (1, 'a')", "VALUES (11, 'it')"),
    "generated": ("k INT, g INT GENERATED ALWAYS AS (k * 2)", "VALUES (1, 2)", "VALUES (1, 3)"),
    "generated overflow": (
        "k INT, g TINYINT GENERATED ALWAYS AS (CAST(k AS TINYINT))",
        "(k) VALUES (1)",
        "(k) VALUES (128)",
    ),
    "columns": ("k INT", "VALUES (1)", "VALUES (1, 2)"),
}

PARAMETERS: dict[str, tuple[str, str, list[tuple[str | None, str]], list[tuple[str | None, str]]]] = {
    "integers": (
        "a TINYINT, b INT, c BIGINT, n DECIMAL(9, 2)",
        "VALUES (?, ?, ?, ?)",
        [("1", "TINYINT"), ("2", "INT"), ("3", "BIGINT"), ("4", "SMALLINT")],
        [("-128", "TINYINT"), ("7", "INT"), ("9223372036854775807", "BIGINT"), ("12", "SMALLINT")],
    ),
    "numbers": (
        "f FLOAT, g DOUBLE, h DOUBLE",
        "VALUES (?, ?, ?)",
        [("1.5", "FLOAT"), ("1.5", "DOUBLE"), ("2.5", "FLOAT")],
        [("0.1", "FLOAT"), ("-1.5e-05", "DOUBLE"), ("1.000000059604644775390625", "FLOAT")],
    ),
    "others": (
        "s STRING, d DATE, e DATE, o BOOLEAN, p BOOLEAN",
        "VALUES (?, ?, ?, ?, ?)",
        [("a", "STRING"), ("2024-01-01", "DATE"), ("2024-01-01", "STRING"), ("false", "BOOLEAN"), (None, "BOOLEAN")],
        [
            ("it's \\ ?", "STRING"),
            ("2024-02-29", "DATE"),
            ("2024-2-9", "STRING"),
            ("TRUE", "BOOLEAN"),
            (None, "BOOLEAN"),
        ],
    ),
}


@pytest.fixture(autouse=True)
def _plain_rows_for_plans(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leaves plain rows, which need no evaluation, to the cached plans too."""
    monkeypatch.setattr(staged_files, "_PLAIN_ROWS_MAX", -1)


def insert(session: LakeSession, text: str, *parameters: Parameter) -> bool:
    """Runs an INSERT at a fixed time; returns if a cached plan was used."""
    request = StatementRequest(identity=Identity("ann"), now_ms=lambda: 1_700_000_000_000)
    session.execute(text, request, parameters).close()
    return "planCache" in request.profile.rules


def insert_all(session: LakeSession, name: str, texts: list[str]) -> list[bool]:
    return [insert(session, f"INSERT INTO {name} {text}") for text in texts]


def name_of(kind: str, case: str) -> str:
    return f"{kind}_{case.replace(' ', '_').replace('.', '_')}"


@pytest.mark.parametrize("case", WRITTEN)
def test_rows_of_a_cached_plan_have_the_files_and_log_of_a_job(session: LakeSession, lake: Path, case: str) -> None:
    columns, layout, primer, values = WRITTEN[case]
    ours, theirs = name_of("planned", case), name_of("planned_job", case)
    for name in (ours, theirs):
        run(session, f"CREATE TABLE {name} ({columns}) {layout}")
    texts = [primer, primer, values]
    assert insert_all(session, ours, texts) == [False, False, True]
    with jobs_alone():
        insert_all(session, theirs, texts)
    assert stored(lake, session, ours) == stored(lake, session, theirs)
    if case != "iceberg":
        assert logged(lake, ours) == logged(lake, theirs)


@pytest.mark.parametrize("case", NOT_PLANNED)
def test_unsuitable_rows_have_no_cached_plan(session: LakeSession, case: str) -> None:
    columns, layout, primer, values = NOT_PLANNED[case]
    name = name_of("unplanned", case)
    run(session, f"CREATE TABLE {name} ({columns}) {layout}")
    assert insert_all(session, name, [primer, primer, values]) == [False, False, False]
    assert rows(session, f"SELECT k FROM {name} ORDER BY k") == [(1,), (1,), (2,)]


@pytest.mark.parametrize("case", REFUSED)
def test_rows_of_a_cached_plan_fail_with_the_error_of_a_job(session: LakeSession, lake: Path, case: str) -> None:
    columns, primer, values = REFUSED[case]
    name = name_of("planned_refused", case)
    run(session, f"CREATE TABLE {name} ({columns})")
    assert insert_all(session, name, [primer, primer, primer]) == [False, False, True]
    ours = refuse(session, f"INSERT INTO {name} {values}")
    with jobs_alone():
        theirs = refuse(session, f"INSERT INTO {name} {values}")
    found = (type(ours), ours.condition, ours.sqlstate, str(ours))
    assert found == (type(theirs), theirs.condition, theirs.sqlstate, str(theirs))
    assert version_of(lake, name) == 3 and len(list((lake / "default" / name).glob("*.parquet"))) == 3


@pytest.mark.parametrize("by_name", [False, True])
@pytest.mark.parametrize("case", PARAMETERS)
def test_values_of_markers_have_the_files_of_a_job(session: LakeSession, lake: Path, case: str, by_name: bool) -> None:
    columns, text, primer, values = PARAMETERS[case]
    ours, theirs = (f"{name_of(kind, case)}_{by_name}" for kind in ("parameters", "parameters_job"))
    for name in (ours, theirs):
        run(session, f"CREATE TABLE {name} ({columns})")

    def insert_parameters(name: str, given: list[tuple[str | None, str]]) -> bool:
        parts = text.split("?")
        named = "".join(f"{part}:p{number}" for number, part in enumerate(parts[:-1])) + parts[-1]
        parameters = [
            Parameter(value=value, sql_type=kind, name=f"p{number}" if by_name else None)
            for number, (value, kind) in enumerate(given)
        ]
        return insert(session, f"INSERT INTO {name} {named if by_name else text}", *parameters)

    assert [insert_parameters(ours, given) for given in (primer, primer, values)] == [False, False, True]
    with jobs_alone():
        for given in (primer, primer, values):
            insert_parameters(theirs, given)
    assert stored(lake, session, ours) == stored(lake, session, theirs)
    assert logged(lake, ours) == logged(lake, theirs)


def test_settings_of_the_session_apply_to_cached_plans(session: LakeSession) -> None:
    run(session, "CREATE TABLE plan_settings (k INT, t TIMESTAMP)")
    values = "VALUES ('7', '2024-07-01 12:00:00')"
    run(session, "SET TIME ZONE 'UTC'")
    assert insert_all(session, "plan_settings", [values] * 3) == [False, False, True]
    run(session, "SET TIME ZONE 'Asia/Tokyo'")
    assert insert_all(session, "plan_settings", [values] * 3) == [False, False, True]
    run(session, "SET TIME ZONE 'UTC'")
    found = rows(session, "SELECT string(t), count(*) FROM plan_settings GROUP BY t ORDER BY t")
    assert found == [("2024-07-01 03:00:00", 3), ("2024-07-01 12:00:00", 3)]
    refuse(session, "INSERT INTO plan_settings VALUES ('x', NULL)")
    run(session, "SET spark.sql.storeAssignmentPolicy = LEGACY")
    assert insert_all(session, "plan_settings", ["VALUES ('x', '2024-07-01 12:00:00')"]) == [False]
    assert rows(session, "SELECT count(*) FROM plan_settings WHERE k IS NULL") == [(1,)]
    run(session, "RESET")
    run(session, "SET spark.gateway.optimizer.planCache.enabled = false")
    assert insert_all(session, "plan_settings", [values]) == [False]
    run(session, "RESET")


def test_changes_of_the_table_apply_to_cached_plans(session: LakeSession) -> None:
    run(session, f"CREATE TABLE plan_changes (k INT, s STRING DEFAULT 'a') {DEFAULTS}")
    assert insert_all(session, "plan_changes", ["(k) VALUES (1)"] * 3) == [False, False, True]
    run(session, "ALTER TABLE plan_changes ALTER COLUMN s SET DEFAULT 'b'")
    run(session, "INSERT INTO plan_changes (k) VALUES (2)")
    run(session, "ALTER TABLE plan_changes ADD CONSTRAINT small CHECK (k < 3)")
    refuse(session, "INSERT INTO plan_changes (k) VALUES (3)")
    run(session, "ALTER TABLE plan_changes ADD COLUMN n INT")
    run(session, "INSERT INTO plan_changes (k) VALUES (0)")
    found = rows(session, "SELECT k, s, n FROM plan_changes ORDER BY k")
    assert found == [(0, "b", None), (1, "a", None), (1, "a", None), (1, "a", None), (2, "b", None)]


# Literals by column type; a row of a table has one of each list, so that the types recur.
RANDOM = {
    "TINYINT": ("-128", "127", "0", "'12'"),
    "BIGINT": ("-9223372036854775808", "9223372036854775807", "7"),
    "DOUBLE": ("0", "-0.0", "1e-300", "0.1", "123456789012345678", "'NaN'", "'-Infinity'"),
    "FLOAT": ("0", "16777217", "0.1", "3.4e38"),
    "DECIMAL(12, 3)": ("1.2345", "-999999999.999", "0", "1.", ".001"),
    "DECIMAL(30, 5)": ("1.5", "-1234567890123456789", "12345678901234567890.12345"),
    "DATE": ("DATE'0001-12-31'", "date '2024-02-29'", "'2024-2-9'"),
    "TIMESTAMP": ("'1500-03-01'", "'2024-03-31 02:30:00'", "DATE'2024-10-27'"),
    "STRING": ("''", "'a'", "'ä/ =%'", f"'{'x' * 300}'", "1", "1.50", "true"),
    "BOOLEAN": ("true", "FALSE", "'t'"),
}


@pytest.mark.parametrize("seed", some(range(30), range(6)))
def test_random_rows_of_cached_plans_have_the_files_of_a_job(session: LakeSession, lake: Path, seed: int) -> None:
    random = Random(seed)
    kinds = [random.choice(list(RANDOM)) for _ in range(random.randrange(1, 5))]
    shape = [[random.choice(RANDOM[kind]) for kind in kinds] for _ in range(random.randrange(1, 4))]
    texts = [
        "VALUES "
        + ", ".join(f"({', '.join('NULL' if random.random() < 0.2 else text for text in row)})" for row in shape)
        for _ in range(6)
    ]
    ours, theirs = f"plan_random_{seed}", f"jobs_random_{seed}"  # of one length, for positions in errors
    for name in (ours, theirs):
        run(session, f"CREATE TABLE {name} ({', '.join(f'c{at} {kind}' for at, kind in enumerate(kinds))})")
    accepted = []
    for text in texts * 3:
        try:
            insert(session, f"INSERT INTO {ours} {text}")
            accepted.append(text)
        except SqlError as error:
            with jobs_alone():
                assert str(refuse(session, f"INSERT INTO {theirs} {text}")).replace(theirs, ours) == str(error)
    with jobs_alone():
        insert_all(session, theirs, accepted)
    assert stored(lake, session, ours) == stored(lake, session, theirs)
