"""A query's plan: the user's text with each relation replaced by the name of a scan or a view.

A table with a row filter or column masks is read through a view. Rows are filtered first, by stored values, and then
masked; all columns are listed, so that hidden ones (`_metadata`, row ids) are inaccessible. The session's query is
above the view, which is a barrier: Spark pushes no expression below it (`StatementExecution.java`), where it would be
evaluated on hidden rows and its errors would reveal them.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Collection, Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import assert_never

from catalog.conditions import TableWithoutColumns
from catalog.entries import SchemaMode
from catalog.names import fold, quote
from engine.binding.bound import (
    BoundChanges,
    BoundExpression,
    BoundFiles,
    BoundInBody,
    BoundMetadata,
    BoundPolicy,
    BoundRelation,
    BoundTable,
    BoundView,
    FrameView,
    InputView,
    tables_of,
)
from engine.planning.plans.reads import FrameInput, FrameScan, ReadPlan, RowScan, ViewScan
from engine.planning.reads.metadata_rows import metadata_query, metadata_rows
from engine.planning.reads.narrowing import narrow_relations
from engine.planning.reads.scans import change_scan, files_scan, read_scan, unfiltered_scan, with_requested_row_ids
from engine.runtime.session_state import is_temporary
from engine.sql.query.bodies import expression_in, readable
from engine.sql.query.composed import Names
from engine.sql.query.splice import Edit, splice
from engine.sql.query.values import Query
from engine.tables.given_rows import GivenRows
from engine.tables.scan import ComposedScan, Scan
from engine.types.schema import StructType
from engine.types.sql_types import column_sql_type


def read_plan(
    query: Query, relations: tuple[BoundRelation, ...], others: Sequence[Edit] = (), *, is_definition: bool = False
) -> ReadPlan:
    """Plans a query. `others` are additional edits of its text. Raises for a table with unsupported features, by name.

    A view definition's query may read a table without columns, which may have some when the view is read.
    """
    reading = Reading(Names(texts_of(query, relations)), is_definition=is_definition)
    text = reading.splice_text(query, narrow_relations(query, relations), others)
    return with_requested_row_ids(reading.plan(text))


def texts_of(query: Query, relations: tuple[BoundRelation, ...]) -> Iterator[str]:
    """Yields the texts of the query and of everything below it: views, function bodies, policies."""
    yield query.text
    yield from (readable(piece) for call in query.inlined for piece in call.pieces if isinstance(piece, str))
    for relation in relations:
        named = relation.relation if isinstance(relation, BoundInBody) else relation
        if isinstance(named, BoundView):
            yield from texts_of(named.query, named.relations)
            if isinstance(named.entry, FrameView):
                yield named.entry.frame.plan.decode("latin-1")
        table = named.table if isinstance(named, BoundChanges) else named
        policy = table.policy if isinstance(table, BoundTable) else None
        for each in (*policy.filters, *(mask for _, mask in policy.masks)) if policy is not None else ():
            yield from texts_of(each.query, each.relations)


def _full_names(relations: tuple[BoundRelation, ...]) -> list[tuple[str, ...]]:
    return [relation.name.parts if relation.name else () for relation in relations]


class _BySchema:
    """A schema as part of a key: compared only if two tables are otherwise equal."""

    __slots__ = ("schema",)

    def __init__(self, schema: StructType) -> None:
        self.schema = schema

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _BySchema) and self.schema == other.schema

    def __hash__(self) -> int:
        return hash(self.schema.names)


class Reading:
    """The scans and views of one query; names for the same version share one scan."""

    def __init__(self, names: Names, *, is_definition: bool = False) -> None:
        self._new_names = names
        self._is_definition = is_definition
        self.scans: list[Scan] = []
        self.views: list[ViewScan] = []
        self.given: list[RowScan] = []
        self._hidden: set[str] = set()
        self._names: dict[Hashable, str] = {}
        # A policy reads the current relations.
        self._is_policy = False
        # A catalog view's text reads the current relations.
        self._is_in_view = False

    def plan(self, text: str) -> ReadPlan:
        """Returns the plan for a text that names the relations added before."""
        return ReadPlan(
            text=text,
            scans=tuple(self.scans),
            views=tuple(self.views),
            given=tuple(self.given),
            hidden_relations=tuple(sorted(self._hidden)),
        )

    def splice_text(
        self,
        query: Query,
        relations: tuple[BoundRelation, ...],
        others: Sequence[Edit] = (),
        names: Sequence[str] | None = None,
        apart: Collection[int] = (),
        instead: Sequence[Edit] = (),
    ) -> str:
        """Returns the spliced text. `names` are the relation names, if some belong to another reading."""
        names = names or [self.name(relation) for relation in relations]
        return splice(query, names, _full_names(relations), others, apart, instead)

    def name(self, relation: BoundRelation) -> str:
        """Returns the unquoted name that replaces the relation in the query, and adds its scan or view on first use."""
        match relation:
            case BoundTable(snapshot=snapshot, policy=policy):
                key = (snapshot.table_root, snapshot.version, _BySchema(snapshot.schema), policy)
                return self._once(key, lambda: self._table(relation))
            case BoundChanges(table=table, feed=feed):
                changes_key = (table.snapshot.table_root, feed.versions, table.policy)
                return self._once(
                    changes_key, lambda: self._protected_relation(table, feed.schema, self._changes(relation))
                )
            case BoundMetadata(label=label, content=content):
                return self._add_view(label, metadata_query(content, self._add_rows(label, metadata_rows(content))))
            case BoundFiles():
                self.scans.append(files_scan(self._new_names.new("scan"), relation))
                return self.scans[-1].relation
            case BoundView(entry=entry, rows=GivenRows() as rows):
                return self._once(entry.name, lambda: self._add_rows(relation.label, rows))
            case BoundView(entry=FrameView() as entry):
                return self._frame(relation, entry)
            case BoundView(entry=entry):
                # A view that a policy reads has no policies below it, while the same view elsewhere may have.
                policies = tuple(table.policy for table in tables_of((relation,)))
                view_key = (entry.name, policies, self._is_policy, self._is_in_view)
                return self._once(view_key, lambda: self._view(relation))
            case BoundInBody(relation=named, is_hidden=is_hidden):
                name = self.name(named)
                self._hidden |= {name} if is_hidden else set()
                return name
            case _:
                assert_never(relation)

    def _once(self, key: Hashable, make: Callable[[], str]) -> str:
        if key not in self._names:
            self._names[key] = make()
        return self._names[key]

    def scan(self, table: BoundTable) -> str:
        """Adds a table's scan and returns its unquoted name.

        Raises `TableWithoutColumns`, except for a view's definition.
        """
        if not table.snapshot.schema.fields and not self._is_definition:
            raise TableWithoutColumns(table.label)
        return self._add(read_scan(self._new_names.new("scan"), table, self._new_names.contains_word))

    def _add(self, scan: Scan | ComposedScan, *, is_hidden: bool = False) -> str:
        """Returns the relation name for a table's rows, from one scan or a query over several."""
        parts = tuple(part.scan for part in scan.parts) if isinstance(scan, ComposedScan) else (scan,)
        self.scans += (replace(each, is_hidden=True) for each in parts) if is_hidden else parts
        if isinstance(scan, ComposedScan):
            self.views.append(
                ViewScan(
                    relation=scan.relation,
                    label=scan.label,
                    text=scan.text,
                    columns=(),
                    unlisted_columns=scan.hidden_columns,
                )
            )
        return scan.relation

    def _table(self, table: BoundTable) -> str:
        if table.policy is None:
            return self.scan(table)
        scan = unfiltered_scan(self._new_names.new("scan"), table)
        return self._protected_relation(table, table.snapshot.schema, self._add(scan, is_hidden=True))

    def _protected_relation(self, table: BoundTable, schema: StructType, relation: str) -> str:
        """Returns the relation name for the visible rows of `relation`: its own, or the name of a view that hides
        some.
        """
        if table.policy is None:
            return relation
        texts = self.policy_texts(table.policy)
        text = policy_text(texts, schema, relation)
        return self._append(
            ViewScan(
                relation=self._new_names.new("view"),
                label=table.label,
                text=text,
                columns=(),
                is_barrier=True,
                settings=texts.settings,
            )
        )

    def policy_texts(self, policy: BoundPolicy) -> PolicyTexts:
        """Returns the policy's SQL; its reads are not reported."""
        before, self._is_policy = len(self.scans), True
        texts = PolicyTexts(
            filters=tuple(map(self._expression, policy.filters)),
            masks=tuple((column, self._expression(mask)) for column, mask in policy.masks),
            settings=policy.settings,
        )
        self._is_policy = False
        self.scans[before:] = [replace(scan, is_hidden=True) for scan in self.scans[before:]]
        return texts

    def _expression(self, expression: BoundExpression) -> str:
        return expression_in(self.splice_text(expression.query, expression.relations))

    def _changes(self, changes: BoundChanges) -> str:
        """Adds one scan, or a view over two."""
        names = []
        for kind in changes.feed.kinds:
            names.append(self._new_names.new("scan"))
            self.scans.append(change_scan(names[-1], changes, kind))
        if len(names) == 1:
            return names[0]
        return self._add_view(changes.table.label, " UNION ALL ".join(f"SELECT * FROM {name}" for name in names))

    def _view(self, view: BoundView) -> str:
        is_inner = self._is_in_view
        self._is_in_view = is_inner or not is_temporary(view.name)
        text = self.splice_text(view.query, view.relations)
        self._is_in_view = is_inner
        mode = view.entry.schema_mode
        columns = () if mode is SchemaMode.EVOLUTION else view.entry.columns
        return self._append(
            ViewScan(
                relation=self._new_names.new("view"),
                label=view.label,
                text=text,
                columns=tuple((column.source, column.name, column.type) for column in columns),
                temporary=is_temporary(view.name),
                is_hidden=view.is_hidden,
                hides_places=view.is_hidden and not is_inner,
                settings=view.entry.settings,
                schema_mode=mode,
            )
        )

    def _frame(self, view: BoundView, entry: FrameView) -> str:
        """Adds a DataFrame after its inputs, which have no name that another one could share."""
        place = view.label if entry.is_named and not entry.frame.is_source else ""
        inputs = []
        for each in view.relations:
            assert isinstance(each, BoundView) and isinstance(each.entry, InputView)
            inputs.append(
                FrameInput(
                    name=each.name.table, relation=self._input(each, each.entry, entry, place), alias=each.entry.alias
                )
            )
        plan = base64.b64encode(entry.frame.plan).decode()
        return self._append(
            ViewScan(
                relation=self._new_names.new("view"),
                label=view.label if entry.is_named else entry.frame.description,
                text="",
                columns=tuple((column.source, column.name, column.type) for column in entry.columns),
                temporary=True,
                settings=entry.settings if entry.is_named else None,
                schema_mode=entry.schema_mode,
                frame=FrameScan(plan=plan, inputs=tuple(inputs), expressions=entry.frame.expressions),
                place=place,
            )
        )

    def _input(self, view: BoundView, entry: InputView, frame: FrameView, place: str) -> str:
        return self._append(
            ViewScan(
                relation=self._new_names.new("view"),
                label=".".join(entry.alias) or entry.name.table,
                text=self.splice_text(view.query, view.relations),
                columns=(),
                temporary=True,
                settings=frame.settings if frame.is_named else None,
                parameters=entry.parameters,
                place=place,
            )
        )

    def _add_rows(self, label: str, rows: GivenRows) -> str:
        self.given.append(RowScan(relation=self._new_names.new("rows"), label=label, rows=rows))
        return self.given[-1].relation

    def _add_view(self, label: str, text: str) -> str:
        """Adds a view that belongs to the statement: a table's changes, or its metadata."""
        settings = () if self._is_policy else None
        return self._append(
            ViewScan(relation=self._new_names.new("view"), label=label, text=text, columns=(), settings=settings)
        )

    def _append(self, view: ViewScan) -> str:
        self.views.append(view)
        return view.relation


@dataclass(frozen=True, slots=True)
class PolicyTexts:
    """A bound policy as SQL over the table's columns and the scans that it also reads, with the settings under which
    its functions were created.
    """

    filters: tuple[str, ...]
    masks: tuple[tuple[str, str], ...]
    settings: tuple[tuple[str, str], ...] = ()


def policy_text(
    policy: PolicyTexts, schema: StructType, relation: str, more: Sequence[str] = (), *, is_filtered: bool = True
) -> str:
    """Returns a query over `relation`, which has the columns of `schema` and possibly hidden ones. `more` are
    additional select items. Not `is_filtered`: values are masked, and all rows are read.
    """
    masks = {fold(name): mask for name, mask in policy.masks}
    columns = []
    for column in schema.fields:
        mask = masks.get(fold(column.name))
        name = quote(column.name)
        columns.append(name if mask is None else f"CAST({mask} AS {column_sql_type(column)}) AS {name}")
    condition = " AND ".join(f"({each})" for each in policy.filters) if is_filtered else ""
    return f"SELECT {', '.join((*columns, *more))} FROM {quote(relation)}" + (
        f" WHERE {condition}" if condition else ""
    )
