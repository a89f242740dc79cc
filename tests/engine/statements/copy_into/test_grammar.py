"""COPY INTO, CONVERT and CLONE as text."""

from __future__ import annotations

import pytest

from catalog.errors import SqlError
from engine.sql.query.values import AsOfVersion
from engine.statements.copy_into.binding import glob
from engine.statements.copy_into.statement import CopyInto, Validation
from engine.statements.create_table.statement import CloneTable, ConvertTable, CreateMode
from engine.statements.parse import parse
from engine.tables.scan import FileFormat, FileKind

GLOBS = [
    ("*.csv", ["a.csv", ".csv"], ["a/b.csv", "a.csvx"]),
    ("d/f_[a-c].json", ["d/f_b.json"], ["d/f_d.json"]),
    ("[^a]?", ["b1"], ["a1", "b", "b/"]),
    ("{a,b*}.x", ["a.x", "bcd.x"], ["c.x", "a,b.x"]),
    ("a,b", ["a,b"], ["a"]),
    ("a\\*b+(c)", ["a*b+(c)"], ["aab+(c)"]),
    ("20{24,25}/*/{x,[yz]}", ["2024/01/y", "2025/m/x"], ["2026/01/x", "2024/01/02/x"]),
    ("[]x]", ["]", "x"], [""]),
]


@pytest.mark.parametrize(("pattern", "matching", "other"), GLOBS)
def test_globs(pattern: str, matching: list[str], other: list[str]) -> None:
    matches = glob(pattern)
    assert [path for path in (*matching, *other) if matches(path)] == matching


@pytest.mark.parametrize("pattern", ["[a", "{a", "a}", "[z-a]"])
def test_globs_that_mean_nothing(pattern: str) -> None:
    with pytest.raises(SqlError) as refused:
        glob(pattern)
    assert refused.value.condition == "COPY_INTO_PATTERN_NOT_VALID"


def copied(text: str) -> CopyInto:
    statement = parse(text)
    assert isinstance(statement, CopyInto)
    return statement


def test_copy_into_with_all_clauses() -> None:
    found = copied(
        "COPY INTO s.t (a, `b c`) FROM (SELECT upper(x) AS a, 'from ''x''' FROM '/in/a b' WHERE x > 1) "
        "FILEFORMAT = CSV VALIDATE 10 ROWS FILES = ('1.csv', '2.csv') "
        "FORMAT_OPTIONS ('header' = 'true', 'sep' = ';', 'recursiveFileLookup' = 'true') "
        "COPY_OPTIONS ('mergeSchema' = 'true', 'force' = 'true')"
    )
    assert (found.table_parts, found.columns, found.path) == (("s", "t"), ("a", "b c"), "/in/a b")
    assert found.source.text == "SELECT upper(x) AS a, 'from ''x''' FROM `the copied files` WHERE x > 1"
    assert found.format == FileFormat(kind=FileKind.CSV, options=(("header", "true"), ("sep", ";")))
    assert (found.files, found.validation) == (("1.csv", "2.csv"), Validation(rows=10))
    assert found.recursive and found.merges_schema and found.force and not found.insert.by_name


def test_copy_into_of_json_as_dlt_writes_it() -> None:
    text = "COPY INTO t FROM '/in' FILEFORMAT = JSON FORMAT_OPTIONS ('inferTimestamp' = 'true')"
    assert copied(text).format == FileFormat(kind=FileKind.JSON, options=(("inferTimestamp", "true"),))


def test_copy_into_in_its_shortest_form() -> None:
    found = copied("COPY INTO t FROM '/in' FILEFORMAT = parquet PATTERN = '*.parquet'")
    assert found.is_whole and found.insert.by_name and found.pattern == "*.parquet" and found.validation is None
    assert not copied("copy into t by position from '/in' fileformat = csv validate all").insert.by_name


CONVERTED = [
    ("CONVERT TO DELTA parquet.`/a b/c`", "/a b/c", True, []),
    ("CONVERT TO DELTA parquet.`/a` NO STATISTICS PARTITIONED BY (x INT, y DATE)", "/a", False, ["x", "y"]),
    ("CONVERT TO DELTA s.t", None, True, []),
    ("CONVERT TO DELTA delta.`/a`", None, True, []),
]


@pytest.mark.parametrize(("text", "path", "has_statistics", "partitioned_by"), CONVERTED)
def test_convert(text: str, path: str | None, has_statistics: bool, partitioned_by: list[str]) -> None:
    found = parse(text)
    assert isinstance(found, ConvertTable)
    assert (found.path, found.has_statistics) == (path, has_statistics)
    assert [column.parts[0] for column in found.partitioned_by] == partitioned_by


def test_clones() -> None:
    found = parse("CREATE OR REPLACE TABLE a.t SHALLOW CLONE delta.`/s@v3` TBLPROPERTIES (a = 1) LOCATION '/x'")
    assert isinstance(found, CloneTable)
    assert (found.mode, found.source_parts, found.time_travel, found.shallow) == (
        CreateMode.CREATE_OR_REPLACE,
        ("delta", "/s"),
        AsOfVersion(3),
        True,
    )
    assert (found.properties, found.location) == ((("a", "1"),), "/x")
    for clause in ("VERSION AS OF 3", "FOR VERSION AS OF '3'", "FOR SYSTEM_VERSION AS OF 3", "@v3"):
        deep = parse(f"CREATE TABLE t CLONE s {clause}")
        assert isinstance(deep, CloneTable) and deep.time_travel == AsOfVersion(3) and not deep.shallow


REFUSED = [
    ("COPY INTO t FROM '/in' FILEFORMAT = AVRO", "UNSUPPORTED_CLAUSE"),
    ("COPY INTO t FROM '/in' WITH (CREDENTIAL x) FILEFORMAT = CSV", "UNSUPPORTED_CLAUSE"),
    ("COPY INTO t FROM '/in' FILEFORMAT = CSV FORMAT_OPTIONS ('path' = '/etc')", "COPY_INTO_OPTION_NOT_SUPPORTED"),
    ("COPY INTO t FROM '/in' FILEFORMAT = JSON FORMAT_OPTIONS ('header' = 'true')", "COPY_INTO_OPTION_NOT_SUPPORTED"),
    ("COPY INTO t FROM '/in' FILEFORMAT = CSV COPY_OPTIONS ('purge' = 'true')", "COPY_INTO_OPTION_NOT_SUPPORTED"),
    ("COPY INTO t BY POSITION FROM '/in' FILEFORMAT = JSON", "UNSUPPORTED_CLAUSE"),
    ("COPY INTO t FROM (SELECT * FROM other) FILEFORMAT = CSV", "PARSE_SYNTAX_ERROR"),
    ("COPY INTO t FROM (SELECT * FROM '/in', other) FILEFORMAT = CSV", "UNSUPPORTED_CLAUSE"),
    ("COPY INTO t FROM (SELECT (SELECT max(a) FROM u) FROM '/in') FILEFORMAT = CSV", "UNSUPPORTED_CLAUSE"),
    ("COPY INTO t FROM '/in'", "PARSE_SYNTAX_ERROR"),
    ("CONVERT TO DELTA parquet.`/a` PARTITIONED BY (x)", "PARSE_SYNTAX_ERROR"),
    ("CREATE TABLE t SHALLOW CLONE s@x", "INVALID_TIME_TRAVEL_SPEC"),
]


@pytest.mark.parametrize(("text", "condition"), REFUSED)
def test_refusals(text: str, condition: str) -> None:
    with pytest.raises(SqlError) as refused:
        parse(text)
    assert refused.value.condition == condition
