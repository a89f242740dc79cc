"""Executed plans as Java reports them: names, times, sizes, and wrappers that are left out."""

from __future__ import annotations

import json
from typing import Any

import pytest

from engine.runtime.executed_plan import parse_plans
from engine.tables.scan import TableRead

READ = TableRead(label="`c`.`s`.`t`", version=3, files_total=5, bytes_total=500, files_partition=4, files=2, bytes=200)


def node(id: int, name: str, description: str = "", **metrics: tuple[str, str]) -> dict[str, Any]:
    listed = [{"name": key.replace("_", " "), "type": kind, "value": value} for key, (kind, value) in metrics.items()]
    return {"id": id, "name": name, "description": description, "metrics": listed}


def plan(nodes: list[dict[str, Any]], *edges: tuple[int, int]) -> str:
    found = {"id": 7, "began_ms": 5, "is_repeated": False, "duration_ms": 12, "nodes": nodes}
    return json.dumps([found | {"edges": [{"from": a, "to": b} for a, b in edges]}])


def test_wrappers_are_replaced_by_their_input() -> None:
    nodes = [
        node(0, "Sort"),
        node(1, "InterruptibleRows"),
        node(2, "InterruptibleRows"),
        node(3, "Project"),
        node(4, "Filter"),
    ]
    (found,) = parse_plans(
        plan([*nodes, node(5, "InterruptibleRows")], (1, 0), (2, 1), (3, 2), (4, 3), (0, 5)), str, ()
    )
    assert [each.id for each in found.operators] == [0, 3, 4]
    assert found.edges == ((3, 0), (4, 3))
    assert (found.id, found.began_ms, found.duration_ms, found.is_repeated) == (7, 5, 12, False)


@pytest.mark.parametrize(
    ("kind", "value", "time_ms"),
    [
        ("timing", "12 ms", 12.0),
        ("timing", "total (min, med, max (stageId: taskId))\n1.5 s (0 ms, 1 ms, 2 ms (stage 1.0: task 2))", 1500.0),
        ("nsTiming", "2.0 m", 120_000.0),
        ("timing", "1.50 h", 5_400_000.0),
        ("timing", "", None),
        ("size", "1.5 s", None),
        ("timing", "?", None),
    ],
)
def test_times_are_in_milliseconds(kind: str, value: str, time_ms: float | None) -> None:
    (found,) = parse_plans(plan([node(0, "Scan", scan_time=(kind, value))]), str, ())
    assert found.operators[0].time_ms == time_ms


def test_rows_sizes_and_reads_belong_to_scans() -> None:
    description = "FileScan [a] Location: PrunedFileIndex(1 paths)[scan_1]"
    metrics = {
        "number_of_output_rows": ("sum", "1,234,567"),
        "size_of_files_read": ("size", "1.5 KiB"),
        "scan_time": ("timing", "5 ms"),
        "metadata_time": ("timing", "7 ms"),
    }
    nodes = [node(0, "Scan", description, **metrics), node(1, "Scan", description), node(2, "Scan", "other")]

    def restore_names(text: str) -> str:
        return text.replace("scan_1", READ.label)

    (found,) = parse_plans(plan(nodes), restore_names, (READ,))
    first, second, third = found.operators
    assert (first.rows, first.size_bytes, first.time_ms, first.read) == (1_234_567, 1536, 7.0, READ)
    assert first.description.endswith("[`c`.`s`.`t`]")
    assert (second.read, third.read, third.rows) == (None, None, None)
