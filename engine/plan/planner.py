"""Plan: what to read, decided from the pinned snapshots alone."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import assert_never

from engine.bind.bound import AuthorizedStatement, BoundChanges, BoundRelation, BoundTable, BoundView
from engine.delta.pruning.metadata_answers import NoAnswer
from engine.plan.ddl.alters import plan_alter, plan_comment
from engine.plan.ddl.catalog_ddl import (
    plan_comment_on_names,
    plan_create_catalog,
    plan_create_schema,
    plan_create_view,
    plan_drop_catalog,
    plan_drop_schema,
    plan_drop_view,
)
from engine.plan.ddl.like_tables import plan_create_table_like
from engine.plan.ddl.replace_tables import plan_replace_table, plan_replace_table_as
from engine.plan.ddl.table_ddl import plan_create_table, plan_drop_table
from engine.plan.reads.answers import answer_from_log
from engine.plan.reads.scans import change_scan, kinds_of_changes, scan_of, with_row_ids_if_asked
from engine.plan.writes.inserts import plan_create_table_as, plan_insert, plan_truncate
from engine.plans.plan import Plan
from engine.plans.reads import AnswerPlan, CommandPlan, ExplainPlan, ReadPlan, Scan, SchemaPlan, ViewScan
from engine.sql.query.splice import Edit, splice
from engine.statements.alters import AlterTable
from engine.statements.catalog import (
    Commentable,
    CommentOn,
    CreateCatalog,
    CreateSchema,
    CreateView,
    DropCatalog,
    DropSchema,
    DropView,
)
from engine.statements.queries import DescribeQuery, Explain, Query
from engine.statements.tables import CreateTable, CreateTableLike, DropTable
from engine.statements.writes import Insert, TruncateTable

_SCAN, _VIEW = "__scan_", "__view_"
"""Names in the rewritten text, followed by a number; longer ones where a text of the statement has these."""


def plan_statement(authorized: AuthorizedStatement) -> Plan:
    """The plan of an authorised statement. Raises for a table whose features we cannot read, by name."""
    bound = authorized.bound
    match bound.statement:
        case Query() as query:
            answer = answer_from_log(query, bound.relations)
            return _read(query, bound.relations) if isinstance(answer, NoAnswer) else answer
        case Explain(mode=mode, inner=query):
            read = _read(query, bound.relations)
            return ExplainPlan(mode=mode, read=read, note=_said(answer_from_log(query, bound.relations)))
        case DescribeQuery(inner=query):
            return SchemaPlan(read=_read(query, bound.relations))
        case CreateView() as create:
            return plan_create_view(bound, create, _read(create.query, bound.relations))
        case DropView() as drop:
            return plan_drop_view(bound, drop)
        case CreateTable(query=None) as replacing if isinstance(bound.target, BoundTable):
            return plan_replace_table(bound, replacing)
        case CreateTable(query=Query() as query) as replacing if isinstance(bound.target, BoundTable):
            return plan_replace_table_as(bound, replacing, _read(query, bound.relations))
        case CreateTable(query=None) as create_table:
            return plan_create_table(bound, create_table)
        case CreateTable(query=Query() as query) as create_table:
            return plan_create_table_as(bound, create_table, _read(query, bound.relations))
        case Insert(source=source) as insert:
            return plan_insert(bound, insert, lambda edits: _read(source, bound.relations, edits))
        case AlterTable() as alter:
            return plan_alter(bound, alter)
        case CommentOn(kind=Commentable.TABLE | Commentable.COLUMN) as comment:
            return plan_comment(bound, comment)
        case CommentOn() as comment:
            return plan_comment_on_names(bound, comment)
        case CreateTableLike() as like:
            return plan_create_table_like(bound, like)
        case CreateCatalog() as create_catalog:
            return plan_create_catalog(bound, create_catalog)
        case DropCatalog() as drop_catalog:
            return plan_drop_catalog(drop_catalog)
        case TruncateTable():
            return plan_truncate(bound)
        case DropTable():
            return plan_drop_table(bound)
        case CreateSchema() as create_schema:
            return plan_create_schema(bound, create_schema)
        case DropSchema() as drop_schema:
            return plan_drop_schema(bound, drop_schema)
        case _:
            return CommandPlan(bound=bound)


def _said(answer: AnswerPlan | NoAnswer) -> str:
    """Whether the log answers, for EXPLAIN."""
    if isinstance(answer, NoAnswer):
        return f"not answered from the log: {answer.reason}"
    return f"answered from the log of {answer.table.label}, version {answer.table.snapshot.version}: no file is read"


def _read(query: Query, relations: tuple[BoundRelation, ...], others: Sequence[Edit] = ()) -> ReadPlan:
    reading = _Reading(_unused_prefix(query, relations))
    text = reading.spliced(query, relations, others)
    return with_row_ids_if_asked(ReadPlan(text=text, scans=tuple(reading.scans), views=tuple(reading.views)))


def _unused_prefix(query: Query, relations: tuple[BoundRelation, ...]) -> str:
    """What keeps our names apart from those that the texts define themselves, in WITH or as aliases."""
    text, prefix = "\n".join(_texts(query, relations)).casefold(), ""
    while f"{prefix}{_SCAN}" in text or f"{prefix}{_VIEW}" in text:
        prefix += "_"
    return prefix


def _texts(query: Query, relations: tuple[BoundRelation, ...]) -> Iterator[str]:
    """Of the query and of all views below it."""
    yield query.text
    for relation in relations:
        if isinstance(relation, BoundView):
            yield from _texts(relation.query, relation.relations)


class _Reading:
    """The scans and views of one query, each once however often it is named, if the names mean the same version."""

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix
        self.scans: list[Scan] = []
        self.views: list[ViewScan] = []
        self._names: dict[Hashable, str] = {}

    def spliced(self, query: Query, relations: tuple[BoundRelation, ...], others: Sequence[Edit] = ()) -> str:
        names = [self._name(relation) for relation in relations]
        return splice(query, names, [relation.name.parts if relation.name else () for relation in relations], others)

    def _name(self, relation: BoundRelation) -> str:
        match relation:
            case BoundTable(snapshot=snapshot):
                return self._once((snapshot.table_root, snapshot.version), lambda: self._scan(relation))
            case BoundChanges(table=table, feed=feed):
                return self._once((table.snapshot.table_root, feed.versions), lambda: self._changes(relation))
            case BoundView(entry=entry):
                return self._once(entry.name, lambda: self._view(relation))
            case _:
                assert_never(relation)

    def _once(self, key: Hashable, make: Callable[[], str]) -> str:
        if key not in self._names:
            self._names[key] = make()
        return self._names[key]

    def _scan(self, table: BoundTable) -> str:
        self.scans.append(scan_of(f"{self._prefix}{_SCAN}{len(self.scans)}", table))
        return self.scans[-1].relation

    def _changes(self, changes: BoundChanges) -> str:
        """One scan, or a view of two."""
        names = []
        for kind in kinds_of_changes(changes.feed):
            names.append(f"{self._prefix}{_SCAN}{len(self.scans)}")
            self.scans.append(change_scan(names[-1], changes, kind))
        if len(names) == 1:
            return names[0]
        return self._add_view(changes.table.label, " UNION ALL ".join(f"SELECT * FROM {name}" for name in names))

    def _view(self, view: BoundView) -> str:
        text = self.spliced(view.query, view.relations)
        columns = tuple((column.source, column.name) for column in view.entry.columns)
        return self._add_view(view.label, text, columns)

    def _add_view(self, label: str, text: str, columns: tuple[tuple[str, str], ...] = ()) -> str:
        name = f"{self._prefix}{_VIEW}{len(self.views)}"
        self.views.append(ViewScan(relation=name, label=label, text=text, columns=columns))
        return name
