"""Literal rows written without Spark have the same cells, schema, statistics and log as with Spark."""

from __future__ import annotations

import errno
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any
from urllib.parse import unquote, urlsplit

import pyarrow.parquet as pq
import pytest

from catalog.conditions import LogWriteFailed
from catalog.errors import SqlError
from engine.main import LakeSession
from engine.runtime.identity import Identity
from engine.runtime.parameters import Parameter
from engine.runtime.request import StatementRequest
from engine.storage.storage import LocalStorage
from tests.engine.lake_sessions import actions, refuse, rows, run, table, version_of
from tests.engine.test_literal_rows import same_names
from tests.samples import some

pytestmark = pytest.mark.spark

HERE, SPARK = "parquet-cpp-arrow", "parquet-mr"
KINDS = "a TINYINT, b SMALLINT, c INT, d BIGINT, f FLOAT, g DOUBLE, n DECIMAL(9, 2), m DECIMAL(18, 0)"
KINDS += ", l DECIMAL(38, 10), s STRING, t DATE, o BOOLEAN"
FIRST = "-128, -32768, -2147483648, -9223372036854775807, -16777216, -0.5, -1234567.89, 999999999999999999"
FIRST += ", -0.0000000001, '', DATE'1900-01-01', FALSE"
LAST = "127, 32767, 2147483647, 9223372036854775807, 16777216, 1234567.8901234, 7, 0, 12345678901234567"
LAST += f", '{'z' * 256}', DATE'9999-12-31', TRUE"
NULLS = ", ".join(["NULL"] * 12)

# Columns, the clauses after them, the text after the table's name in INSERT.
WRITTEN = {
    "one row": (KINDS, "", f"VALUES ({FIRST})"),
    "all kinds": (KINDS, "", f"VALUES ({FIRST}), ({NULLS}), ({LAST})"),
    "nulls alone": (KINDS, "", f"VALUES ({NULLS})"),
    "numbers as doubles": ("g DOUBLE", "", "VALUES (1), (2.5), (NULL), (-0.25), (9)"),
    "exponents": ("g DOUBLE", "", "VALUES (1e300), (-2.5E-3), (NULL)"),
    "decimals": ("n DECIMAL(5, 2)", "", "VALUES (999.99), (-1), (0.1), (1.50)"),
    "texts of dates": ("d DATE, s STRING", "", "VALUES ('2024-02-29', '2024-02-29'), (NULL, ''), ('1900-01-01', 'x')"),
    "many rows": (
        "k BIGINT, s STRING, g DOUBLE, d DATE, o BOOLEAN",
        "",
        "VALUES " + ", ".join(f"({k}, 'name {k}', {k + 1}.5, '2024-01-{k % 28 + 1:02}', NULL)" for k in range(10_000)),
    ),
    "texts": ("s STRING", "", "VALUES ('ünï\U0001f600'), ('a\nb'), ('\"'), (' ')"),
    "equal values": ("k INT, s STRING", "", "VALUES " + ", ".join(["(7, 'same')"] * 50)),
    "some columns": ("k INT, s STRING, d DATE", "", "(d, k) VALUES (DATE'2024-01-05', 1)"),
    "not null": ("k INT NOT NULL, s STRING NOT NULL, v INT", "", "VALUES (1, 'a', NULL), (2, 'b', 3)"),
    "mapped by name": (
        "k INT NOT NULL, s STRING",
        "TBLPROPERTIES ('delta.columnMapping.mode' = 'name')",
        "VALUES (1, 'a')",
    ),
    "mapped by id": ("k INT, s STRING", "TBLPROPERTIES ('delta.columnMapping.mode' = 'id')", "VALUES (1, NULL)"),
    "settings": (
        "a STRING, b STRING",
        "TBLPROPERTIES ('delta.dataSkippingStatsColumns' = 'b', 'delta.parquet.compression.codec' = 'zstd', "
        "'delta.enableRowTracking' = 'true', 'delta.enableChangeDataFeed' = 'true')",
        "VALUES ('x', 'y')",
    ),
    "clustered": ("k INT, s STRING", "CLUSTER BY (s)", "VALUES (2, 'b'), (1, 'a')"),
    "overwritten": ("k INT", "", "VALUES (3)"),
    "iceberg": (
        KINDS.replace("TINYINT", "INT").replace("SMALLINT", "INT"),
        "USING iceberg",
        f"VALUES ({FIRST}), ({LAST})",
    ),
    "iceberg required": (
        "k INT NOT NULL, g DOUBLE",
        "USING iceberg TBLPROPERTIES ('format-version' = '3')",
        "VALUES (1, 1.5)",
    ),
}

