"""Reads of a changed table: internal names and file numbers."""

from __future__ import annotations

from dataclasses import replace

import pytest

from engine.planning.reads.scans import scan_of
from engine.planning.reads.target_reads import places_where, with_row_numbers
from tests.engine.planning.lake import PlanningLake, bound_table


@pytest.mark.parametrize("table", ["plain", "tracked"])
def test_scan_has_file_numbers(planning: PlanningLake, table: str) -> None:
    """The numbers replace row ids, so the table's own ids are not available."""
    scan = scan_of("s", bound_table(planning, table))
    found = with_row_numbers(scan)
    positions = list(range(scan.files.num_rows))
    assert found.files["base_row_id"].to_pylist() == found.files["default_row_commit_version"].to_pylist() == positions
    assert found.row_tracking is not None and found.row_tracking.row_id_column is None
    assert found.files.column_names.count("base_row_id") == 1
    plain = replace(scan, files=scan.files.select(["path", "size"]))
    assert with_row_numbers(plain).files["base_row_id"].to_pylist() == positions


def test_places_where(planning: PlanningLake) -> None:
    table = bound_table(planning, "plain")
    other = scan_of("__scan_0", bound_table(planning, "sales"))
    found = places_where(table, "AS t WHERE t.__place_0 = 1", (other,))
    scan = found.scan
    assert (scan.relation, scan.metadata) == ("___scan_0", "___place_0") and found.is_once

    assert [each.relation for each in found.read.scans] == ["___scan_0", "__scan_0"]


def test_target_read_over_another_scan_keeps_the_name(planning: PlanningLake) -> None:
    found = places_where(bound_table(planning, "plain"), "")
    fewer = found.over(replace(found.scan, files=found.scan.files.slice(0, 1)))
    assert fewer.scan.files.num_rows == 1 and found.scan.files.num_rows == 2
