"""Rows that a DELETE or an INSERT deletes one by one: which files hold some, and the rows of these that are kept.

A file without such a row is not touched, a file of nothing else is removed. For the others there are two strategies.
Copy-on-write: one job counts the deleted rows of each file (the scan leaves out files by their statistics, and rows of
deletion vectors), another copies the kept rows (`engine.write.copied_rows`): rules for new rows, the condition itself
among them, are not for these. Or, where the table enables deletion vectors, one job finds the deleted rows, and vectors
mark them (`engine.write.marked_rows`); a file whose number of rows is unknown is copied all the same, since it cannot
have a vector. New rows, copies, vectors and removes are one commit.

Where the table has a change data feed, one more job writes the deleted rows and the new ones into change files, for the
feed would show copies as new rows otherwise. Where whole files are removed, the removed and the new files tell the
same. Readers could derive changes from vectors; not all do.

Protocol: "Change Data Files", "Writer Requirements for AddCDCFile", "Deletion Vectors".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from catalog.names import quote
from engine.bind.bound import BoundTable
from engine.delta.commit.new_files import NewFiles
from engine.delta.commit.read_set import FilePredicate
from engine.delta.commit.staged_commit import adds_of, num_records
from engine.delta.commit.transaction import Transaction
from engine.delta.definition.table_config import TableConfig
from engine.delta.delta_format import delta_snapshot
from engine.delta.feed.change_files import CHANGE_FOLDER, CHANGE_TYPE
from engine.delta.log.file_table import with_entries
from engine.delta.spec.actions import AddCdcFile
from engine.exec.run import Run
from engine.plan.reads.scans import FILE_METADATA, scan_of
from engine.plans.reads import ReadPlan
from engine.plans.write_plan import WritePlan
from engine.runtime.parameters import Parameter
from engine.sql.free_names import free_names
from engine.table.scan import Scan
from engine.types.schema import PrimitiveType, StructField, StructType
from engine.write.copied_rows import RELATION, Copying, copied_rows
from engine.write.marked_rows import MarkedFiles, RowSet, can_mark, marked_rows
from engine.write.staged_files import new_files

_NEW, _INSERTED = "__scan_1", "__scan_2"
_OLD_ROWS, _NEW_ROWS = "__old_rows", "__new_rows"
"""What the SQL calls the rows, unless a column has the name: with table alias `t`, column `x` hides field `t.x`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Remainder:
    """`removed` are live files, of `FILES_SCHEMA`. The rows of theirs that stay are in `copied`, or in `marked`, which
    are some of these files with other deletion vectors; None where there are none.
    """

    removed: pa.Table
    copied: NewFiles | None = None
    marked: MarkedFiles | None = None
    num_deleted: int | None = None
    """Rows that go, where they were counted."""
    reads: FilePredicate | None = None
    """Which files hold rows that would have gone too, had they been there; None: any may."""
    changes: tuple[AddCdcFile, ...] = ()
    """The files that say which rows went and came; empty where the other files say it."""

    @property
    def keeps_rows(self) -> bool:
        """Whether rows of the removed files are there afterwards."""
        return self.copied is not None or self.marked is not None

    @property
    def removal_metrics(self) -> dict[str, int]:
        """Of the files that go as files; those that get other vectors stay."""
        kept = self.marked.files if self.marked else self.removed.slice(0, 0)
        return {
            "numRemovedFiles": self.removed.num_rows - kept.num_rows,
            "numRemovedBytes": _num_bytes(self.removed) - _num_bytes(kept),
        }

    @property
    def vector_metrics(self) -> dict[str, int]:
        vectors = self.removed["deletion_vector"]
        return {
            "numDeletionVectorsAdded": self.marked.files.num_rows if self.marked else 0,
            "numDeletionVectorsRemoved": len(vectors) - vectors.null_count,
            "numDeletionVectorsUpdated": self.marked.num_updated if self.marked else 0,
        }

    def stage_in(self, transaction: Transaction) -> None:
        """All of it, and what of the table it depends on."""
        if self.reads is None:
            transaction.read_whole_table()
        else:
            transaction.depend_on(self.reads, self.removed["path"])
        transaction.stage_removes(self.removed)
        for batch in self.marked.files.to_batches() if self.marked else ():
            transaction.stage_adds(batch)
        transaction.stage(*(self.copied.adds if self.copied else ()), *self.changes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Replacing:
    """The new rows, and the table as it is with them."""

    new: NewFiles
    config: TableConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """SQL that follows `FROM` and the table: with `deleted` the rows that go are left, with `kept` the others, once.

    `alias` is what the SQL calls the table; no column of it has this name.
    """

    alias: str
    deleted: str
    kept: str
    scans: tuple[Scan, ...] = ()
    """What the SQL names besides the table."""
    parameters: Sequence[Parameter] = ()
    """For its markers."""


def where(table: BoundTable, condition: str, parameters: Sequence[Parameter] = ()) -> Selection:
    """The rows for which `condition` is true: SQL over the table's columns, in parentheses."""
    return Selection(
        parameters=parameters,
        alias=_alias(_OLD_ROWS, table.snapshot.schema),
        deleted=f"WHERE {condition}",
        kept=f"WHERE {condition} IS NOT TRUE",
    )


def equal_to(table: BoundTable, columns: Iterable[str], new: NewFiles) -> Selection:
    """The rows that equal one of the `new` ones in `columns`, where NULL equals nothing."""
    files = pa.Table.from_batches([adds_of(new.adds)])
    scan = replace(scan_of(_NEW, table), files=files, choice=None, row_tracking=None)
    schema = table.snapshot.schema
    old, fresh = _alias(_OLD_ROWS, schema), _alias(_NEW_ROWS, schema)
    condition = " AND ".join(f"{old}.{quote(name)} = {fresh}.{quote(name)}" for name in columns)
    join = f"JOIN {_NEW} AS {fresh} ON {condition}"
    return Selection(alias=old, deleted=f"LEFT SEMI {join}", kept=f"LEFT ANTI {join}", scans=(scan,))


def _alias(stem: str, schema: StructType) -> str:
    (name,) = free_names(stem, schema.names, 1)
    return name


@contextmanager
def without_rows(table: BoundTable, selection: Selection, replacing: Replacing | None, run: Run) -> Iterator[Remainder]:
    """What takes the selected rows away, for new ones if any; if the block that commits it fails, the files that it
    wrote go.
    """
    run = replace(run, parameters=selection.parameters)
    files, marks = table.snapshot.files, can_mark(table)
    rows = _find_going(table, selection, run) if marks else {}
    found = {position: len(each) for position, each in rows.items()} if marks else _count_deleted(table, selection, run)
    counts = np.zeros(files.num_rows, np.int64)
    for position, count in found.items():
        counts[position] = count
    touched, live = counts > 0, live_rows(files)
    partly = touched & (counts != live)
    marked = partly & (live >= 0) if marks else np.zeros(files.num_rows, bool)
    removed, copied = files.filter(pa.array(touched)), partly & ~marked
    with ExitStack() as staged:
        remainder = Remainder(removed=removed, num_deleted=int(counts.sum()))
        if copied.any():
            new = copied_rows(table, files.filter(pa.array(copied)), _copying(selection), run)
            remainder = replace(remainder, copied=staged.enter_context(new))
        if marked.any():
            deleted = [rows[position] for position in np.flatnonzero(marked).tolist()]
            vectors = marked_rows(table, files.filter(pa.array(marked)), deleted, run)
            remainder = replace(remainder, marked=staged.enter_context(vectors))
        if partly.any() or not removal_tells(removed):
            changes = _changes(table, selection, removed, replacing, run)
            remainder = replace(remainder, changes=staged.enter_context(changes))
        yield remainder


def counting_rows(whole: Remainder) -> Remainder:
    """Of whole files that go, with the number of their rows where the log knows it."""
    live = live_rows(whole.removed)
    return replace(whole, num_deleted=int(live.sum())) if (live >= 0).all() else whole


def removal_tells(removed: pa.Table) -> bool:
    """Whether every reader of a change data feed takes from the removes of whole files which rows went: delta-rs takes
    rows for deleted that a file's vector has hidden before.
    """
    return bool(removed["deletion_vector"].null_count == removed.num_rows)


def _copying(selection: Selection) -> Copying:
    return Copying(alias=selection.alias, rest=selection.kept, scans=selection.scans, parameters=selection.parameters)


@contextmanager
def _changes(
    table: BoundTable, selection: Selection, removed: pa.Table, replacing: Replacing | None, run: Run
) -> Iterator[tuple[AddCdcFile, ...]]:
    """The rows of `removed` that go and the new ones, in the columns that the table has from now on."""
    config = delta_snapshot(table.snapshot).config if replacing is None else replacing.config
    if not config.is_enabled("changeDataFeed"):
        yield ()
        return
    names, old = config.schema.names, selection.alias
    with_all = replace(scan_of(RELATION, table), schema=config.schema, choice=None, row_tracking=None)
    text = f"SELECT {_columns(old, names)}, 'delete' FROM {RELATION} AS {old} {selection.deleted}"
    scans = (replace(with_all, files=removed), *selection.scans)
    if replacing is not None:
        fresh, new = _alias(_NEW_ROWS, config.schema), pa.Table.from_batches([adds_of(replacing.new.adds)])
        text += f" UNION ALL SELECT {_columns(fresh, names)}, 'insert' FROM {_INSERTED} AS {fresh}"
        scans = (*scans, replace(with_all, relation=_INSERTED, files=new))
    rows = WritePlan(
        table=table.label,
        config=config,
        target_columns=config.schema.fields,
        extra_columns=(StructField(CHANGE_TYPE, PrimitiveType.STRING),),
    )
    source = ReadPlan(text=text, scans=scans)
    with new_files(source, rows, delta_snapshot(table.snapshot).storage, run, CHANGE_FOLDER) as written:
        yield tuple(
            AddCdcFile(path=add.path, partition_values=add.partition_values, size=add.size) for add in written.adds
        )


def _columns(alias: str, names: Iterable[str]) -> str:
    return ", ".join(f"{alias}.{quote(name)}" for name in names)


def _count_deleted(table: BoundTable, selection: Selection, run: Run) -> dict[int, int]:
    """Position of a file, and how many of its rows go, for each with some."""
    (position,) = free_names("__file", table.snapshot.schema.names, 1)
    marked = f"{selection.alias}.{position}"
    text = f"SELECT {marked}, count(*) FROM {RELATION} AS {selection.alias} {selection.deleted} GROUP BY {marked}"
    return dict(_asked(table, selection, position, text, run))


def _find_going(table: BoundTable, selection: Selection, run: Run) -> dict[int, RowSet]:
    """Position of a file, and which of its rows go, for each with some."""
    (position,) = free_names("__file", table.snapshot.schema.names, 1)
    alias = selection.alias
    found = f"SELECT {alias}.{position} AS f, {alias}.{FILE_METADATA}.row_index + 1 AS i"
    bucket, bits = "bitmap_bucket_number(i)", "bitmap_construct_agg(bitmap_bit_position(i))"
    text = (
        f"SELECT f, {bucket}, {bits} FROM ({found} FROM {RELATION} AS {alias} {selection.deleted}) GROUP BY f, {bucket}"
    )
    rows: dict[int, RowSet] = {}
    for file, number, bitmap in _asked(table, selection, position, text, run):
        rows.setdefault(file, RowSet()).add(number, bitmap)
    return rows


def _asked(table: BoundTable, selection: Selection, position: str, text: str, run: Run) -> Iterator[tuple[Any, ...]]:
    """The rows of a query over the table with one more column, the `position` of a row's file."""
    scan = replace(_with_positions(scan_of(RELATION, table), position), row_tracking=None)
    read = ReadPlan(text=text, scans=(scan, *selection.scans))
    context = replace(run.context, statement_id=f"{run.context.statement_id}-matching")
    result = run.executor.run_query(read, context, run.parameters)
    try:
        for batch in result.batches():
            yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)
    finally:
        result.close()


def _with_positions(scan: Scan, name: str) -> Scan:
    """A scan with the position of a row's file as one more column."""
    files = scan.files
    positions = pa.array(range(files.num_rows), pa.int64())
    marked = with_entries(_one_array(files["partition_values"]), {name: positions.cast(pa.string())})
    at = files.schema.get_field_index("partition_values")
    return replace(
        scan,
        schema=StructType((*scan.schema.fields, StructField(name, PrimitiveType.LONG))),
        partition_columns=(*scan.partition_columns, name),
        files=files.set_column(at, files.schema.field(at), marked),
    )


def live_rows(files: pa.Table) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """How many rows each file has that are not deleted; -1 where its statistics do not say."""
    physical = num_records(_one_array(files["stats"]))
    vectors = _one_array(files["deletion_vector"])
    deleted = pc.fill_null(pc.struct_field(vectors, "cardinality"), 0)
    live = pc.subtract(physical, pc.cast(deleted, pa.int64()))
    return np.asarray(pc.fill_null(live, -1), np.int64)


def _num_bytes(files: pa.Table) -> int:
    return pc.sum(files["size"]).as_py() or 0


def _one_array(column: pa.ChunkedArray) -> pa.Array:
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)
