"""CREATE TEMPORARY VIEW … USING: a path's files, under the rules for direct file reads."""

from __future__ import annotations

import json
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.orc as orc
import pyarrow.parquet as pq
import pytest

from engine.spark.session import SparkDriver
from tests.security.guarded_lake import GuardedLake
from tests.security.people import People


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("files")
    for name in ("csv", "json", "parquet", "orc", "elsewhere", "headless", "nested"):
        (folder / "landing" / name).mkdir(parents=True)
    landing = folder / "landing"
    (landing / "csv" / "a.csv").write_text("a,b\n1,x\n2,y\n")
    (landing / "headless" / "a.csv").write_text("1;x\n")
    (landing / "json" / "a.json").write_text(json.dumps({"a": 1, "b": "x"}) + "\n")
    pq.write_table(pa.table({"a": [1, 2], "b": ["x", "y"]}), landing / "parquet" / "a.parquet")
    orc.write_table(pa.table({"a": [1, 2], "b": ["x", "y"]}), landing / "orc" / "a.orc")
    (landing / "nested" / "deeper").mkdir()
    (landing / "nested" / "a.csv").write_text("a\n1\n")
    (landing / "nested" / "deeper" / "b.csv").write_text("a\n2\n")
    (folder / "outside").mkdir()
    (folder / "outside" / "a.csv").write_text("a\nsecret\n")
    return folder


@pytest.fixture(scope="module")
def people(files: Path, tmp_path_factory: pytest.TempPathFactory, spark_driver: SparkDriver) -> Iterator[People]:
    folder = tmp_path_factory.mktemp("views") / "lake"
    folder.mkdir()
    lake = GuardedLake(folder, allowed=(str(files / "landing"),))
    lake.table("shop/t")
    found = People(lake, spark_driver)
    for text in (
        f"CREATE EXTERNAL LOCATION landing URL '{files}/landing'",
        "GRANT READ FILES ON EXTERNAL LOCATION landing TO ann",
        "GRANT USE CATALOG ON CATALOG TO `account users`",
        "GRANT USE SCHEMA, SELECT ON SCHEMA shop TO ann",
    ):
        found.rows("root", text)
    yield found
    found.close()


READ = [
    ("csv", "csv", ", header 'true'", [("1", "x"), ("2", "y")]),
    ("csv", "csv/a.csv", ", header 'true', inferSchema 'true'", [(1, "x"), (2, "y")]),
    ("csv", "headless", ", sep ';'", [("1", "x")]),
    ("json", "json", "", [(1, "x")]),
    ("parquet", "parquet", "", [(1, "x"), (2, "y")]),
    ("orc", "orc", "", [(1, "x"), (2, "y")]),
    ("csv", "nested", ", header 'true'", [("1",)]),
    ("csv", "nested", ", header 'true', recursiveFileLookup 'true'", [("1",), ("2",)]),
]


@pytest.mark.parametrize(("kind", "path", "options", "expected"), READ)
def test_files_are_read(
    people: People, files: Path, kind: str, path: str, options: str, expected: list[tuple[object, ...]]
) -> None:
    create = f"VIEW v USING {kind} OPTIONS (path '{files}/landing/{path}'{options})"
    people.rows("ann", f"CREATE OR REPLACE TEMPORARY {create}")
    assert sorted(people.rows("ann", "SELECT * FROM v")) == expected
    assert people.rows("ann", "SELECT count(*) FROM session.v") == [(len(expected),)]
    people.rows("ann", f"CREATE OR REPLACE GLOBAL TEMPORARY {create}")
    assert sorted(people.rows("ann", "SELECT * FROM global_temp.v")) == expected
    people.rows("ann", "DROP VIEW global_temp.v")