# Likewise, for rows that only Spark can write.
LEFT = {
    "a wider type": ("k TINYINT", "", "VALUES (1), (NULL), (int('3'))"),
    "a cast": ("s STRING", "", "VALUES (1)"),
    "a rounded number": ("n DECIMAL(5, 1)", "", "VALUES (1.25)"),
    "a rounded float": ("f FLOAT", "", "VALUES (0.1)"),
    "many digits": ("g DOUBLE", "", "VALUES (1234567890.1234567)"),
    "a large number": ("g DOUBLE", "", "VALUES (9007199254740993)"),
    "a zero": ("g DOUBLE", "", "VALUES (0)"),
    "a decimal zero": ("g DOUBLE", "", "VALUES (-0.0)"),
    "a negative zero": ("g DOUBLE", "", "VALUES (-0e0)"),
    "several kinds": ("g DOUBLE", "", "VALUES (1e0), (1)"),
    "a long text": ("s STRING", "", f"VALUES ('{'é' * 129}')"),
    "a length": ("s VARCHAR(5)", "", "VALUES ('a')"),
    "a padded text": ("s CHAR(5)", "", "VALUES ('a')"),
    "an old date": ("d DATE", "", "VALUES (DATE'1582-10-15')"),
    "a time": ("t TIMESTAMP", "", "VALUES (NULL)"),
    "a list": ("l ARRAY<INT>", "", "VALUES (NULL)"),
    "a constraint": ("k INT, CONSTRAINT small CHECK (k < 10)", "", "VALUES (1)"),
    "a partition": ("k INT, p INT", "PARTITIONED BY (p)", "VALUES (1, 1)"),
    "a static partition": ("k INT, p INT", "PARTITIONED BY (p)", "PARTITION (p = NULL) VALUES (1)"),
    "a generated column": ("k INT, g INT GENERATED ALWAYS AS (k * 2)", "", "(k) VALUES (1)"),
    "an identity": ("id BIGINT GENERATED ALWAYS AS IDENTITY, k INT", "", "(k) VALUES (1)"),
    "a default": (
        "k INT, s STRING DEFAULT 'none'",
        "TBLPROPERTIES ('delta.feature.allowColumnDefaults' = 'supported')",
        "(k) VALUES (1)",
    ),
    "void": ("k INT, v VOID", "", "VALUES (1, NULL)"),
    "names": ("k INT, s STRING", "", "BY NAME SELECT 'x' AS s, 1 AS k"),
    "a transform": ("k INT", "USING iceberg PARTITIONED BY (bucket(4, k))", "VALUES (1)"),
    "another codec": ("k INT", "TBLPROPERTIES ('delta.parquet.compression.codec' = 'gzip')", "VALUES (1)"),
    "too many rows": ("k INT", "", "VALUES " + ", ".join(f"({number})" for number in range(20_001))),
    "another form of a date": ("d DATE", "", "VALUES ('2024-2-9')"),
    "blanks around a date": ("d DATE", "", "VALUES (' 2024-02-09 ')"),
}

# Columns, rows, and values with their types; the last is true if they need Spark.
GIVEN: dict[str, tuple[str, str, list[tuple[str | None, str]], bool]] = {
    "integers": (
        "a TINYINT, b INT, c BIGINT, n DECIMAL(9, 2)",
        "VALUES (?, ?, ?, ?)",
        [("-128", "TINYINT"), ("7", "INT"), ("9223372036854775807", "BIGINT"), ("12", "SMALLINT")],
        False,
    ),
    "numbers": ("g DOUBLE, h DOUBLE", "VALUES (?, ?)", [("0.1", "DOUBLE"), ("0.1", "FLOAT")], False),
    "an exponent": ("g DOUBLE", "VALUES (?)", [("-1.5e-05", "DOUBLE")], False),
    "others": (
        "s STRING, d DATE, e DATE, o BOOLEAN, p BOOLEAN",
        "VALUES (?, ?, ?, ?, ?)",
        [
            ("it's ?", "STRING"),
            ("2024-02-29", "DATE"),
            ("2024-02-29", "STRING"),
            ("true", "BOOLEAN"),
            (None, "BOOLEAN"),
        ],
        False,
    ),
    "rows": ("k INT, s STRING", "VALUES (?, 'x'), (?, ?)", [("1", "INT"), ("2", "INT"), (None, "STRING")], False),
    "between two floats": ("g DOUBLE", "VALUES (?)", [("1.000000059604644775390625", "FLOAT")], True),
    "a float for a float": ("f FLOAT", "VALUES (?)", [("0.1", "FLOAT")], True),
    "not a number": ("g DOUBLE", "VALUES (?)", [("NaN", "DOUBLE")], True),
    "a time": ("t TIMESTAMP", "VALUES (?)", [("2024-01-01 00:00:00", "TIMESTAMP")], True),
    "blanks": ("k INT", "VALUES (?)", [(" 1 ", "INT")], True),
    "a number for a text": ("s STRING", "VALUES (?)", [("1", "INT")], True),
}
GIVEN_WRONG: dict[str, tuple[str, str, list[tuple[str | None, str]]]] = {
    "out of range": ("k INT", "VALUES (?)", [("128", "TINYINT")]),
    "too large for the column": ("k TINYINT", "VALUES (?)", [("128", "INT")]),
    "no number": ("k INT", "VALUES (?)", [("x", "INT")]),
    "no date": ("d DATE", "VALUES (?)", [("2024-02-30", "DATE")]),
    "a value too few": ("k INT, l INT", "VALUES (?, ?)", [("1", "INT")]),
    "null": ("k INT NOT NULL", "VALUES (?)", [(None, "INT")]),
}

