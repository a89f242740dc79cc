"""Rows that an INSERT deletes one by one: which files hold some, and the rows of these that are kept.

A file without such a row is not touched, a file of nothing else is removed, and the other rows of the rest are
rewritten. Two jobs do that: one counts the deleted rows of each file (the scan leaves out files by their statistics,
and rows of deletion vectors), the other copies the kept rows (`engine.write.copied_rows`): rules for new rows, the
condition itself among them, are not for these. New rows, copies and removes are one commit.

Where the table has a change data feed, a third job writes the deleted rows and the new ones into change files, for the
feed would show copies as new rows otherwise. Where no file is copied, the removed and the new files tell the same.

Protocol: "Change Data Files", "Writer Requirements for AddCDCFile".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from catalog.names import quote
from engine.bind.bound import BoundTable
from engine.delta.commit.new_files import NewFiles
from engine.delta.commit.read_set import FilePredicate
from engine.delta.commit.staged_commit import adds_of, num_records
from engine.delta.definition.table_config import TableConfig
from engine.delta.feed.change_files import CHANGE_FOLDER, CHANGE_TYPE
from engine.delta.log.file_table import with_entries
from engine.delta.spec.actions import AddCdcFile
from engine.exec.run import Run
from engine.plan.reads.scans import scan_of
from engine.plans.reads import ReadPlan, Scan
from engine.plans.write_plan import WritePlan
from engine.sql.free_names import free_names
from engine.types.schema import PrimitiveType, StructField, StructType
from engine.write.copied_rows import RELATION, Copying, copied_rows
from engine.write.staged_files import new_files

_NEW, _INSERTED = "__scan_1", "__scan_2"
_OLD_ROWS, _NEW_ROWS = "__old_rows", "__new_rows"
"""What the SQL calls the rows, unless a column has the name: with table alias `t`, column `x` hides field `t.x`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Remainder:
    """`removed` are live files, of `FILES_SCHEMA`; `copied` has the kept rows of these, None where there are none."""

    removed: pa.Table
    copied: NewFiles | None = None
    num_deleted: int | None = None
    """Deleted rows, where they were counted."""
    reads: FilePredicate | None = None
    """Which concurrently added files hold rows that would have been deleted too; None: any may."""
    changes: tuple[AddCdcFile, ...] = ()
    """The files with the deleted and inserted rows; empty where the other files say it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Replacing:
    """The new rows, and the table as it is with them."""

    new: NewFiles
    config: TableConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """SQL that follows `FROM` and the table: `deleted` selects the deleted rows, `kept` the others, each once.

    `alias` is what the SQL calls the table; no column of it has this name.
    """

    alias: str
    deleted: str
    kept: str
    scans: tuple[Scan, ...] = ()
    """What the SQL names besides the table."""


def where(table: BoundTable, condition: str) -> Selection:
    """The rows for which `condition` is true: SQL over the table's columns, in parentheses."""
    return Selection(
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
def without_rows(table: BoundTable, selection: Selection, replacing: Replacing, run: Run) -> Iterator[Remainder]:
    """What deletes the selected rows; if the block that commits it fails, the files that it wrote are removed."""
    files, found = table.snapshot.files, _count_deleted(table, selection, run)
    counts = np.zeros(files.num_rows, np.int64)
    for position, count in found:
        counts[position] = count
    touched = counts > 0
    partly = touched & (counts != _live_rows(files))
    removed, num_deleted = files.filter(pa.array(touched)), int(counts.sum())
    if not partly.any():
        yield Remainder(removed=removed, num_deleted=num_deleted)
        return
    copying = Copying(alias=selection.alias, rest=selection.kept, scans=selection.scans)
    with (
        copied_rows(table, files.filter(pa.array(partly)), copying, run) as copied,
        _changes(table, selection, removed, replacing, run) as changes,
    ):
        yield Remainder(removed=removed, copied=copied, num_deleted=num_deleted, changes=changes)


@contextmanager
def _changes(
    table: BoundTable, selection: Selection, removed: pa.Table, replacing: Replacing, run: Run
) -> Iterator[tuple[AddCdcFile, ...]]:
    """The deleted rows of `removed` and the new ones, in the columns that the table has from now on."""
    config = replacing.config
    if not config.is_enabled("changeDataFeed"):
        yield ()
        return
    names, old = config.schema.names, selection.alias
    with_all = replace(scan_of(RELATION, table), schema=config.schema, choice=None, row_tracking=None)
    deleted = f"SELECT {_columns(old, names)}, 'delete' FROM {RELATION} AS {old} {selection.deleted}"
    fresh = _alias(_NEW_ROWS, config.schema)
    inserted = f"SELECT {_columns(fresh, names)}, 'insert' FROM {_INSERTED} AS {fresh}"
    new = pa.Table.from_batches([adds_of(replacing.new.adds)])
    scans = (replace(with_all, files=removed), replace(with_all, relation=_INSERTED, files=new), *selection.scans)
    rows = WritePlan(
        table=table.label,
        config=config,
        target_columns=config.schema.fields,
        extra_columns=(StructField(CHANGE_TYPE, PrimitiveType.STRING),),
    )
    source = ReadPlan(text=f"{deleted} UNION ALL {inserted}", scans=scans)
    without_parameters = replace(run, parameters=())
    with new_files(source, rows, table.snapshot.storage, without_parameters, CHANGE_FOLDER) as written:
        yield tuple(
            AddCdcFile(path=add.path, partition_values=add.partition_values, size=add.size) for add in written.adds
        )


def _columns(alias: str, names: Iterable[str]) -> str:
    return ", ".join(f"{alias}.{quote(name)}" for name in names)


def _count_deleted(table: BoundTable, selection: Selection, run: Run) -> list[tuple[int, int]]:
    """Position of a file, and how many of its rows are deleted, for each with some."""
    (position,) = free_names("__file", table.snapshot.schema.names, 1)
    marked = f"{selection.alias}.{position}"
    text = f"SELECT {marked}, count(*) FROM {RELATION} AS {selection.alias} {selection.deleted} GROUP BY {marked}"
    scan = replace(_with_positions(scan_of(RELATION, table), position), row_tracking=None)
    read = ReadPlan(text=text, scans=(scan, *selection.scans))
    context = replace(run.context, statement_id=f"{run.context.statement_id}-matching")
    result = run.executor.run_query(read, context)
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
