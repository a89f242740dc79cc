"""Scans over bound tables: their files, names and constants."""

from __future__ import annotations

import pytest

from catalog.conditions import MalformedLogEntry
from engine.binding.bound import BoundFiles
from engine.planning.plans.reads import ReadPlan
from engine.planning.reads.scans import files_scan, row_id_columns
from engine.planning.reads.table_pruning import TableFilePruning
from engine.tables.scan import NO_FILES, FileFormat, FileKind, RowTracking, Scan
from engine.types.schema import PrimitiveType, StructField, StructType
from tests.engine.planning.lake import PlanningLake


def scan_of(planning: PlanningLake, text: str) -> Scan:
    (scan,) = planning.plan(ReadPlan, text).scans
    return scan


def test_the_files_of_a_table(planning: PlanningLake) -> None:
    scan = scan_of(planning, "SELECT * FROM sales")
    assert scan.label == "`spark_catalog`.`default`.`sales`" and scan.table_root == str(planning.path("sales"))
    assert scan.schema.names == ("id", "amount", "day") and scan.partition_columns == ("day",)
    assert scan.files["path"].to_pylist() == [f"2024-01-0{day}.parquet" for day in (1, 2, 3)]
    assert isinstance(scan.pruning, TableFilePruning) and scan.pruning.label == scan.label


def test_a_table_by_its_path(planning: PlanningLake) -> None:
    path = planning.path("plain")
    assert scan_of(planning, f"SELECT * FROM delta.`{path}`").label == f"delta.`{path}`"


def test_columns_under_the_names_that_files_have(planning: PlanningLake) -> None:
    scan = scan_of(planning, "SELECT * FROM mapped")
    assert scan.layout is not None and scan.schema.names == ("a", "b", "c")
    assert all(name.startswith("col-") for name in scan.layout.schema.names) and len(scan.layout.schema.names) == 3


@pytest.mark.parametrize(
    ("text", "has_ids"),
    [
        ("SELECT a FROM tracked", False),
        ("SELECT a, _metadata.row_id FROM tracked", True),
        ("SELECT a, _METADATA FROM tracked", True),
        ("SELECT * FROM ided", True),
        ("SELECT a, _metadata.file_path FROM plain", False),
    ],
)
def test_row_ids_only_where_a_text_may_ask_for_them(planning: PlanningLake, text: str, has_ids: bool) -> None:
    """They make every file's constants different."""
    if "ided" in text:
        planning.make_view("ided", "SELECT _metadata.row_id FROM tracked", "row_id BIGINT")
    assert (scan_of(planning, text).row_tracking is not None) is has_ids


def test_the_columns_that_keep_ids() -> None:
    assert row_id_columns("t", None) == ()
    found = row_id_columns("t", RowTracking(row_id_column="i", row_commit_version_column="v"))
    assert found == (StructField("i", PrimitiveType.LONG), StructField("v", PrimitiveType.LONG))
    with pytest.raises(MalformedLogEntry):
        row_id_columns("t", RowTracking(row_id_column="i", row_commit_version_column=None))


@pytest.mark.parametrize("schema", [None, StructType((StructField("a", PrimitiveType.STRING),))])
def test_files_that_are_no_tables(schema: StructType | None) -> None:
    """If their columns are unknown, Spark infers them."""
    files = BoundFiles(root="/in", files=NO_FILES, format=FileFormat(kind=FileKind.CSV), schema=schema)
    scan = files_scan("__scan_0", files)
    assert scan.infers is (schema is None) and scan.schema == (schema or StructType(()))
    assert scan.format is files.format and scan.table_root == "/in" and scan.label == "the files at /in"