REFUSED = {
    "out of range": ("b TINYINT", "VALUES (128)"),
    "null": ("k INT NOT NULL, v INT", "VALUES (1, 1), (NULL, 2)"),
    "absent": ("k INT NOT NULL, v INT", "(v) VALUES (1)"),
    "digits": ("n DECIMAL(5, 2)", "VALUES (1000)"),
    "too many": ("k INT", "VALUES (1, 2)"),
    "too few": ("k INT, v INT", "VALUES (1)"),
    "a number for a date": ("d DATE", "VALUES (1)"),
    "a number for a boolean": ("o BOOLEAN", "VALUES (1, 2)"),
    "infinite": ("g DOUBLE", "VALUES (1e999)"),
    "frozen": ("k INT", "OVERWRITE"),
}


@contextmanager
def spark_alone() -> Iterator[None]:
    """Nothing is written but by Spark."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("engine.execution.writes.staged_files.write_plain_rows", lambda *_: None)
        yield


def files_of(session: LakeSession, name: str) -> list[Path]:
    listed = table(session, f"SELECT DISTINCT _metadata.file_path AS path FROM {name}").column("path").to_pylist()
    return [Path(unquote(urlsplit(url).path)) for url in listed]


def described(session: LakeSession, name: str) -> list[str]:
    """Returns the footer and the cells of a table's only file."""
    (path,) = files_of(session, name)
    footer, cells = pq.read_metadata(path), pq.read_table(path, partitioning=None)
    columns = str(footer.schema).partition("{")[2]  # after the schema's name, which has no meaning
    (group,) = [footer.row_group(number) for number in range(footer.num_row_groups)]
    chunks = [group.column(number) for number in range(group.num_columns)]
    found: list[Any] = [
        path.name.split("-c000")[1],
        columns,
        sorted(footer.metadata.items()),
        footer.num_rows,
        footer.format_version,
    ]
    for chunk in chunks:
        remaining = chunk.statistics
        bounds = (
            (remaining.has_min_max, remaining.min_raw, remaining.max_raw, remaining.null_count) if remaining else None
        )
        found += [chunk.path_in_schema, chunk.physical_type, chunk.compression, chunk.num_values, bounds]
        found += [chunk.has_column_index, chunk.has_offset_index]
    # Spark declares some columns as never null.
    texts = [str(part).replace('"nullable":false', '"nullable":true') for part in (*found, *cells.to_pylist())]
    return [same_names(text.replace("  required ", "  optional ")) for text in texts]


def logged(lake: Path, name: str) -> str:
    """Returns the INSERT's commit without the parts that always differ."""
    found = actions(lake, name, version_of(lake, name))
    for action in found:
        for each in (action.get("add"), action.get("remove"), action.get("commitInfo"), action.get("metaData")):
            for key in ("path", "size", "modificationTime", "deletionTimestamp", "timestamp", "txnId", "id"):
                (each or {}).pop(key, None)
            for key in ("inCommitTimestamp", "createdTime"):
                (each or {}).pop(key, None)
            ((each or {}).get("operationMetrics") or {}).pop("numOutputBytes", None)
            ((each or {}).get("operationMetrics") or {}).pop("numRemovedBytes", None)
    return same_names(json.dumps(found))


