"""Rows that an INSERT takes away one by one: which files hold some, and what stays of these.

A file without such a row is not touched, a file of nothing else goes as a whole, and what stays of the others is
written again. Two jobs do that: one counts the rows of each file that go (the scan leaves out files by their
statistics, and deleted rows), the other copies the rows that stay. The copies are written as they are: they passed the
rules of the table when they came, and rules for new rows (generated values, the condition itself) are not for them. New
rows, copies and removes are one commit.

A table with a change data feed, whose feed would tell copies as new rows, is refused as soon as a file would have to be
written again; and so is a table that tracks its rows, whose copies would need the ids of their rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from catalog.names import quote
from engine.bound import BoundTable
from engine.commands.written_files import Writing, new_files
from engine.delta.file_table import with_entries
from engine.delta.new_files import NewFiles
from engine.delta.read_set import FilePredicate
from engine.delta.spec.schema import PrimitiveType, StructField, StructType
from engine.delta.staged_commit import adds_of, num_records
from engine.enforce.row_rules import free_names
from engine.enforce.write_plan import WritePlan
from engine.errors import StatementNotSupported
from engine.plan.plans import ReadPlan, Scan
from engine.plan.scans import scan_of

_TABLE, _NEW = "__scan_0", "__scan_1"
_OLD_ROWS, _NEW_ROWS = "__old_rows", "__new_rows"
"""What the SQL calls the two, unless a column has the name: with table alias `t`, column `x` hides field `t.x`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Remainder:
    """`removed` are live files, of `FILES_SCHEMA`; `copied` has the rows of theirs that stay, None where none do."""

    removed: pa.Table
    copied: NewFiles | None = None
    num_deleted: int | None = None
    """Rows that go, where they were counted."""
    reads: FilePredicate | None = None
    """Which files hold rows that would have gone too, had they been there; None: any may."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """SQL that follows `FROM` and the table: with `going` the rows that go are left, with `staying` the others, once.

    `alias` is what the SQL calls the table; no column of it has this name.
    """

    alias: str
    going: str
    staying: str
    scans: tuple[Scan, ...] = ()
    """What the SQL names besides the table."""


def where(table: BoundTable, condition: str) -> Selection:
    """The rows for which `condition` is true: SQL over the table's columns, in parentheses."""
    return Selection(
        alias=_alias(_OLD_ROWS, table), going=f"WHERE {condition}", staying=f"WHERE {condition} IS NOT TRUE"
    )


def equal_to(table: BoundTable, columns: Iterable[str], new: NewFiles) -> Selection:
    """The rows that equal one of the `new` ones in `columns`, where NULL equals nothing."""
    files = pa.Table.from_batches([adds_of(new.adds)])
    scan = replace(scan_of(_NEW, table), files=files, choice=None, row_tracking=None)
    old, fresh = _alias(_OLD_ROWS, table), _alias(_NEW_ROWS, table)
    condition = " AND ".join(f"{old}.{quote(name)} = {fresh}.{quote(name)}" for name in columns)
    join = f"JOIN {_NEW} AS {fresh} ON {condition}"
    return Selection(alias=old, going=f"LEFT SEMI {join}", staying=f"LEFT ANTI {join}", scans=(scan,))


def _alias(stem: str, table: BoundTable) -> str:
    (name,) = free_names(stem, table.snapshot.schema.names, 1)
    return name


@contextmanager
def without_rows(table: BoundTable, selection: Selection, writing: Writing) -> Iterator[Remainder]:
    """What takes the selected rows away; if the block that commits it fails, the copies go."""
    files, found = table.snapshot.files, _count_going(table, selection, writing)
    counts = np.zeros(files.num_rows, np.int64)
    for position, count in found:
        counts[position] = count
    touched = counts > 0
    partly = touched & (counts != _live_rows(files))
    removed, num_deleted = files.filter(pa.array(touched)), int(counts.sum())
    if not partly.any():
        yield Remainder(removed=removed, copied=None, num_deleted=num_deleted)
        return
    _ensure_copies_allowed(table)
    scan = replace(scan_of(_TABLE, table), files=files.filter(pa.array(partly)), choice=None, row_tracking=None)
    text = f"SELECT {selection.alias}.* FROM {_TABLE} AS {selection.alias} {selection.staying}"
    source = ReadPlan(text=text, scans=(scan, *selection.scans))
    config = table.snapshot.config
    rows = WritePlan(table=table.label, config=config, given=config.schema.fields)
    with new_files(source, rows, table.snapshot.storage, replace(writing, parameters=())) as copied:
        yield Remainder(removed=removed, copied=copied, num_deleted=num_deleted)


def _count_going(table: BoundTable, selection: Selection, writing: Writing) -> list[tuple[int, int]]:
    """Position of a file, and how many of its rows go, for each with some."""
    (position,) = free_names("__file", table.snapshot.schema.names, 1)
    marked = f"{selection.alias}.{position}"
    text = f"SELECT {marked}, count(*) FROM {_TABLE} AS {selection.alias} {selection.going} GROUP BY {marked}"
    scan = replace(_with_positions(scan_of(_TABLE, table), position), row_tracking=None)
    read = ReadPlan(text=text, scans=(scan, *selection.scans))
    context = replace(writing.context, statement_id=f"{writing.context.statement_id}-matching")
    result = writing.executor.run_query(read, context)
    try:
        return [(row[0], row[1]) for batch in result.batches() for row in zip(*batch.to_pydict().values(), strict=True)]
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


def _live_rows(files: pa.Table) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """How many rows each file has that are not deleted; -1 where its statistics do not say."""
    physical = num_records(_one_array(files["stats"]))
    vectors = _one_array(files["deletion_vector"])
    deleted = pc.fill_null(pc.struct_field(vectors, "cardinality"), 0)
    live = pc.subtract(physical, pc.cast(deleted, pa.int64()))
    return np.asarray(pc.fill_null(live, -1), np.int64)


def _one_array(column: pa.ChunkedArray) -> pa.Array:
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)


def _ensure_copies_allowed(table: BoundTable) -> None:
    config = table.snapshot.config
    if config.is_enabled("changeDataFeed"):
        raise StatementNotSupported(
            f"Replacing a part of the rows of a file of {table.label}, with a change data feed,"
        )
    if config.is_enabled("rowTracking"):
        raise StatementNotSupported(f"Replacing some rows of a file of {table.label}, which tracks its rows,")
