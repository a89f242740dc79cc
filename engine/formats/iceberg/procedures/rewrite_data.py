"""rewrite_data_files: rewrites the same rows into other files, as one `replace` snapshot.

New files have the read snapshot's data sequence number, so that concurrent equality deletes still apply to them. New
files from other writers are not a conflict; concurrent position deletes and vectors on the rewritten files are, and so
is their removal. Deletes that apply to no other file are removed.

If a table's files do not contain its rows directly (equality deletes, several partition specs), the table's composed
query reads them, bin by bin. That query has no row ids: if rows have ids, equality-deleted rows are found first, and
files are read without them.

Source: Iceberg documentation, "Spark procedures"; table specification, "Sequence Number Inheritance".
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from catalog.conditions import IcebergFeatureNotSupported, WrongArgument
from engine.binding.bound import BoundTable
from engine.execution.writes.compacted_rows import compacted_rows
from engine.execution.writes.dml.equality_deletes import resolve_equality_deletes
from engine.execution.writes.staged_files import new_files, report_drops
from engine.formats.iceberg.planning.plans import CallPlan
from engine.formats.iceberg.procedures.file_selection import Mask, Positions, dangling_deletes, files_at, selected_bins
from engine.formats.iceberg.procedures.rewrite_options import RewriteOptions, rewrite_options
from engine.iceberg.definition.changes import change_definition
from engine.iceberg.snapshot.snapshot import IcebergSnapshot
from engine.iceberg.transaction.transaction import IcebergTransaction
from engine.iceberg.writing.new_files import IcebergNewFiles
from engine.planning.plans.reads import ReadPlan
from engine.planning.plans.write_plan import AlongCurve, Arrangement, InOrder, TaskPerFile, WritePlan
from engine.planning.reads.narrowing import weaken
from engine.planning.reads.scans import read_scan
from engine.pruning.predicates import conjunction, conjuncts
from engine.runtime.accesses import Commit
from engine.runtime.results import BIGINT, INT, ResultStream, small_result
from engine.spark.execution_context import ExecutionContext
from engine.sql.expressions import plain_condition
from engine.sql.query.composed import Names
from engine.statements.create_table.grammar_partitions import parse_sort_terms
from engine.statements.procedures.statement import RewriteDataFiles
from engine.tables.config import SortColumn
from engine.tables.definition_changes import SortBy
from engine.tables.operations import CommitDescription, TableOperation
from engine.tables.scan import ComposedScan, Scan
from engine.tables.transaction import NewFiles

# Bins per job: each is a scan in the job's plan.
_BINS_MAX = 32
# The last format version without row ids.
_NO_ROW_IDS = 2
_ZORDER = re.compile(r"\s*zorder\s*\((.*)\)\s*", re.IGNORECASE | re.DOTALL)
_COLUMNS = {
    "rewritten_data_files_count": INT,
    "added_data_files_count": INT,
    "rewritten_bytes_count": BIGINT,
    "failed_data_files_count": INT,
    "removed_delete_files_count": INT,
}


@dataclass(frozen=True, slots=True)
class _Sorting:
    """The Z-order `columns`, or an `order`, the table's own or another one."""

    columns: tuple[str, ...] = ()
    order: tuple[SortColumn, ...] = ()
    is_own: bool = False


def rewrite_data_files(plan: CallPlan, procedure: RewriteDataFiles, context: ExecutionContext) -> ResultStream:
    """Runs rewrite_data_files. Raises `WrongArgument`, `IcebergFeatureNotSupported`, `IcebergConflict`."""
    table, snapshot = plan.table, plan.snapshot
    options = rewrite_options(plan.name, procedure.options, snapshot.metadata.properties)
    sorting = _sorting(plan, procedure)
    within = _within(plan, procedure.where)
    if sorting is not None:
        options = replace(options, rewrites_all=True)
    bins = selected_bins(snapshot, within, options)
    if not bins:
        return small_result(_COLUMNS, [(0, 0, 0, 0, 0)])
    if snapshot.metadata.format_version > _NO_ROW_IDS:
        # The composed query that applies equality deletes has no row ids. With the rows
        # found once, as positions, the files can be read directly and the ids be kept.
        resolved = resolve_equality_deletes(table, context)
        assert isinstance(resolved, IcebergSnapshot)
        table, snapshot = replace(table, snapshot=resolved), resolved
    removed = files_at(snapshot, np.concatenate(bins))
    with report_drops(table), ExitStack() as written:
        new: list[NewFiles] = [
            written.enter_context(each) for each in _writes(table, snapshot, bins, sorting, options, context)
        ]
        transaction = _begin(table, snapshot)
        transaction.stage_removes(removed)
        transaction.replace_deletes(dangling_deletes(snapshot, np.concatenate(bins)), removed.slice(0, 0))
        if options.keeps_sequence_number:
            # The new files keep the old sequence number, so that equality deletes that
            # others commit meanwhile still apply to their rows.
            transaction.allow_equality_deletes()
        for each in new:
            assert isinstance(each, IcebergNewFiles)
            if sorting is not None and not sorting.is_own:
                each = _in_another_order(each)
            transaction.add_files(_with_sequence_numbers(each, snapshot) if options.keeps_sequence_number else each)
        removed_deletes = commit_rewritten(transaction, table, context)
    counts = (removed.num_rows, sum(each.num_files for each in new))
    return small_result(_COLUMNS, [(*counts, int(sum(removed["size"].to_pylist())), 0, removed_deletes)])


