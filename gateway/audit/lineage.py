"""What a statement did, as fields of the trail's line of its end. Pure.

`columns`: of each table the columns that were read and written. `lineage`: for each column of a table that was written,
or of the result, the columns whose values it is made of. `commits`: versions of tables that were made. `rights`: what
was taken from whom, and given to whom. All are bounded.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict
from itertools import islice
from typing import Any

from engine.runtime.accesses import ColumnLineage, ColumnSource, resolved
from gateway.trace import Trace

COLUMNS_MAX, SOURCES_MAX = 1000, 5000


def traced(trace: Trace) -> dict[str, Any]:
    """The fields that the end of a statement has."""
    columns, others = resolved(trace.lineage)
    fields: dict[str, Any] = {}
    if used := _used(columns, others):
        fields["columns"] = used
    if columns:
        shown = list(_bounded(columns))
        fields["lineage"] = [_shown(column) for column in shown]
        if len(columns) > len(shown):
            fields["lineage_omitted"] = len(columns) - len(shown)
    if trace.rights:
        fields["rights"] = [asdict(each) for each in trace.rights[:COLUMNS_MAX]]
    if trace.commits:
        fields["commits"] = [{"name": each.relation, "version": each.version} for each in trace.commits]
    return fields


def _bounded(columns: Iterable[ColumnLineage]) -> Iterator[ColumnLineage]:
    """The first ones, up to the limits of columns and of sources of all."""
    left = SOURCES_MAX
    for column in islice(columns, COLUMNS_MAX):
        left -= len(column.sources)
        if left < 0:
            return
        yield column


def _used(columns: list[ColumnLineage], others: Iterable[ColumnSource]) -> list[dict[str, Any]]:
    read: dict[str, dict[str, None]] = {}
    written: dict[str, dict[str, None]] = {}
    for source in (*(source for column in columns for source in column.sources), *others):
        read.setdefault(source.relation, {})[source.column] = None
    for column in columns:
        if column.target is not None:
            written.setdefault(column.target, {})[column.column] = None
    return [
        {"name": name, "read": _names(read.get(name)), "written": _names(written.get(name))}
        for name in dict.fromkeys((*read, *written))
    ]


def _names(found: dict[str, None] | None) -> list[str]:
    return list(islice(found or (), COLUMNS_MAX))


def _shown(column: ColumnLineage) -> dict[str, Any]:
    sources = [
        {"relation": source.relation, "column": source.column, "transformation": source.transformation}
        for source in column.sources
    ]
    return {"target": column.target, "column": column.column, "sources": sources}