def write(session: LakeSession, name: str, case: str, shape: tuple[str, str, str]) -> None:
    columns, layout, values = shape
    request = StatementRequest(identity=Identity("ann"), now_ms=lambda: 1_700_000_000_000)
    run(session, f"CREATE TABLE {name} ({columns}) {layout}")
    word = "OVERWRITE" if case == "overwritten" else "INTO"
    session.execute(f"INSERT {word} {name} {values}", request).close()


def writer_of(session: LakeSession, name: str) -> str:
    (path,) = files_of(session, name)
    return str(pq.read_metadata(path).created_by).partition(" ")[0]


@pytest.mark.parametrize("case", WRITTEN)
def test_files_and_log_are_those_of_spark(session: LakeSession, lake: Path, case: str) -> None:
    here, there = (f"plain_{case.replace(' ', '_')}_{path}" for path in ("here", "spark"))
    write(session, here, case, WRITTEN[case])
    with spark_alone():
        write(session, there, case, WRITTEN[case])
    assert (writer_of(session, here), writer_of(session, there)) == (HERE, SPARK)
    for ours, theirs in zip(described(session, here), described(session, there), strict=True):
        assert ours == theirs
    assert rows(session, f"SELECT * FROM {here}") == rows(session, f"SELECT * FROM {there}")
    if "iceberg" not in case:
        assert logged(lake, here) == logged(lake, there)
        return
    metrics = (
        "record_count, value_counts, null_value_counts, nan_value_counts, lower_bounds, upper_bounds, sort_order_id"
    )
    of_here, of_there = (rows(session, f"SELECT {metrics} FROM {name}.files") for name in (here, there))
    assert of_here == of_there


@pytest.mark.parametrize("case", LEFT)
def test_everything_else_is_written_by_spark(session: LakeSession, case: str) -> None:
    name = f"left_{case.replace(' ', '_')}"
    write(session, name, case, LEFT[case])
    assert writer_of(session, name) == SPARK


def insert(session: LakeSession, name: str, values: str, given: list[tuple[str | None, str]], *, by_name: bool) -> None:
    """Inserts with `?` or named parameter markers."""
    named = iter(range(len(given)))
    text = re.sub(r"\?(?!')", lambda _: f":p{next(named)}", values) if by_name else values
    parameters = [
        Parameter(value=value, sql_type=kind, name=f"p{number}" if by_name else None)
        for number, (value, kind) in enumerate(given)
    ]
    request = StatementRequest(identity=Identity("ann"), now_ms=lambda: 1_700_000_000_000)
    session.execute(f"INSERT INTO {name} {text}", request, parameters).close()


@pytest.mark.parametrize("by_name", [False, True])
@pytest.mark.parametrize("case", GIVEN)
def test_values_of_markers_are_stored_as_by_spark(session: LakeSession, lake: Path, case: str, by_name: bool) -> None:
    columns, values, given, is_left = GIVEN[case]
    here, there = (f"given_{case.replace(' ', '_')}_{by_name}_{path}" for path in ("here", "spark"))
    for name in (here, there):
        run(session, f"CREATE TABLE {name} ({columns})")
    insert(session, here, values, given, by_name=by_name)
    with spark_alone():
        insert(session, there, values, given, by_name=by_name)
    assert (writer_of(session, here), writer_of(session, there)) == (SPARK if is_left else HERE, SPARK)
    assert str(rows(session, f"SELECT * FROM {here}")) == str(rows(session, f"SELECT * FROM {there}"))
    assert logged(lake, here) == logged(lake, there)
    if not is_left:
        for ours, theirs in zip(described(session, here), described(session, there), strict=True):
            assert ours == theirs


@pytest.mark.parametrize("case", GIVEN_WRONG)
def test_wrong_values_of_markers_are_refused_as_by_spark(session: LakeSession, lake: Path, case: str) -> None:
    columns, values, given = GIVEN_WRONG[case]
    name = f"given_wrong_{case.replace(' ', '_')}"
    run(session, f"CREATE TABLE {name} ({columns})")
    with pytest.raises(SqlError) as ours:
        insert(session, name, values, given, by_name=False)
    with spark_alone(), pytest.raises(SqlError) as theirs:
        insert(session, name, values, given, by_name=False)
    assert str(ours.value) == str(theirs.value) and version_of(lake, name) == 0


