"""The plans that Spark executed for a statement, with the metrics of their operators."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from engine.tables.scan import TableRead

# Operators that the server adds around Spark's, without work of their own (`InterruptibleTasks.java`).
_WRAPPERS = frozenset({"InterruptibleRows"})
_TIME_TYPES = frozenset({"timing", "nsTiming"})
_UNIT_MS = {"ms": 1.0, "s": 1e3, "m": 60e3, "h": 3600e3}
_UNIT_BYTES = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40, "PiB": 1 << 50, "EiB": 1 << 60}
_OUTPUT_ROWS = "number of output rows"
_READ_BYTES = "size of files read"


@dataclass(frozen=True, slots=True)
class OperatorMetric:
    """A metric as Spark displays it."""

    name: str
    value: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanOperator:
    """An operator of an executed plan.

    `time_ms` is the longest of its times, each summed over tasks. `cluster` is the id of the operator for the generated
    code that it is a part of. `read` is of a scan of a table.
    """

    id: int
    name: str
    description: str
    cluster: int | None
    rows: int | None
    size_bytes: int | None
    time_ms: float | None
    metrics: tuple[OperatorMetric, ...]
    read: TableRead | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutedPlan:
    """`edges` are pairs of operators' ids: from the operator whose rows the other one takes.

    `began_ms` is in milliseconds since the epoch. `is_repeated`: the plan of an earlier statement, whose tasks ran
    again without planning; times and metrics are those of its run.
    """

    id: int
    began_ms: int
    is_repeated: bool
    duration_ms: int | None
    operators: tuple[PlanOperator, ...]
    edges: tuple[tuple[int, int], ...]


def parse_plans(text: str, restore_names: Callable[[str], str], reads: Sequence[TableRead]) -> tuple[ExecutedPlan, ...]:
    """Parses the answer of `ExecutedPlans.json`; `restore_names` replaces generated names of tables."""
    unused = list(reads)
    return tuple(
        ExecutedPlan(
            id=plan["id"],
            began_ms=plan["began_ms"],
            is_repeated=plan["is_repeated"],
            duration_ms=plan.get("duration_ms"),
            operators=tuple(
                _operator(node, restore_names, unused) for node in plan["nodes"] if node["name"] not in _WRAPPERS
            ),
            edges=_edges(plan),
        )
        for plan in json.loads(text)
    )


def _edges(plan: dict[str, Any]) -> tuple[tuple[int, int], ...]:
    """Returns the edges without wrappers, which have one input and one output."""
    wrappers = {node["id"] for node in plan["nodes"] if node["name"] in _WRAPPERS}
    outputs = {edge["from"]: edge["to"] for edge in plan["edges"] if edge["from"] in wrappers}

    def output(node: int) -> int | None:
        found: int | None = node
        while found in wrappers:
            found = outputs.get(found)
        return found

    ends = [(edge["from"], output(edge["to"])) for edge in plan["edges"] if edge["from"] not in wrappers]
    return tuple((source, target) for source, target in ends if target is not None)


def _operator(node: dict[str, Any], restore_names: Callable[[str], str], unused: list[TableRead]) -> PlanOperator:
    metrics: list[dict[str, str]] = node["metrics"]
    description = restore_names(node["description"])
    return PlanOperator(
        id=node["id"],
        name=restore_names(node["name"]).strip(),
        description=description,
        cluster=node.get("cluster"),
        rows=next((_whole(each["value"]) for each in metrics if each["name"] == _OUTPUT_ROWS), None),
        size_bytes=next((_bytes(each["value"]) for each in metrics if each["name"] == _READ_BYTES), None),
        time_ms=max(_times(metrics), default=None),
        metrics=tuple(OperatorMetric(restore_names(each["name"]), each["value"]) for each in metrics),
        read=_take_read(description, unused),
    )


def _take_read(description: str, unused: list[TableRead]) -> TableRead | None:
    """Returns the read of a scan, which names its table, and removes it: a table may be read several times."""
    for read in unused:
        if f"[{read.label}]" in description:
            unused.remove(read)
            return read
    return None


def _times(metrics: Sequence[dict[str, str]]) -> Iterator[float]:
    for metric in metrics:
        number, unit = _total(metric["value"])
        if metric["type"] in _TIME_TYPES and number is not None and unit in _UNIT_MS:
            yield number * _UNIT_MS[unit]


def _whole(value: str) -> int | None:
    number, _ = _total(value)
    return None if number is None else round(number)


def _bytes(value: str) -> int | None:
    number, unit = _total(value)
    return None if number is None or unit not in _UNIT_BYTES else round(number * _UNIT_BYTES[unit])


def _total(value: str) -> tuple[float | None, str]:
    """Parses the sum over tasks and its unit. Spark displays it alone, or in a second line before statistics."""
    found = re.match(r"([0-9][0-9,]*(?:\.[0-9]+)?) ?([A-Za-z]*)", value.splitlines()[-1].strip() if value else "")
    return (float(found[1].replace(",", "")), found[2]) if found else (None, "")