def test_files_that_come_later_are_read_with_the_columns_of_the_view(people: People, files: Path) -> None:
    folder = files / "landing" / "growing"
    folder.mkdir()
    (folder / "a.csv").write_text("a,b\n1,x\n")
    people.rows("ann", f"CREATE TEMPORARY VIEW grows USING csv OPTIONS (path '{folder}', header 'true')")
    (folder / "b.csv").write_text("a,b\n2,y\n")
    assert people.rows("ann", "SELECT b, a FROM grows ORDER BY a") == [("x", "1"), ("y", "2")]
    people.rows("ann", "CREATE OR REPLACE TEMPORARY VIEW upon AS SELECT count(*) AS n FROM grows, shop.t")
    assert people.rows("ann", "SELECT n FROM upon") == [(4,)]
    ((text,),) = people.rows("ann", "SHOW CREATE TABLE grows")
    assert "USING csv OPTIONS" in text and str(folder) in text
    people.rows("ann", "DROP VIEW grows")
    people.rows("ann", text.strip())
    assert people.rows("ann", "SELECT count(*) FROM grows") == [(2,)]


def test_declared_columns_are_read_instead_of_inferred_ones(people: People, files: Path) -> None:
    columns = "(`the n` DECIMAL(3, 1) NOT NULL COMMENT 'it''s', t STRING)"
    create = f"VIEW typed {columns} USING csv OPTIONS (path '{files}/landing/headless', sep ';')"
    people.rows("ann", f"CREATE OR REPLACE GLOBAL TEMPORARY {create}")
    assert people.rows("ann", "SELECT `the n`, t FROM global_temp.typed") == [(ONE, "x")]
    people.rows("ann", "DROP VIEW global_temp.typed")
    people.rows("ann", f"CREATE TEMPORARY {create}")
    described = people.rows("ann", "DESCRIBE typed")
    assert described == [("the n", "decimal(3,1)", "it's"), ("t", "string", None)]
    ((text,),) = people.rows("ann", "SHOW CREATE TABLE typed")
    people.rows("ann", "DROP VIEW typed")
    people.rows("ann", text.strip())
    assert people.rows("ann", "SELECT `the n` + 1 FROM typed WHERE t = 'x'") == [(ONE + 1,)]
    assert people.rows("ann", "DESCRIBE typed") == described


@pytest.mark.parametrize("kind", ["parquet", "json", "orc"])
def test_declared_columns_of_files_with_names(people: People, files: Path, kind: str) -> None:
    create = f"TEMPORARY VIEW named (b STRING, gone INT) USING {kind} OPTIONS (path '{files}/landing/{kind}')"
    people.rows("ann", f"CREATE OR REPLACE {create}")
    assert ("x", None) in people.rows("ann", "SELECT * FROM named")


@pytest.mark.parametrize(
    ("columns", "condition"),
    [
        ("a INT, A STRING", "COLUMN_ALREADY_EXISTS"),
        ("a INT, b", "PARSE_SYNTAX_ERROR"),
        ("a FLAOT", "PARSE_SYNTAX_ERROR"),
    ],
)
def test_columns_that_files_cannot_have_are_rejected(people: People, files: Path, columns: str, condition: str) -> None:
    text = f"CREATE TEMPORARY VIEW wrong ({columns}) USING csv OPTIONS (path '{files}/landing/csv')"
    assert people.refuse("ann", text).condition == condition


def test_rights_are_those_on_the_external_location(people: People, files: Path) -> None:
    text = f"TEMPORARY VIEW w USING csv OPTIONS (path '{files}/landing/csv', header 'true')"
    assert people.refuse("eve", f"CREATE {text}").sqlstate == "42501"
    people.rows("root", "GRANT READ FILES ON EXTERNAL LOCATION landing TO eve")
    people.rows("eve", f"CREATE {text}")
    assert people.rows("eve", "SELECT count(*) FROM w") == [(2,)]
    people.rows("root", "REVOKE READ FILES ON EXTERNAL LOCATION landing FROM eve")
    assert people.refuse("eve", "SELECT count(*) FROM w").sqlstate == "42501"