def test_settings_that_may_mean_something_leave_the_rows_to_spark(session: LakeSession) -> None:
    run(session, "CREATE TABLE set_apart (k INT)")
    run(session, "SET TIME ZONE 'Asia/Tokyo'")
    run(session, "INSERT OVERWRITE set_apart VALUES (1)")
    assert writer_of(session, "set_apart") == HERE
    run(session, "SET spark.sql.storeAssignmentPolicy = STRICT")
    run(session, "INSERT OVERWRITE set_apart VALUES (2)")
    assert writer_of(session, "set_apart") == SPARK
    run(session, "RESET")
    assert rows(session, "SELECT k FROM set_apart") == [(2,)]


@pytest.mark.parametrize("case", REFUSED)
def test_plain_rows_fail_with_the_error_of_spark(session: LakeSession, lake: Path, case: str) -> None:
    columns, values = REFUSED[case]
    name = f"plain_refused_{case.replace(' ', '_')}"
    frozen = "TBLPROPERTIES ('delta.appendOnly' = 'true')" if case == "frozen" else ""
    run(session, f"CREATE TABLE {name} ({columns}) {frozen}")
    text = f"INSERT OVERWRITE {name} VALUES (1)" if case == "frozen" else f"INSERT INTO {name} {values}"
    ours = refuse(session, text)
    with spark_alone():
        theirs = refuse(session, text)
    assert (type(ours), ours.condition, str(ours)) == (type(theirs), theirs.condition, str(theirs))
    assert version_of(lake, name) == 0 and not list((lake / "default" / name).glob("*.parquet"))


# Texts per type that a user may write, some of which only Spark handles.
RANDOM = {
    "TINYINT": ("-128", "127", "0", "-0"),
    "BIGINT": ("-9223372036854775808", "9223372036854775807", "7"),
    "DOUBLE": ("0", "-0.0", "1e-300", "0.1", "-1234567.25", "123456789012345678", "1E+2"),
    "FLOAT": ("0", "16777217", "0.25", "-3"),
    "DECIMAL(12, 3)": ("1.2345", "-999999999.999", "0", "1.", ".001", "7"),
    "DECIMAL(30, 5)": ("1.5", "-1234567890123456789", "123456789012345.12345"),
    "DATE": ("DATE'1899-12-31'", "DATE'1900-01-01'", "date '2024-02-29'"),
    "STRING": ("''", "'a'", "'ä/ =%'", f"'{'x' * 300}'", "'2024-01-01'", "'a''b'", "'\\\\t'"),
    "BOOLEAN": ("true", "FALSE"),
}


@pytest.mark.parametrize("seed", some(range(40), range(8)))
def test_random_rows_are_those_of_spark(session: LakeSession, lake: Path, seed: int) -> None:
    random = Random(seed)
    kinds = [random.choice(list(RANDOM)) for _ in range(random.randrange(1, 5))]
    columns = ", ".join(f"c{number} {kind}" for number, kind in enumerate(kinds))
    selected = [random.sample(RANDOM[kind], random.randrange(1, 3)) for kind in kinds]
    texts = [
        ", ".join("NULL" if random.random() < 0.2 else random.choice(values) for values in selected)
        for _ in range(random.randrange(1, 6))
    ]
    values = f"VALUES {', '.join(f'({text})' for text in texts)}"
    here, there = f"plain_random_{seed}_here", f"plain_random_{seed}_spark"
    write(session, here, "", (columns, "", values))
    with spark_alone():
        write(session, there, "", (columns, "", values))
    for ours, theirs in zip(described(session, here), described(session, there), strict=True):
        assert ours == theirs
    assert logged(lake, here) == logged(lake, there)


def full(*_: object, **__: object) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


def test_a_file_that_cannot_be_written_is_left_to_spark(session: LakeSession, monkeypatch: pytest.MonkeyPatch) -> None:
    run(session, "CREATE TABLE unwritable (k INT)")
    with monkeypatch.context() as patched:
        patched.setattr(LocalStorage, "write", full)
        run(session, "INSERT INTO unwritable VALUES (1)")
    assert writer_of(session, "unwritable") == SPARK and rows(session, "SELECT k FROM unwritable") == [(1,)]


def test_a_disk_that_is_full_at_the_commit_leaves_nothing(
    session: LakeSession, lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(session, "CREATE TABLE full_log (k INT)")
    with monkeypatch.context() as patched:
        patched.setattr(LocalStorage, "put_if_absent", full)
        error = refuse(session, "INSERT INTO full_log VALUES (1)")
    assert isinstance(error, LogWriteFailed)
    assert version_of(lake, "full_log") == 0 and not list((lake / "default" / "full_log").glob("*.parquet"))
    run(session, "INSERT INTO full_log VALUES (2)")
    assert rows(session, "SELECT k FROM full_log") == [(2,)]
