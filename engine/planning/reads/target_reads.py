"""Reads of the table that a statement changes: the places of rows, and their new values.

The table is one relation of the statement's text, with a scan of its own: what is read of it in subqueries is the table
as it was, whatever files the scan is given when the read runs (`engine.execution.writes.found_rows`). The hidden column
of that scan, which tells the place of a row, has a name of its own too, so that no other relation and no column hides
it. The source of a MERGE has the same: its text has a placeholder for it.

Where row filters or column masks apply to the table, the statement's expressions are evaluated over views
(:class:`PolicedTarget`), above the barrier that they are: rows that are hidden are not found, so they stay as they are,
and conditions and new values see masked values. Columns that are not assigned keep what is stored, which the views have
too, under names that occur nowhere in the statement; so has the place of each row. A `*` would name these, and is
refused (`engine.planning.rules.conditions`). The rows that were found are read a second time, by their places, for
their new values. Then the filter is not evaluated again: that read decides what is written in the places of rows that
go.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from catalog.names import fold, quote
from engine.binding.bound import BoundPolicy, BoundRelation, BoundTable
from engine.planning.plans.reads import ReadPlan, TargetRead, ViewScan
from engine.planning.reads.read_plan import PolicyTexts, Reading, policy_text, texts_of
from engine.planning.reads.scans import scan_of, with_row_ids_if_asked
from engine.sql.query.composed import Names
from engine.sql.query.source_text import joined
from engine.sql.query.splice import Edit
from engine.sql.query.values import Query, TargetQuery
from engine.tables.scan import RowTracking, Scan

BoundQuery = tuple[Query, tuple[BoundRelation, ...]]


class TargetReading:
    """The reads of one statement, which share names: of relations, of hidden columns, and of values under way."""

    def __init__(
        self,
        table: BoundTable,
        queries: Iterable[BoundQuery],
        taken: Iterable[str] = (),
        *,
        policy: BoundPolicy | None = None,
        apart: bool = False,
    ) -> None:
        """`queries` are all that the statement has; `taken` are names besides those in their texts. `policy` is what is
        read of the table (:func:`policy_of_target`). `apart`: the table and the source have one name, and get aliases
        (`engine.sql.query.splice.own_alias`).
        """
        assert policy is not None or not table.is_policed
        texts = [text for query, relations in queries for text in texts_of(query, relations)]
        self.names = Names((*texts, *taken, *table.snapshot.schema.names))
        self._reading = Reading(self.names)
        self.target = replace(scan_of(self.names.new("scan"), table), metadata=self.names.new("place"))
        self._policed: PolicedTarget | None = None
        if policy is not None:
            self.target = replace(self.target, is_hidden=True)
            self._policed = PolicedTarget.of(self._reading.policy_texts(policy), self.target, self.names)
        self.source: Scan | None = None
        self._apart = apart

    def stored(self, column: str) -> str:
        """SQL for the stored value of a column, in the queries of this reading."""
        masked = {} if self._policed is None else self._policed.stored
        return masked.get(fold(column)) or quote(column)

    def spliced(
        self,
        query: TargetQuery,
        relations: tuple[BoundRelation, ...],
        items: str,
        others: Sequence[Edit] = (),
        instead: Sequence[Edit] = (),
        *,
        are_found: bool = False,
    ) -> str:
        """The text of a query with more `items` to select, and `others` edits (see :func:`splice`), over this reading's
        scans. `are_found`: the target's scan has the rows alone that were found.
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
        return self._reading.spliced(query.query, relations, edits, names, apart, instead)

    def _target_name(self, *, are_found: bool) -> str:
        if self._policed is None:
            return self.target.relation
        return (self._policed.chosen if are_found else self._policed.visible).relation

    def read_source(self, query: Query, relations: tuple[BoundRelation, ...]) -> ReadPlan:
        """The query of a source by itself."""
        return self.beside_target(self._reading.spliced(query, relations))

    def beside_target(self, text: str) -> ReadPlan:
        """A read of a text that does not name the table as the one that changes."""
        plan = self._reading.plan(text)
        return with_row_ids_if_asked(plan)

    def read_places(self, text: str, *, is_once: bool) -> TargetRead:
        """A read of a composed text that asks for the numbers of files."""
        return with_numbers(self.read(text, is_once=is_once))

    def read(self, text: str, *, of: Scan | None = None, is_once: bool = False, with_ids: bool = False) -> TargetRead:
        """A read of a composed text, whose target is the table or another scan. `with_ids`: it asks for row ids."""
        target = self.target if with_ids else replace(self.target, row_tracking=None)
        own = (target,) if self.source is None else (target, self.source)
        others = self.beside_target(text)
        views = [view for view in self._policed.views if view.relation in text] if self._policed is not None else []
        # What the target's policies read is made first.
        plan = replace(others, scans=(*own, *others.scans), views=(*others.views, *views))
        source = None if self.source is None else self.source.relation
        is_once = is_once and self._policed is None
        return TargetRead(read=plan, target=(of or target).relation, is_once=is_once, source=source)