def _begin(table: BoundTable, snapshot: IcebergSnapshot) -> IcebergTransaction:
    description = CommitDescription(name="REWRITE", operation=TableOperation.OPTIMIZE, changes_data=False)
    snapshot.ensure_supported(description.operation)
    transaction = table.own.begin(snapshot, description, table.label)
    assert isinstance(transaction, IcebergTransaction)
    return transaction


def begin_rearranging(plan: CallPlan) -> IcebergTransaction:
    """Starts a transaction that changes no row."""
    return _begin(plan.table, plan.snapshot)


def commit_rewritten(transaction: IcebergTransaction, table: BoundTable, context: ExecutionContext) -> int:
    """Commits; returns the number of removed delete files."""
    context.request.cancel.ensure_live()
    done = transaction.commit(context.retries)
    context.request.on_commit(Commit(table.label, done.version))
    summary = done.loaded.metadata.snapshots[transaction.snapshot_id].summary
    return int(summary.get("removed-delete-files", "0"))


def _with_sequence_numbers(new: IcebergNewFiles, snapshot: IcebergSnapshot) -> IcebergNewFiles:
    """Sets the read snapshot's data sequence number."""
    if snapshot.info is None or snapshot.metadata.format_version == 1:
        return new
    numbers = pa.repeat(pa.scalar(snapshot.info.sequence_number, pa.int64()), new.entries.num_rows)
    return _with(new, "sequence_number", numbers)


def _in_another_order(new: IcebergNewFiles) -> IcebergNewFiles:
    """Removes the table's sort order id, since another order, or a Z-order, applies."""
    return _with(new, "sort_order_id", pa.nulls(new.entries.num_rows, pa.int32()))


def _with(new: IcebergNewFiles, name: str, values: pa.Array) -> IcebergNewFiles:
    at = new.entries.schema.get_field_index(name)
    return replace(new, entries=new.entries.set_column(at, name, values))


# --- Arguments --------------------------------------------------------------------------------------------------------


def _sorting(plan: CallPlan, procedure: RewriteDataFiles) -> _Sorting | None:
    strategy = procedure.strategy.lower()
    if strategy == "binpack":
        if procedure.sort_order is not None:
            raise WrongArgument(plan.name, "sort_order", "the strategy binpack sorts nothing")
        return None
    if strategy != "sort":
        raise WrongArgument(plan.name, "strategy", "it takes binpack or sort")
    if procedure.sort_order is None:
        if not plan.snapshot.table_config.sort_columns:
            raise WrongArgument(plan.name, "sort_order", "the strategy sort needs one, and the table has none")
        return _Sorting(order=plan.snapshot.table_config.sort_columns, is_own=True)
    along = _ZORDER.fullmatch(procedure.sort_order)
    if along is None:
        return _in_order(plan, procedure.sort_order)
    columns = tuple(name.strip().strip("`") for name in along[1].split(","))
    known = {name.casefold(): name for name in plan.snapshot.schema.names}
    for name in columns:
        if name.casefold() not in known:
            raise WrongArgument(plan.name, "sort_order", f"the table has no column {name}")
    return _Sorting(columns=tuple(known[name.casefold()] for name in columns))


def _in_order(plan: CallPlan, text: str) -> _Sorting:
    own, terms = plan.snapshot.definition, parse_sort_terms(text)
    if terms is None:
        raise WrongArgument(plan.name, "sort_order", f"{text!r} is no list as in WRITE ORDERED BY")
    order = change_definition(own, [SortBy(terms=terms, distribution=None)])
    if not order.sort_columns:
        raise WrongArgument(plan.name, "sort_order", "files are not sorted by floating numbers here")
    return _Sorting(order=order.sort_columns, is_own=order.order.fields == own.order.fields)


