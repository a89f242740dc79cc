"""What a statement did, as fields of the trail's line of its end. Pure.

`columns`: of each table the columns that were read and written. `lineage`: for each column of a table that was written,
or of the result, the columns whose values it is made of. `commits`: versions of tables that were made. `rights`: what
was taken from whom, and given to whom. All are bounded.

A result's column has its name only if the name is that of the table's column whose values it holds, or an identifier of
the statement's text. Spark makes the names of other columns from expressions, and so from literals and from values of
parameters, which the audit log must not hold.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Set
from dataclasses import asdict, replace
from itertools import islice
from typing import Any

from engine.runtime.accesses import ColumnLineage, ColumnSource, Transformation, resolved
from gateway.observability.trace import Trace

COLUMNS_MAX, SOURCES_MAX = 1000, 5000


def traced(trace: Trace, identifiers: Callable[[], Set[str]]) -> dict[str, Any]:
    """Returns the fields that the end of a statement has.

    `identifiers` returns the identifiers of the statement's text, in lower case; it is called at most once.
    """
    columns, others = resolved(trace.lineage)
    columns = list(_recordable(columns, identifiers))
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


def _recordable(columns: Iterable[ColumnLineage], identifiers: Callable[[], Set[str]]) -> Iterator[ColumnLineage]:
    """Yields `columns` with an empty name for those that Spark named, and of these only the ones with a source."""
    known: Set[str] | None = None
    for column in columns:
        if column.target is None and not _is_copy(column):
            known = identifiers() if known is None else known
            if column.column.lower() not in known:
                if column.sources:
                    yield replace(column, column="")
                continue
        yield column


def _is_copy(column: ColumnLineage) -> bool:
    """Returns whether a result's column has the values and the name of a table's column."""
    name = column.column.lower()
    return any(
        source.transformation is Transformation.IDENTITY and source.column.lower() == name for source in column.sources
    )


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
    return {"target": column.target, "column": column.column or None, "sources": sources}
