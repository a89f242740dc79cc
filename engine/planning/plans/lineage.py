"""Column lineage: the columns that a query read and wrote, derived from Spark's analyzed plan by `ColumnLineage.java`.

Java uses the scan names in the rewritten text, and the file column names for written columns.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeAlias

from engine.planning.plans.file_writes import WriteTarget
from engine.runtime.accesses import ColumnLineage, ColumnSource, Lineage, Transformation
from engine.tables.scan import Scan

LineageReader: TypeAlias = Callable[[str, Sequence[Scan]], Lineage]


def lineage_of_result(text: str, scans: Sequence[Scan]) -> Lineage:
    """Returns the lineage of a query whose rows are the statement's result."""
    lineage_json = json.loads(text)
    columns = [
        ColumnLineage(None, each["name"], tuple(_sources(each["sources"], scans))) for each in lineage_json["columns"]
    ]
    return Lineage(columns=tuple(columns), others=tuple(_sources(lineage_json["rows"], scans)))


def lineage_of_reading(text: str, scans: Sequence[Scan]) -> Lineage:
    """Returns the lineage of a query whose rows are only inspected."""
    lineage_json = json.loads(text)
    read = [source for each in lineage_json["columns"] for source in each["sources"]]
    return Lineage(others=tuple(dict.fromkeys(_sources([*read, *lineage_json["rows"]], scans))))


def lineage_of_write(target: WriteTarget) -> LineageReader:
    """Returns the reader for a query whose rows are written to a table's files, or stored while the statement runs."""
    rules = target.rules
    if rules is None or not rules.names:
        return lineage_of_reading

    def read(text: str, scans: Sequence[Scan]) -> Lineage:
        found = lineage_of_result(text, scans)
        named = zip(rules.names, found.columns, strict=False)  # generated columns follow
        label = None if target.keeps else rules.label
        columns = tuple(ColumnLineage(label, name, column.sources) for name, column in named)
        return Lineage(columns=columns, others=found.others, materialized_as=target.keeps)

    return read


def _sources(lineage_json: Iterable[Any], scans: Sequence[Scan]) -> Iterator[ColumnSource]:
    known = {scan.relation: (scan.name or scan.label, frozenset(scan.schema.names)) for scan in scans}
    for relation, column, kind in lineage_json:
        name, columns = known[relation]
        if column in columns:  # excludes file metadata, for example positions
            yield ColumnSource(name, column, Transformation(kind))
