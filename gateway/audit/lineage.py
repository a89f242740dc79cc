"""A statement's effects, as fields for the audit log's last line about it. Pure.

`columns`: each table's columns that were read and written. `lineage`: for each column written to a table or returned in
the result, its source columns. `commits`: committed table versions. `rights`: revoked and granted privileges. All are
bounded.

A result column is named only if its name equals the source table column whose values it contains, or an identifier in
the statement's text. Spark derives other column names from expressions, and so from literals and parameter values,
which the audit log must not contain.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Set
from dataclasses import asdict, replace
from itertools import islice
from typing import Any

from engine.runtime.accesses import ColumnLineage, ColumnSource, Transformation, resolve_lineage
from gateway.sessions.trace import Trace

COLUMNS_MAX, SOURCES_MAX = 1000, 5000


def lineage_fields(trace: Trace, identifiers: Callable[[], Set[str]]) -> dict[str, Any]:
    """Returns the fields for a statement's last line.

    `identifiers` returns the identifiers in the statement's text, in lower case; it is called at most once.
    """
    columns, others = resolve_lineage(trace.lineage)
    columns = list(_recordable(columns, identifiers))
    fields: dict[str, Any] = {}
    if used := _used_columns(columns, others):
        fields["columns"] = used
    if columns:
        shown = list(_limit(columns))
        fields["lineage"] = [_format_lineage(column) for column in shown]
        if len(columns) > len(shown):
            fields["lineage_omitted"] = len(columns) - len(shown)
    if trace.rights:
        fields["rights"] = [asdict(each) for each in trace.rights[:COLUMNS_MAX]]
    if trace.commits:
        fields["commits"] = [{"name": each.relation, "version": each.version} for each in trace.commits]
    return fields


def _recordable(columns: Iterable[ColumnLineage], identifiers: Callable[[], Set[str]]) -> Iterator[ColumnLineage]:
    """Yields `columns` with an empty name for generated names, and omits generated ones without a source."""
    known: Set[str] | None = None
    for column in columns:
        if column.target is None and not _is_copy(column):
            known = identifiers() if known is None else known
            # Spark names the column of `SELECT 'secret'` secret: the name is a value.
            if column.column.lower() not in known:
                if column.sources:
                    yield replace(column, column="")
                continue
        yield column


def _is_copy(column: ColumnLineage) -> bool:
    """Returns True if a result column has a table column's values and name."""
    name = column.column.lower()
    return any(
        source.transformation is Transformation.IDENTITY and source.column.lower() == name for source in column.sources
    )


def _limit(columns: Iterable[ColumnLineage]) -> Iterator[ColumnLineage]:
    """Yields the first ones, up to the limits for columns and for their sources in total."""
    left = SOURCES_MAX
    for column in islice(columns, COLUMNS_MAX):
        left -= len(column.sources)
        if left < 0:
            return
        yield column


def _used_columns(columns: list[ColumnLineage], others: Iterable[ColumnSource]) -> list[dict[str, Any]]:
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


def _format_lineage(column: ColumnLineage) -> dict[str, Any]:
    sources = [
        {"relation": source.relation, "column": source.column, "transformation": source.transformation}
        for source in column.sources
    ]
    return {"target": column.target, "column": column.column or None, "sources": sources}
