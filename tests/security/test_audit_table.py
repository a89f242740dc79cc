"""The audit log as a table: its readers, and its content."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from catalog.system.audit_table import AUDIT_COLUMNS, file_name
from engine.planning.reads.listed_pruning import ListedFilePruning
from engine.runtime.identity import Identity
from engine.spark.session import SparkDriver
from engine.statements.listings.statement import FindColumns
from gateway.audit.chain import ChainEnd, follow, format_line
from tests.security.guarded_lake import GuardedLake
from tests.security.people import People

NAMES = ("system.access.audit", "system.audit", "System.Access.AUDIT")
DAYS = ("2026-01-01", "2026-01-02", "2026-01-03")


@pytest.fixture(scope="module")
def log_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Creates a file with two lines for each of three days, and after the first day a truncated line."""
    folder, head = tmp_path_factory.mktemp("audit"), ChainEnd()
    for day in DAYS:
        with (folder / file_name(day)).open("wb") as file:
            for hour, outcome in (("01", "ok"), ("13", "denied")):
                time = f"{day}T{hour}:00:00.000+00:00"
                fields = {"time": time, "event": "statement.end", "outcome": outcome, "ms": 7, "principal": "ann"}
                line = format_line(head, {**fields, "text": f"DELETE '{day}'", "sqlstate": "42501"})
                head = follow(head, line)
                file.write(line + b"\n")
            if day == DAYS[0]:
                file.write(b'{"v":1,"seq":3,"time":"2026-01-01T14:00:00.000+00:00","event":"statem\n')
    return folder


def lake_with(log_folder: Path | None, folder: Path) -> GuardedLake:
    folder.mkdir()
    lake = GuardedLake(folder)
    lake.sources = replace(lake.sources, audit_folder=log_folder)
    return lake


@pytest.fixture
def lake(log_folder: Path, tmp_path: Path) -> GuardedLake:
    return lake_with(log_folder, tmp_path / "lake")


@pytest.mark.parametrize("name", NAMES)
def test_only_administrators_know_of_it(lake: GuardedLake, name: str) -> None:
    texts = (f"SELECT * FROM {name}", f"DESCRIBE {name}", f"CREATE TEMPORARY VIEW v AS SELECT seq FROM {name}")
    assert [lake.outcome("root", text) for text in texts] == ["R", "R", "R"]
    unknown = lake.outcome("ann", f"SELECT * FROM {name}s")
    assert [lake.outcome("ann", text) for text in texts] == [unknown] * 3 and unknown == "42P01"
    assert lake.outcome(Identity("ann"), texts[0]) == "R"  # privileges do not count there


def test_audit_table_is_listed_for_administrators(lake: GuardedLake) -> None:
    for who, names in (("root", ["audit"]), ("ann", [])):
        for text in ("SHOW TABLES IN system.access", "SHOW VIEWS IN system.access"):
            assert [row[1] for row in lake.rows(who, text) if not row[1].endswith("_lineage")] == names
    columns = FindColumns(catalog="system", schema_pattern="access", table_pattern="audit", column_pattern="%")
    assert not lake.rows("ann", columns)


def test_the_schema_is_reserved(lake: GuardedLake) -> None:
    for text in ("CREATE TABLE system.access.t (a INT)", "DROP VIEW system.access.audit", "DROP SCHEMA system.access"):
        assert lake.outcome("root", text) == "42809", text


def test_a_view_of_another_user_does_not_lead_to_it(lake: GuardedLake) -> None:
    lake.table("shop/t")
    lake.do("root", "GRANT USE CATALOG ON CATALOG TO eve", "GRANT USE SCHEMA, CREATE TABLE ON SCHEMA shop TO eve")
    outcomes = {
        lake.outcome("eve", f"CREATE VIEW shop.v AS SELECT seq FROM system.access.{t}") for t in ("audit", "no")
    }
    assert outcomes == {"42P01"}


def test_a_table_of_that_name_wins_over_the_short_name(lake: GuardedLake) -> None:
    lake.table("system/audit")
    assert "ssn" in [row[0] for row in lake.rows("root", "DESCRIBE system.audit")]


def test_audit_table_without_audit_log_is_an_error(tmp_path: Path) -> None:
    error = lake_with(None, tmp_path / "lake").error("root", "SELECT * FROM system.audit")
    assert error is not None and error.condition == "AUDIT_TRAIL_NOT_KEPT"


@pytest.fixture(scope="module")
def people(log_folder: Path, tmp_path_factory: pytest.TempPathFactory, spark_driver: SparkDriver) -> Iterator[People]:
    found = People(lake_with(log_folder, tmp_path_factory.mktemp("people") / "lake"), spark_driver)
    yield found
    found.close()


def test_a_line_is_a_row(people: People) -> None:
    table = people.table("root", "SELECT * FROM system.access.audit WHERE event_date = '2026-01-02' ORDER BY seq")
    assert table.column_names == list(AUDIT_COLUMNS)
    ok, denied = table.to_pylist()
    assert (ok["event_time"], denied["seq"]) == (dt.datetime(2026, 1, 2, 1, tzinfo=dt.UTC), 4)
    assert ok["action_name"] == "statement.end" and dict(ok["request_params"]) == {"statement": "DELETE '2026-01-02'"}
    assert ok["user_identity"] == {"email": "ann", "subject_name": None}
    assert denied["response"] == {"status_code": 403, "error_message": None, "result": "denied"}


@pytest.mark.parametrize(
    ("condition", "lines", "files"),
    [
        ("true", 6, 3),
        ("event_date = DATE'2026-01-03'", 2, 1),
        ("event_date < '2026-01-02'", 2, 1),
        ("event_time >= '2026-01-02T12:00:00Z'", 3, 2),
        ("event_time > '2026-01-03T00:00:00Z' AND outcome = 'ok'", 1, 1),
        ("event_time < '2026-01-01T12:00:00Z'", 1, 3),
        ("event_date > '2026-02-01'", 0, 0),
    ],
)
def test_a_day_that_cannot_match_is_not_read(
    people: People, monkeypatch: pytest.MonkeyPatch, condition: str, lines: int, files: int
) -> None:
    read: list[int] = []
    choose = ListedFilePruning.choose

    def watched(pruning: ListedFilePruning, *given: Any) -> Any:
        selected = choose(pruning, *given)
        read.append(selected.read.files)
        return selected

    monkeypatch.setattr(ListedFilePruning, "choose", watched)
    assert people.rows("root", "SET TIME ZONE 'Asia/Tokyo'") is not None
    assert people.rows("root", f"SELECT count(*) FROM system.audit WHERE {condition}") == [(lines,)]
    assert min(read) == files
