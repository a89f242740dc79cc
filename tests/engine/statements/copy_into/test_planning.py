"""COPY INTO: an INSERT with files' rows, and a record of the files."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.planning.plans.writes import CopyPlan, KeepAll
from engine.tables.operations import TableOperation
from tests.engine.planning.lake import PlanningLake

COLUMNS = "a INT, b STRING"


@pytest.fixture(scope="module")
def folder(planning: PlanningLake) -> Path:
    """Two files, which nobody opens."""
    path = planning.folder / "incoming"
    path.mkdir()
    (path / "1.csv").write_text("1,x\n")
    (path / "2.csv").write_text("2,y\n")
    return path


def test_copy_lists_each_file_once(planning: PlanningLake, folder: Path) -> None:
    plan = planning.plan(CopyPlan, f"COPY INTO plain FROM '{folder}' FILEFORMAT = CSV", COLUMNS)
    assert plan.loaded.column_names == ["path", "size", "modification_time"]
    assert plan.loaded["path"].to_pylist() == [f"{folder}/1.csv", f"{folder}/2.csv"]
    assert plan.insert is not None and plan.insert.replacement == KeepAll() and not plan.validates
    assert plan.insert.rows.source_columns == ("a", "b")
    description = plan.insert.description
    assert (description.name, description.operation) == ("COPY INTO", TableOperation.APPEND)
    assert dict(description.parameters) == {
        "sourcePath": str(folder),
        "fileFormat": "CSV",
        "force": "false",
        "mergeSchema": "false",
    }


def test_copy_options(planning: PlanningLake, folder: Path) -> None:
    text = f"""COPY INTO plain FROM '{folder}' FILEFORMAT = JSON FILES = ARRAY('2.csv')
        COPY_OPTIONS ('force' = 'true', 'mergeSchema' = 'true')"""
    plan = planning.plan(CopyPlan, text, "a INT, n INT")
    assert plan.loaded["path"].to_pylist() == [f"{folder}/2.csv"]
    assert plan.insert is not None and plan.insert.definition is not None
    assert plan.insert.rows.schema.names == ("a", "b", "n")
    parameters = plan.insert.description.parameters
    assert (parameters["force"], parameters["mergeSchema"], parameters["fileFormat"]) == ("true", "true", "JSON")


@pytest.mark.parametrize(("clause", "limit"), [("VALIDATE ALL", ""), ("VALIDATE 15 ROWS", " LIMIT 15")])
def test_a_validation_writes_nothing(planning: PlanningLake, folder: Path, clause: str, limit: str) -> None:
    plan = planning.plan(CopyPlan, f"COPY INTO plain FROM '{folder}' FILEFORMAT = CSV {clause}", COLUMNS)
    assert plan.validates and plan.insert is not None
    assert plan.insert.source.text.endswith(limit) and ("LIMIT" in plan.insert.source.text) is bool(limit)


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        ("COPY INTO plain FROM '{}' FILEFORMAT = CSV FILES = ('none.csv')", "PATH_NOT_FOUND"),
        ("COPY INTO readable FROM '{}' FILEFORMAT = CSV", "DELTA_UNSUPPORTED_FEATURES_FOR_WRITE"),
    ],
)
def test_invalid_copies_are_rejected(planning: PlanningLake, folder: Path, text: str, condition: str) -> None:
    assert planning.refused(text.format(folder), COLUMNS) == condition
