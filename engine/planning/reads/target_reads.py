"""Reads of a statement's target table: row positions, and the new values.

The target is one relation in the statement's text, with its own scan: subqueries read the table in its original state,
independent of the files that the scan receives at execution (`engine.execution.writes.matched_rows`). The scan's hidden
column with the row position also has a generated name, so that no other relation and no column hides it. A MERGE source
is handled the same way: its text has a placeholder for it.

If row filters or column masks apply to the table, the statement's expressions are evaluated over views
(:class:`ProtectedTarget`), above their barrier: hidden rows are not matched, so they stay unchanged, and conditions and
new values see masked values. Unassigned columns keep their stored values, which the views also contain, under names
that occur nowhere in the statement; the same holds for each row's position. A `*` would include these columns, and is
rejected (`engine.planning.semantics.conditions`). The matched rows are read a second time, by position, for their new
values. The filter is not evaluated again then: that read determines the values that replace deleted rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from catalog.names import fold, quote
from engine.binding.bound import BoundPolicy, BoundRelation, BoundTable
from engine.errors.table_errors import name_table_in_errors
from engine.planning.plans.reads import ReadPlan, TargetRead, ViewScan
from engine.planning.reads.read_plan import PolicyTexts, Reading, policy_text, texts_of
from engine.planning.reads.scans import scan_of, with_requested_row_ids
from engine.sql.query.composed import Names
from engine.sql.query.source_text import join_texts
from engine.sql.query.splice import Edit
from engine.sql.query.values import Query, TargetQuery
from engine.tables.scan import RowTracking, Scan
from engine.tables.snapshot import UnresolvedDeletes

BoundQuery = tuple[Query, tuple[BoundRelation, ...]]


class TargetReading:
    """The reads of one statement, which share names for relations, hidden columns, and intermediate values."""

    def __init__(
        self,
        table: BoundTable,
        queries: Iterable[BoundQuery],
        taken: Iterable[str] = (),
        *,
        policy: BoundPolicy | None = None,
        apart: bool = False,
    ) -> None:
        """Starts the reads. `queries` are all queries in the statement; `taken` are names besides those in their texts.
        `policy` is the target's policy for reading (:func:`policy_of_target`). `apart`: table and source have the same
        name, and get aliases (`engine.sql.query.splice.generated_alias`).
        """
        assert policy is not None or not table.is_protected
        texts = [text for query, relations in queries for text in texts_of(query, relations)]
        self.names = Names((*texts, *taken, *table.snapshot.schema.names))
        self._reading = Reading(self.names)
        self.target = replace(scan_of(self.names.new("scan"), table), metadata=self.names.new("place"))
        self._protected_target: ProtectedTarget | None = None
        if policy is not None:
            self.target = replace(self.target, is_hidden=True)
            self._protected_target = ProtectedTarget.of(self._reading.policy_texts(policy), self.target, self.names)
        self.source: Scan | None = None
        self._apart = apart

    def stored_value(self, column: str) -> str:
        """Returns SQL for a column's stored value, in this reading's queries."""
        masked = {} if self._protected_target is None else self._protected_target.stored
        return masked.get(fold(column)) or quote(column)

    def splice_text(
        self,
        query: TargetQuery,
        relations: tuple[BoundRelation, ...],
        items: str,
        others: Sequence[Edit] = (),
        instead: Sequence[Edit] = (),
        *,
        are_found: bool = False,
    ) -> str:
        """Returns a query's text with additional select `items`, and `others` edits (see :func:`splice`), over this
        reading's scans. `are_found`: the target's scan contains only the matched rows.
        """
        edits: list[Edit] = [(query.items, items), *others]
        own = {query.target: self._target_name(are_found=are_found)}
        if query.source is not None:
            assert self.source is not None
            if query.source_relation is None:
                edits.append((query.source, self.source.relation))
            else:
                own[query.source_relation] = self.source.relation
        names = [own.get(at) or self._reading.name(relation) for at, relation in enumerate(relations)]
        apart = [at for at in own if at is not None] if self._apart else ()
        return self._reading.splice_text(query.query, relations, edits, names, apart, instead)

    def _target_name(self, *, are_found: bool) -> str:
        if self._protected_target is None:
            return self.target.relation
        # The filter has selected the rows already, in the query that found them. Evaluating
        # a volatile filter again could drop rows that are deleted anyway.
        return (self._protected_target.matched_view if are_found else self._protected_target.visible).relation

    def read_source(self, query: Query, relations: tuple[BoundRelation, ...]) -> ReadPlan:
        """Reads a source query on its own."""
        return self.beside_target(self._reading.splice_text(query, relations))

    def beside_target(self, text: str) -> ReadPlan:
        """Reads a text that does not name the target as the changing table."""
        plan = self._reading.plan(text)
        return with_requested_row_ids(plan)

    def read_places(self, text: str, *, is_once: bool) -> TargetRead:
        """Reads a composed text that selects file numbers."""
        return with_numbers(self.read(text, is_once=is_once))

    def read(self, text: str, *, of: Scan | None = None, is_once: bool = False, with_ids: bool = False) -> TargetRead:
        """Reads a composed text whose target is the table or another scan. `with_ids`: it selects row ids."""
        target = self.target if with_ids else replace(self.target, row_tracking=None)
        own = (target,) if self.source is None else (target, self.source)
        others = self.beside_target(text)
        views = (
            [view for view in self._protected_target.views if view.relation in text]
            if self._protected_target is not None
            else []
        )
        # The relations that the target's policies read come first.
        plan = replace(others, scans=(*own, *others.scans), views=(*others.views, *views))
        source = None if self.source is None else self.source.relation
        is_once = is_once and self._protected_target is None
        return TargetRead(read=plan, target=(of or target).relation, is_once=is_once, source=source)


def policy_of_target(relations: Sequence[BoundRelation], at: int | None) -> BoundPolicy | None:
    """Returns the policy for reading the statement's target table, which is its relation `at`."""
    target = None if at is None else relations[at]
    return target.policy if isinstance(target, BoundTable) else None