def _within(plan: CallPlan, where: str | None) -> Mask:
    """Returns a mask for files that may contain rows that satisfy a condition."""
    snapshot = plan.snapshot
    if where is None:
        return np.ones(snapshot.num_files, bool)
    plain = plain_condition(where)
    columns = snapshot.columns()
    parts = [] if plain is None else [tuple(weaken(each, columns)) for each in conjuncts(plain)]
    if not parts or not all(parts):
        raise WrongArgument(plan.name, "where", "it takes comparisons of columns with values")
    return np.asarray(snapshot.pruning().prune(conjunction(tuple(part for each in parts for part in each))))


# --- Jobs -------------------------------------------------------------------------------------------------------------


def _writes(
    table: BoundTable,
    snapshot: IcebergSnapshot,
    bins: Sequence[Positions],
    sorting: _Sorting | None,
    options: RewriteOptions,
    context: ExecutionContext,
) -> Iterator[AbstractContextManager[NewFiles]]:
    """Yields a writer for each job, which rewrites several bins."""
    scan = read_scan(Names(snapshot.schema.names).new("scan"), table)
    arrangement = TaskPerFile() if sorting is None else _arrangement(sorting, files_at(snapshot, _all(bins)), options)
    if isinstance(scan, Scan):
        yield from _plain_writes(table, snapshot, bins, arrangement, context)
    elif snapshot.metadata.format_version <= _NO_ROW_IDS:
        for each in bins if sorting is None else [_all(bins)]:
            yield _composed_rows(table, scan, each, arrangement, context)
    else:
        kinds = _plain_kinds(table, snapshot, scan)
        if kinds is None or sorting is not None:
            raise IcebergFeatureNotSupported(table.label, "rows that would lose their ids when they are written again")
        for rows, own in kinds:
            mine = [each[np.isin(each, rows)] for each in bins]
            yield from _plain_writes(own, snapshot, [each for each in mine if len(each)], arrangement, context)


def _all(bins: Sequence[Positions]) -> Positions:
    return np.concatenate(bins)


def _arrangement(sorting: _Sorting, files: pa.Table, options: RewriteOptions) -> Arrangement:
    if not sorting.columns:
        return InOrder(columns=sorting.order)
    return AlongCurve(
        stored_columns=tuple((name,) for name in sorting.columns),
        is_hilbert=False,
        num_files=max(1, (pc.sum(files["size"]).as_py() or 0) // options.target_bytes),
        target_bytes=options.target_bytes,
    )


def _plain_kinds(
    table: BoundTable, snapshot: IcebergSnapshot, scan: ComposedScan
) -> list[tuple[Positions, BoundTable]] | None:
    """Returns groups of files that are read alike, each with the table reduced to these files; None if a group's files
    do not contain its rows directly.
    """
    parts = [part.rows for part in scan.parts if part.rows is not None and len(part.rows)]
    kinds = [(np.asarray(rows), replace(table, snapshot=snapshot.of_files(rows))) for rows in parts]
    return kinds if all(isinstance(read_scan(scan.relation, own), Scan) for _, own in kinds) else None


def _plain_writes(
    table: BoundTable,
    snapshot: IcebergSnapshot,
    bins: Sequence[Positions],
    arrangement: Arrangement,
    context: ExecutionContext,
) -> Iterator[AbstractContextManager[NewFiles]]:
    """Yields writers for bins whose files contain the rows directly; positions refer to `snapshot`, which has all
    files.
    """
    together = _BINS_MAX if isinstance(arrangement, TaskPerFile) else len(bins)
    for first in range(0, len(bins), together):
        files = [files_at(snapshot, each) for each in bins[first : first + together]]
        yield compacted_rows(table, files, arrangement, context)


@contextmanager
def _composed_rows(
    table: BoundTable, scan: ComposedScan, positions: Positions, arrangement: Arrangement, context: ExecutionContext
) -> Iterator[NewFiles]:
    """Writes these files' rows as the table exposes them, by default into one file per partition."""
    scans: list[Scan] = []
    for part in scan.parts:
        if part.rows is None:
            scans.append(part.scan)
            continue
        mine = np.isin(np.asarray(part.rows), positions)
        scans.append(replace(part.scan, files=part.scan.files.filter(pa.array(mine)), pruning=None))
    config = table.snapshot.table_config
    rows = WritePlan(table=table.label, config=config, target_columns=config.schema.fields, arrangement=arrangement)
    # Several scans in a UNION have several tasks; a bin must become one file.
    hint = "/*+ COALESCE(1) */ " if isinstance(arrangement, TaskPerFile) else ""
    source = ReadPlan(text=f"SELECT {hint}* FROM (\n{scan.text}\n)", scans=tuple(scans))
    with new_files(table, source, rows, replace(context, parameters=())) as written:
        yield written
