"""Bind: names → catalog entries → one pinned snapshot per table. The only maker of a `BoundStatement`.

The catalog is read once, as a view at one generation, and each table's log is listed once: a table that a statement
names several times is loaded once per version, so that all its names see the same files. Columns, types and functions
are not bound here; Spark analyses them.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import assert_never

from catalog.catalog import Catalog
from catalog.entries import Relation as CatalogRelation
from catalog.entries import TableEntry, ViewEntry
from catalog.errors import SqlError
from catalog.names import Matcher, SchemaName, TableName, any_matcher, jdbc_matcher, like_matcher, path_of
from engine.bound import BoundStatement, BoundTable
from engine.delta.commit_times import load_commit_times
from engine.delta.errors import naming
from engine.delta.snapshot import Snapshot
from engine.errors import InvalidTimeTravelTimestamp, StatementNotSupported
from engine.settings import SessionState
from engine.statements import (
    AsOfTimestamp,
    AsOfVersion,
    DescribeDetail,
    DescribeHistory,
    DescribeQuery,
    DescribeTable,
    Explain,
    FindColumns,
    ListColumns,
    Query,
    Relation,
    ShowColumns,
    ShowCreateTable,
    ShowPartitions,
    ShowTableExtended,
    ShowTblProperties,
    Statement,
    TimeTravel,
)

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """Where names and tables come from; shared by all sessions."""

    catalog: Catalog
    load: Callable[[str, int | None], Snapshot]
    """The snapshot of the table at a location: of a version, or the newest one."""


EvaluateTimestamp = Callable[[str], int | None]
"""An expression without columns, as text → milliseconds since the epoch in the session's zone; None for NULL."""


def bind(statement: Statement, state: SessionState, sources: Sources, evaluate: EvaluateTimestamp) -> BoundStatement:
    """Resolve what `statement` names. Raises the catalog's and the log's errors, by name."""
    binder = _Binder(state, sources, evaluate)
    match statement:
        case Query(relations=relations):
            tables = binder.tables(relations)
        case Explain(inner=query) | DescribeQuery(inner=query):
            tables = binder.tables(query.relations)
        case (
            DescribeTable(table_parts=parts)
            | DescribeDetail(table_parts=parts)
            | DescribeHistory(table_parts=parts)
            | ShowColumns(table_parts=parts)
            | ShowTblProperties(table_parts=parts)
            | ShowPartitions(table_parts=parts)
            | ShowCreateTable(table_parts=parts)
        ):
            tables = (binder.table(parts, None),)
        case ListColumns(catalog=catalog, schema_pattern=schemas, table_pattern=names):
            tables = tuple(binder.listed(catalog, jdbc_matcher(schemas), jdbc_matcher(names)))
        case FindColumns(catalog=catalog, schema_pattern=schemas, table_pattern=names):
            tables = tuple(binder.listed(catalog, any_matcher(schemas), any_matcher(names)))
        case ShowTableExtended(schema_parts=parts, pattern=pattern):
            tables = tuple(binder.listed_in(binder.schema(parts), like_matcher(pattern)))
        case _:
            tables = ()
    return BoundStatement(statement=statement, state=state, view=binder.view, tables=tables)


class _Binder:
    """One statement's lookups; `pinned` keeps what was loaded for it."""

    def __init__(self, state: SessionState, sources: Sources, evaluate: EvaluateTimestamp) -> None:
        self.state, self.view, self.load, self.evaluate = state, sources.catalog.view(), sources.load, evaluate
        self.pinned: dict[tuple[str, TimeTravel | None], Snapshot] = {}

    def tables(self, relations: tuple[Relation, ...]) -> tuple[BoundTable, ...]:
        return tuple(self.table(relation.name_parts, relation.time_travel) for relation in relations)

    def table(self, parts: tuple[str, ...], time_travel: TimeTravel | None) -> BoundTable:
        path = path_of(parts)
        if path is not None:
            entry: TableEntry | ViewEntry = self.view.resolve_path(path)
            name = None
        else:
            name = TableName.from_parts(parts, SchemaName(self.state.catalog, self.state.schema))
            entry = self.view.resolve(name)
        if isinstance(entry, ViewEntry):
            raise StatementNotSupported(f"Reading the view {entry.name}")
        return BoundTable(name=None if name is None else entry.name, entry=entry, snapshot=self.pin(entry, time_travel))

    def schema(self, parts: tuple[str, ...]) -> SchemaName:
        """The schema of a SHOW: the named one, or the current one."""
        state = self.state
        return SchemaName.from_parts(parts, state.catalog) if parts else SchemaName(state.catalog, state.schema)

    def listed_in(self, schema: SchemaName, tables: Matcher) -> Iterator[BoundTable]:
        yield from self._readable(self.view.relations(schema, tables))

    def listed(self, catalog: str | None, schemas: Matcher, tables: Matcher) -> Iterator[BoundTable]:
        """Tables by pattern."""
        yield from self._readable(self.view.find_relations(catalog, schemas, tables))

    def _readable(self, relations: Iterable[CatalogRelation]) -> Iterator[BoundTable]:
        """The tables among `relations`; one whose log cannot be read is left out, with a line in the server's log."""
        for entry in relations:
            if isinstance(entry, TableEntry):
                try:
                    yield BoundTable(name=entry.name, entry=entry, snapshot=self.pin(entry, None))
                except SqlError as error:
                    logger.warning("left out of a list: %s: %s", entry.name, error)

    def pin(self, entry: TableEntry, time_travel: TimeTravel | None) -> Snapshot:
        key = (entry.location, time_travel)
        if key not in self.pinned:
            with naming(str(entry.name)):
                self.pinned[key] = self._load(entry, time_travel)
        return self.pinned[key]

    def _load(self, entry: TableEntry, time_travel: TimeTravel | None) -> Snapshot:
        match time_travel:
            case None:
                return self.load(entry.location, None)
            case AsOfVersion(version):
                return self.load(entry.location, version)
            case AsOfTimestamp(expression):
                timestamp_ms = self.evaluate(expression)
                if timestamp_ms is None:
                    raise InvalidTimeTravelTimestamp(expression)
                version = load_commit_times(self.load(entry.location, None)).version_at(timestamp_ms)
                return self.load(entry.location, version)
            case _:
                assert_never(time_travel)
