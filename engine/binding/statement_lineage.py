"""The edges of lineage that a running statement makes: from the relations that it reads to the table that it commits.

Temporary views are replaced by what they read. For another view, and for a function, the tables that its text reads are
sources too, because the columns come from them. The tables that a row filter or a column mask reads are not sources,
nor are the server's own relations.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import assert_never

from catalog.entries import TableEntry
from catalog.lineage.edges import COLUMNS_PER_EDGE_MAX, Edge, End, EndKind
from catalog.lineage.recorder import LineageRecorder
from catalog.system.system_views import is_system_schema
from catalog.view import CatalogView
from engine.binding.bound import (
    BoundChanges,
    BoundFiles,
    BoundInBody,
    BoundMetadata,
    BoundRelation,
    BoundStatement,
    BoundTable,
    BoundView,
    FreeName,
    TakenName,
)
from engine.runtime.accesses import Commit, Lineage, resolve_lineage
from engine.runtime.request import StatementRequest, with_changes
from engine.runtime.session_state import is_temporary

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class StatementLineage:
    """The tables of a statement, filled while it runs: sources by the target's label, and committed labels."""

    # The target, the type of the statement, and its sources with their labels.
    _targets: dict[str, tuple[End, str, dict[End, str]]] = field(default_factory=dict)
    _committed: set[str] = field(default_factory=set)
    _columns: list[Lineage] = field(default_factory=list)

    def note(self, bound: BoundStatement, statement_type: str | None) -> None:
        """Adds what a statement, or one of several INSERTs, is about to read. `statement_type` None: these are not
        sources of the target's content.
        """
        target = _target(bound)
        if target is not None and statement_type is not None:
            label, end = target
            sources = {source: label for label, source in _sources(bound.relations, bound.view)}
            self._targets.setdefault(label, (end, statement_type, {}))[2].update(sources)

    def observe(self, request: StatementRequest) -> StatementRequest:
        """Returns a request that adds commits, and the lineage of columns if it is collected."""

        def note_commit(commit: Commit) -> None:
            self._committed.add(commit.relation)
            request.on_commit(commit)

        def note_columns(lineage: Lineage) -> None:
            self._columns.append(lineage)
            assert request.on_lineage is not None
            request.on_lineage(lineage)

        on_lineage = None if request.on_lineage is None else note_columns
        return with_changes(request, on_commit=note_commit, on_lineage=on_lineage)

    def record(self, recorder: LineageRecorder, request: StatementRequest) -> None:
        """Records the edges into the committed tables. Never raises."""
        if self._committed and self._targets:
            try:
                # As in `system.queries` and the audit log.
                statement_id = str(uuid.UUID(request.statement_id))
                recorder.record(self._edges(request.identity.principal, statement_id, request.now_ms()))
            except Exception:  # the statement is committed
                logger.warning("the lineage of statement %s is lost", request.statement_id, exc_info=True)

    def _edges(self, user: str, statement_id: str, now_ms: int) -> list[Edge]:
        pairs = self._column_pairs()
        return [
            Edge(
                source=source,
                target=target,
                statement_type=statement_type,
                user=user,
                statement_id=statement_id,
                first_ms=now_ms,
                last_ms=now_ms,
                columns=tuple(pairs.get((label, source_label), ()))[:COLUMNS_PER_EDGE_MAX],
            )
            for label, (target, statement_type, sources) in self._targets.items()
            for source, source_label in sources.items()
            if label in self._committed and source.key != target.key
        ]

    def _column_pairs(self) -> dict[tuple[str, str], dict[tuple[str, str], None]]:
        """Returns pairs of a source and a target column, by the labels of target and source."""
        found: dict[tuple[str, str], dict[tuple[str, str], None]] = {}
        for column in resolve_lineage(self._columns)[0]:
            for source in column.sources if column.target is not None else ():
                pairs = found.setdefault((column.target or "", source.relation), {})
                pairs[source.column, column.column] = None
        return found


def _target(bound: BoundStatement) -> tuple[str, End] | None:
    match bound.target:
        case BoundTable() as table:
            return table.label, _table(table, bound.view)
        case FreeName(name=name, location=location, is_path=is_path):
            return str(name), _path(location) if is_path else End(EndKind.TABLE, name.parts)
        case TakenName() | None:
            return None
        case _:
            assert_never(bound.target)


def _sources(relations: Iterable[BoundRelation], view: CatalogView) -> Iterator[tuple[str, End]]:
    """Yields the sources with their labels in column lineage."""
    for relation in relations:
        match relation:
            case BoundTable() as table:
                yield table.visible_label, _table(table, view)
            case BoundChanges(table=table) | BoundMetadata(table=table):
                yield table.visible_label, _table(table, view)
            case BoundInBody(relation=named):
                yield from _sources((named,), view)
            case BoundFiles(root=root, path=path):
                yield relation.label, _path(path or root)
            case BoundView(relations=inner):
                if not (is_temporary(relation.name) or is_system_schema(relation.name.schema_name)):
                    yield relation.label, End(EndKind.VIEW, relation.name.parts)
                yield from _sources(inner, view)
            case _:
                assert_never(relation)


def _table(table: BoundTable, view: CatalogView) -> End:
    """Returns a table by its name, also if the statement names its path."""
    if table.name is not None:
        return End(EndKind.TABLE, table.name.parts)
    place = table.entry.location
    known = [each for each in table.owners if isinstance(each, TableEntry) and each.location == place]
    named = known or view.unrestricted.recorded_at(place)
    return End(EndKind.TABLE, named[0].name.parts) if named else _path(place)


def _path(path: str) -> End:
    return End(EndKind.PATH, (path,))