def policy_of_target(relations: Sequence[BoundRelation], at: int | None) -> BoundPolicy | None:
    """What is read of the table that a statement changes, which is its relation `at`."""
    target = None if at is None else relations[at]
    return target.policy if isinstance(target, BoundTable) else None


def places_of(
    reading: TargetReading, query: TargetQuery, relations: tuple[BoundRelation, ...], *, is_once: bool
) -> TargetRead:
    """The places of the rows that `query` means, as bitmaps."""
    return reading.read_places(
        bitmaps(reading.spliced(query, relations, place_columns(reading.target))), is_once=is_once
    )


def place_columns(scan: Scan, kind: str = "0") -> str:
    """A list to select: the number of the file, what happens to the row (an expression), its index from 1."""
    return f"{scan.metadata}.base_row_id AS f, {kind} AS k, {scan.metadata}.row_index + 1 AS i"


def bitmaps(places: str) -> str:
    """A query for the rows that a query of place columns answers, as `engine.execution.writes.found_rows` reads
    them."""
    bucket, bits = "bitmap_bucket_number(i)", "bitmap_construct_agg(bitmap_bit_position(i))"
    return joined((f"SELECT f, k, {bucket}, {bits}, count(*) FROM (", places, f"\n) GROUP BY f, k, {bucket}"))


def arranged(text: str, names: Sequence[str], items: Sequence[str], condition: str | None = None) -> str:
    """A query for `items`, SQL over the columns of a query, which get these names."""
    where = "" if condition is None else f" WHERE {condition}"
    return joined((f"SELECT {', '.join(items)} FROM (", text, f"\n) AS given({', '.join(names)}){where}"))


def places_where(table: BoundTable, rest: str, scans: Sequence[Scan] = ()) -> TargetRead:
    """The places of the rows of `table` that are left by SQL after its name in FROM; it may name other `scans`."""
    names = Names((rest, *table.snapshot.schema.names, *(scan.relation for scan in scans)))
    scan = numbered(replace(scan_of(names.new("scan"), table), metadata=names.new("place")))
    text = bitmaps(f"SELECT {place_columns(scan)} FROM {scan.relation} {rest}")
    return TargetRead(read=ReadPlan(text=text, scans=(scan, *scans)), target=scan.relation, is_once=True)


def with_numbers(read: TargetRead) -> TargetRead:
    """With numbers for the files of the target and of the source of a MERGE. Other scans keep the row ids that they
    have, which a subquery may ask for.
    """
    return read.over(*(numbered(scan) for scan in read.read.scans if scan.relation in (read.target, read.source)))


def numbered(scan: Scan) -> Scan:
    """A scan that numbers its files, for the hidden column that has a name of its own."""
    files = scan.files
    positions = pa.array(np.arange(scan.files.num_rows))
    for name in ("base_row_id", "default_row_commit_version"):
        at = files.schema.get_field_index(name)
        files = files.append_column(name, positions) if at < 0 else files.set_column(at, name, positions)
    tracking = RowTracking(row_id_column=None, row_commit_version_column=None)
    return replace(scan, files=files, row_tracking=tracking)


@dataclass(frozen=True, slots=True)
class PolicedTarget:
    """`visible` is the view of the rows that may be found, `chosen` that of rows that were. `stored` are SQL names, by
    the folded names of masked columns.
    """

    visible: ViewScan
    chosen: ViewScan
    stored: Mapping[str, str]

    @property
    def views(self) -> tuple[ViewScan, ...]:
        return self.visible, self.chosen

    @classmethod
    def of(cls, policy: PolicyTexts, scan: Scan, names: Names) -> PolicedTarget:
        """`scan` has a name of its own for its hidden column."""
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
