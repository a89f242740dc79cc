"""`delta-gateway check-sql`: statements of files, folders and logs, with and without a lake."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from engine.main import EngineOptions, open_sources
from engine.sample.lake import ensure_sample_lake
from engine.statement_checks import StatementChecker, Verdict
from gateway.__main__ import main


@pytest.mark.parametrize(
    ("text", "verdict", "part"),
    [
        ("SELECT a FROM t WHERE b = :x", Verdict.RUNS, ""),
        ("BEGIN DECLARE x INT; SET x = 1; SELECT x; END", Verdict.RUNS, ""),
        ("MERGE INTO t USING s ON t.a = s.a WHEN NOT MATCHED THEN INSERT *", Verdict.RUNS, ""),
        ("SET spark.sql.shuffle.partitions = 9", Verdict.RUNS, ""),
        ("SET spark.sql.nothing = 9", Verdict.REFUSED, "SET -v lists the settings"),
        ("SET spark.sql.shuffle.partitions = many", Verdict.REFUSED, "many"),
        ("CACHE TABLE t", Verdict.REFUSED, "results and hot columns are cached automatically"),
        ("CREATE TABLE t (a INT) STORED AS ORC", Verdict.REFUSED, "leave it out"),
        ("SELECT java_method('a', 'b')", Verdict.REFUSED, "calls any method"),
        ("SELECT {{ column }} FROM t", Verdict.REFUSED, "target/compiled"),
        ("SELECT my_udf(a) FROM t", Verdict.DEPENDS, "CREATE FUNCTION"),
        ("SELEKT 1", Verdict.REFUSED, "did you mean SELECT"),
    ],
)
def test_statement_runs_or_the_alternative_is_named(text: str, verdict: Verdict, part: str) -> None:
    check = StatementChecker().check(text)
    assert check.verdict is verdict and part in f"{check.reason} {check.hint}"


def test_function_whose_creation_is_refused_does_not_exist() -> None:
    checker = StatementChecker()
    assert checker.check("CREATE TEMPORARY FUNCTION f AS 'com.example.F'").verdict is Verdict.REFUSED
    assert checker.check("SELECT f(a) FROM t").verdict is Verdict.DEPENDS


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("checked") / "lake"
    ensure_sample_lake(str(folder))
    return folder


def test_names_are_looked_up_in_the_lake_and_among_earlier_statements(lake: Path) -> None:
    checker = StatementChecker(open_sources(EngineOptions(lake_folder=str(lake))))
    expected = {
        "SELECT * FROM weather": Verdict.RUNS,
        "SELECT * FROM nothing": Verdict.MISSING,
        "CREATE TABLE nothing (a INT)": Verdict.RUNS,
        "INSERT INTO nothing VALUES (1)": Verdict.RUNS,
        "SELECT * FROM orders": Verdict.MISSING,
        "USE shop": Verdict.RUNS,
        "SELECT o.* FROM orders AS o": Verdict.RUNS,
        "SELECT * FROM orders TIMESTAMP AS OF current_timestamp()": Verdict.RUNS,
        "USE nowhere": Verdict.MISSING,
        "CREATE SCHEMA made": Verdict.RUNS,
        "USE made": Verdict.RUNS,
        "SELECT * FROM orders -- no longer in shop": Verdict.MISSING,
        "CREATE FUNCTION own(x INT) RETURN x": Verdict.RUNS,
        "SELECT own(1)": Verdict.RUNS,
    }
    assert {text: checker.check(text).verdict for text in expected} == expected


def test_files_of_a_folder_are_reported_by_line(tmp_path: Path, capsys: pytest.CaptureFixture[str], lake: Path) -> None:
    (tmp_path / "jobs").mkdir()
    (tmp_path / "jobs" / "a.sql").write_text("SELECT 1;\n\nCACHE TABLE t;\nSELECT 2,\n  FROM t;\n")
    (tmp_path / "b.sql").write_text("SELECT * FROM weather;\n")
    (tmp_path / "c.txt").write_text("no SQL")
    assert main(["check-sql", str(tmp_path), "--lake", str(lake)]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"{tmp_path}/jobs/a.sql:3: refused: CACHE TABLE t"
    assert lines[1].strip() == "CACHE TABLE is not supported by this gateway."
    assert lines[-1].startswith("4 statements: ") and "2 runs" in lines[-1]
    assert main(["check-sql", str(tmp_path / "b.sql"), "--all"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        f"{tmp_path}/b.sql:1: runs: SELECT * FROM weather",
        "1 statement: 1 runs",
    ]


def test_equal_statements_of_a_log_are_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "history.jsonl.gz"
    entries = [{"statement_text": "SELECT 1"}, {"other": 1}, {"query": "CACHE TABLE t;"}, {"query": "CACHE TABLE t"}]
    log.write_bytes(gzip.compress("\n".join(map(json.dumps, entries)).encode()))
    assert main(["check-sql", str(log), "--format", "json"]) == 1
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(each["verdict"], each["line"], each["count"]) for each in found] == [("runs", 1, 1), ("refused", 3, 2)]
    assert found[1]["condition"] == "UNSUPPORTED_STATEMENT" and found[1]["instead"].startswith("Not needed")


def test_file_that_cannot_be_read_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check-sql", str(tmp_path / "none.sql")]) == 2
    assert "none.sql cannot be read" in capsys.readouterr().err