def test_paths_outside_and_of_tables_are_rejected(people: People, files: Path) -> None:
    ((table,),) = people.rows("root", "SELECT storage_path FROM information_schema.tables WHERE table_name = 't'")
    for path in (f"{files}/outside", "/etc/passwd", f"{files}/landing/../outside", table):
        for who in ("ann", "root"):
            error = people.refuse(who, f"CREATE TEMPORARY VIEW x USING csv OPTIONS (path '{path}')")
            assert error.sqlstate == "42501", (path, error)
    people.rows("ann", f"CREATE TEMPORARY VIEW x USING csv OPTIONS (path '{files}/landing/csv')")


ONE = Decimal("1.0")

CALLS = [
    ("'{landing}/csv', format => 'csv', header => true", [(1, "x"), (2, "y")]),
    ("'{landing}/csv/a.csv', header => 'true', inferColumnTypes => false", [("1", "x"), ("2", "y")]),
    ("path => '{landing}/csv', format => 'CSV', header => true, schema => 'a BIGINT, b STRING'", [(1, "x"), (2, "y")]),
    (
        "'{landing}/headless', format => 'csv', sep => ';', schema => 'n DECIMAL(3,1), t STRING'",
        [(Decimal("1.0"), "x")],
    ),
    ("'{landing}/json', format => 'json'", [(1, "x")]),
    ("'{landing}/parquet', format => 'parquet'", [(1, "x"), (2, "y")]),
    ("'{landing}/orc/a.orc'", [(1, "x"), (2, "y")]),
    ("'{landing}/json', format => 'text'", [('{"a": 1, "b": "x"}',)]),
    ("'{landing}/csv/a.csv', format => 'text', wholeText => true", [("a,b\n1,x\n2,y\n",)]),
    ("'{landing}/nested', format => 'csv', header => true, recursiveFileLookup => true", [(1,), (2,)]),
]


@pytest.mark.parametrize(("arguments", "expected"), CALLS, ids=[each for each, _ in CALLS])
def test_read_files_reads_what_copy_into_reads(
    people: People, files: Path, arguments: str, expected: list[tuple[object, ...]]
) -> None:
    call = f"read_files({arguments.format(landing=files / 'landing')})"
    assert sorted(people.rows("ann", f"SELECT * FROM {call}")) == expected
    assert people.rows("ann", f"SELECT count(*) FROM {call} AS f JOIN shop.t ON true") == [(2 * len(expected),)]
    assert people.refuse("eve", f"SELECT * FROM {call}").sqlstate == "42501"


NOT_READ = [
    ("'{outside}', format => 'csv'", "PATH_NOT_ALLOWED"),
    ("'/etc/passwd', format => 'csv'", "PATH_NOT_ALLOWED"),
    ("'{landing}/../outside', format => 'csv'", "PATH_NOT_ALLOWED"),
    ("'{landing}/csv'", "UNSUPPORTED_CLAUSE"),
    ("'{landing}/csv', format => 'avro'", "UNSUPPORTED_CLAUSE"),
    ("'/etc/passwd', format => 'text'", "PATH_NOT_ALLOWED"),
    ("'{landing}/csv', format => 'text', header => true", "COPY_INTO_OPTION_NOT_SUPPORTED"),
    ("'{landing}/csv', 'csv'", "UNSUPPORTED_CLAUSE"),
    ("'{landing}/csv', format => 'csv', path => 'x'", "UNSUPPORTED_CLAUSE"),
    ("'{landing}/csv', format => 'csv', reader => 'x'", "COPY_INTO_OPTION_NOT_SUPPORTED"),
    ("format => 'csv'", "INCORRECT_NUMBER_OF_ARGUMENTS"),
    ("concat('{landing}', '/csv'), format => 'csv'", "PARSE_SYNTAX_ERROR"),
    ("'{landing}/none', format => 'csv'", "PATH_NOT_FOUND"),
]