def places_of(
    reading: TargetReading, query: TargetQuery, relations: tuple[BoundRelation, ...], *, is_once: bool
) -> TargetRead:
    """Reads the positions of the rows that `query` selects, as bitmaps."""
    return reading.read_places(
        bitmaps(reading.splice_text(query, relations, place_columns(reading.target))), is_once=is_once
    )


def place_columns(scan: Scan, kind: str = "0") -> str:
    """Returns select items: the file number, the row's action (an expression), its index from 1."""
    return f"{scan.metadata}.base_row_id AS f, {kind} AS k, {scan.metadata}.row_index + 1 AS i"


def bitmaps(places: str) -> str:
    """Returns a query that aggregates a place query's rows into bitmaps, for `engine.execution.writes.matched_rows`."""
    # One row per 32768 positions instead of one per matched row: the driver's memory is
    # bounded by the number of rows in the table, at one bit each.
    bucket, bits = "bitmap_bucket_number(i)", "bitmap_construct_agg(bitmap_bit_position(i))"
    return join_texts((f"SELECT f, k, {bucket}, {bits}, count(*) FROM (", places, f"\n) GROUP BY f, k, {bucket}"))


def project(text: str, names: Sequence[str], items: Sequence[str], condition: str | None = None) -> str:
    """Returns a query for `items`, SQL over the columns of a query, which get these names."""
    where = "" if condition is None else f" WHERE {condition}"
    return join_texts((f"SELECT {', '.join(items)} FROM (", text, f"\n) AS given({', '.join(names)}){where}"))


def places_where(table: BoundTable, rest: str, scans: Sequence[Scan] = ()) -> TargetRead:
    """Reads the positions of the rows of `table` that remain under SQL after its name in FROM; it may name other
    `scans`.
    """
    names = Names((rest, *table.snapshot.schema.names, *(scan.relation for scan in scans)))
    scan = with_row_numbers(replace(scan_of(names.new("scan"), table), metadata=names.new("place")))
    text = bitmaps(f"SELECT {place_columns(scan)} FROM {scan.relation} {rest}")
    return TargetRead(read=ReadPlan(text=text, scans=(scan, *scans)), target=scan.relation, is_once=True)


def with_numbers(read: TargetRead) -> TargetRead:
    """Returns the read with file numbers for the target and a MERGE source. Other scans keep their row ids, which a
    subquery may use.
    """
    return read.over(
        *(with_row_numbers(scan) for scan in read.read.scans if scan.relation in (read.target, read.source))
    )


def with_row_numbers(scan: Scan) -> Scan:
    """Returns a scan that numbers its files, for the hidden column with a generated name."""
    files = scan.files
    positions = pa.array(np.arange(scan.files.num_rows))
    # Spark's file source exposes per-file constants through `_metadata`; these two are the
    # ones that the scan supports for any table.
    for name in ("base_row_id", "default_row_commit_version"):
        at = files.schema.get_field_index(name)
        files = files.append_column(name, positions) if at < 0 else files.set_column(at, name, positions)
    tracking = RowTracking(row_id_column=None, row_commit_version_column=None)
    return replace(scan, files=files, row_tracking=tracking)


@dataclass(frozen=True, slots=True)
class ProtectedTarget:
    """Views over a protected target: `visible` contains the rows that may be matched, `matched_view` the matched rows.
    `stored_value` are SQL names, by the folded names of masked columns.
    """

    visible: ViewScan
    matched_view: ViewScan
    stored: Mapping[str, str]

    @property
    def views(self) -> tuple[ViewScan, ...]:
        """Returns both views in the order in which they are created."""
        return self.visible, self.matched_view

    @classmethod
    def of(cls, policy: PolicyTexts, scan: Scan, names: Names) -> ProtectedTarget:
        """Creates the views; `scan` has a generated name for its hidden column."""
        stored = {fold(column): names.new("stored") for column, _ in policy.masks}
        items = [scan.metadata, *(f"{quote(column)} AS {stored[fold(column)]}" for column, _ in policy.masks)]

        def view(*, is_filtered: bool) -> ViewScan:
            text = policy_text(policy, scan.schema, scan.relation, items, is_filtered=is_filtered)
            return ViewScan(
                relation=names.new("view"),
                label=scan.label,
                text=text,
                columns=(),
                is_barrier=True,
                settings=policy.settings,
            )

        return cls(view(is_filtered=True), view(is_filtered=False), stored)


def rows_deleted_by_value(table: BoundTable) -> UnresolvedDeletes | None:
    """Returns a table's deleted rows that no deletion vector contains; None if all are contained."""
    relation = Names(table.snapshot.schema.names).new("deleted")
    with name_table_in_errors(table.label):
        return table.snapshot.unresolved_deletes(relation, table.label)