@pytest.mark.parametrize(("arguments", "condition"), NOT_READ, ids=[each for each, _ in NOT_READ])
def test_read_files_is_rejected_elsewhere(people: People, files: Path, arguments: str, condition: str) -> None:
    text = arguments.format(landing=files / "landing", outside=files / "outside")
    for who in ("ann", "root"):
        assert people.refuse(who, f"SELECT * FROM read_files({text})").condition.startswith(condition)


def test_view_of_files_is_read_as_its_owner_and_hides_what_it_leaves_out(people: People, files: Path) -> None:
    people.rows("root", "GRANT CREATE TABLE ON SCHEMA shop TO ann")
    people.rows("root", "GRANT USE SCHEMA ON SCHEMA shop TO eve")
    call = f"read_files('{files}/landing/csv', format => 'csv', header => true, schema => 'a INT, b STRING')"
    people.rows("ann", f"CREATE OR REPLACE VIEW shop.loaded AS SELECT DISTINCT a, b FROM {call} JOIN shop.t ON a = id")
    assert people.refuse("eve", "SELECT * FROM shop.loaded").sqlstate == "42P01"
    people.rows("ann", "GRANT SELECT ON shop.loaded TO eve")
    assert people.rows("eve", "SELECT * FROM shop.loaded WHERE 1 / (a - 2) < 9") == [(1, "x")]
    assert people.refuse("ann", "SELECT * FROM shop.loaded WHERE 1 / (a - 2) < 9").condition == "DIVIDE_BY_ZERO"
    people.rows("root", "REVOKE READ FILES ON EXTERNAL LOCATION landing FROM ann")
    assert people.refuse("eve", "SELECT * FROM shop.loaded").sqlstate == "42501"
    people.rows("root", "GRANT READ FILES ON EXTERNAL LOCATION landing TO ann")


def test_orc_files_are_copied_into_a_table(people: People, files: Path) -> None:
    people.rows("root", "CREATE TABLE shop.copied (a BIGINT, b STRING)")
    people.rows("root", f"COPY INTO shop.copied FROM '{files}/landing/orc' FILEFORMAT = ORC")
    assert sorted(people.rows("root", "SELECT * FROM shop.copied")) == [(1, "x"), (2, "y")]


def test_the_schema_that_a_parquet_file_names_runs_no_code(files: Path, people: People) -> None:
    """Spark has its schema in a file's metadata: it would load a class, and evaluate a default value."""
    vector = {"type": "udt", "class": "org.apache.spark.mllib.linalg.VectorUDT", "pyClass": None, "sqlType": "long"}
    named = [("a", vector, {}), ("b", "string", {"comment": "x"}), ("c", "string", {"EXISTS_DEFAULT": "upper('x')"})]
    columns = [{"name": name, "type": type_, "nullable": True, "metadata": given} for name, type_, given in named]
    schema = json.dumps({"type": "struct", "fields": columns})
    rows = pa.table({"a": [1], "b": ["x"]})
    for folder, text in (("named", schema), ("malformed", '{"type":"struct","fields":[{"name":"a"}]}')):
        (files / "landing" / folder).mkdir()
        written = rows.replace_schema_metadata({"org.apache.spark.sql.parquet.row.metadata": text})
        pq.write_table(written, files / "landing" / folder / "a.parquet")
    read = "SELECT * FROM read_files('{}/landing/{}', format => 'parquet')"
    assert people.rows("root", read.format(files, "named")) == [(1, "x", None)]
    assert people.rows("root", read.format(files, "malformed")) == [(1, "x")]


def test_columns_of_all_parquet_files_are_merged(files: Path, people: People) -> None:
    merged = files / "landing" / "merged"
    merged.mkdir()
    pq.write_table(pa.table({"a": [1]}), merged / "1.parquet")
    pq.write_table(pa.table({"a": [2], "b": ["x"]}), merged / "2.parquet")
    read = f"SELECT * FROM read_files('{merged}', format => 'parquet') ORDER BY a"
    assert people.rows("root", read) == [(1, None), (2, "x")]
