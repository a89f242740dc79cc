"""snapshot: creates an Iceberg table over the data files of a table in another format, in place.

The table has its own folder for its metadata and later writes. It deletes none of the other table's files (`gc.enabled`
is false), and the catalog records that it needs them. The source table's position deletes are copied into its own
files. All files are checked before the table is created.

Source: Iceberg documentation, "Spark procedures", "snapshot"; table specification, "Column Projection".
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from datetime import UTC, tzinfo
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from catalog.conditions import IcebergProcedureRefused, LocationNotEmpty
from catalog.entries import CloneEntry
from engine.binding.bound import Outcome
from engine.execution.writes.staged_files import discarded_on_failure
from engine.execution.writes.staged_write import StagedWrite
from engine.formats.iceberg.planning.new_tables import NAME
from engine.formats.iceberg.planning.plans import SnapshotPlan
from engine.formats.iceberg.procedures.foreign_files import NotTaken, ensure_columns, has_ids, value_text
from engine.formats.iceberg.procedures.named_columns import Naming, named_columns
from engine.iceberg.definition.definition import IcebergDefinition
from engine.iceberg.definition.properties import GC_ENABLED
from engine.iceberg.definition.shared_columns import shared_definition
from engine.iceberg.snapshot.snapshot import FORMAT, IcebergSnapshot
from engine.iceberg.spec.types import IcebergField, IcebergSchema, StructOfType
from engine.iceberg.transaction.transaction import IcebergTransaction
from engine.iceberg.writing.new_files import FileSchema, describe_files
from engine.iceberg.writing.partition_tuples import partition_key
from engine.iceberg.writing.position_deletes import MarkWriter
from engine.runtime.results import BIGINT, small_result
from engine.spark.execution_context import ExecutionContext
from engine.storage.paths import is_absolute_path
from engine.storage.storage import Storage
from engine.tables.row_files import RowFiles
from engine.tables.shared_files import SharedFiles
from engine.tables.transaction import DataFile
from engine.types.schema import PrimitiveType

_READERS = 8
_NO_ROWS: Any = np.array([], np.int64)


@dataclass(frozen=True, slots=True, kw_only=True)
class _SharedFiles:
    """A table's files in another folder, `storage`; `stored` are the columns under the names in files."""

    table: str
    label: str
    shared: SharedFiles
    storage: Storage
    definition: IcebergDefinition
    stored: tuple[IcebergField, ...]

    def refusal(self, reason: object) -> IcebergProcedureRefused:
        return IcebergProcedureRefused(self.table, NAME, f"{self.label}: {reason}")


@contextmanager
def snapshot_table(plan: SnapshotPlan, context: ExecutionContext) -> Iterator[StagedWrite]:
    """Stages the table; its delete files are removed if it is not committed. A table that already exists at the
    location gets the name if it is identical.

    Raises `IcebergProcedureRefused` for incompatible files, values and columns, `LocationNotEmpty`, and like
    `shared_definition`.
    """
    source = plan.source
    own = context.sources.formats[FORMAT]
    now_ms = context.request.now_ms()
    shared = source.snapshot.shared_files(source.label, FORMAT)
    definition, stored = shared_definition(str(plan.entry.name), shared, plan.properties)
    # The data files belong to the other table: expiring snapshots here must not delete
    # them.
    properties = {**definition.properties, GC_ENABLED: "false", "snapshot": "true"}
    table = _SharedFiles(
        table=str(plan.entry.name),
        label=source.label,
        shared=shared,
        storage=source.snapshot.storage,
        definition=replace(definition, properties=properties),
        stored=stored,
    )
    _ensure_files(table, context)
    entries = _entries(table, _zone(table, context))
    clone = CloneEntry(location=plan.entry.location, sources=plan.sources)
    outcome = Outcome(result=small_result({"imported_files_count": BIGINT}, [(entries.num_rows,)]))
    entry = replace(plan.entry, created_ms=now_ms)
    # The table without a name was left by a statement that was killed between its commit
    # and the catalog's change.
    if plan.found is not None:
        if not _is_same(plan.found, table, source.snapshot.row_files, entries):
            raise LocationNotEmpty(str(plan.entry.name), plan.entry.location)
        yield StagedWrite(outcome=outcome, label=str(entry.name), creates=entry, clone=clone)
        return
    transaction = own.create(plan.entry.location, table.definition, plan.description, now_ms)
    assert isinstance(transaction, IcebergTransaction)
    transaction.add_entries(entries)
    written = _delete_rows(table, source.snapshot.row_files, entries, transaction)
    staged = StagedWrite(outcome=outcome, transaction=transaction, label=str(entry.name), creates=entry, clone=clone)
    with discarded_on_failure(transaction.store.storage, written, context) if written else nullcontext():
        yield staged


# --- File contents ----------------------------------------------------------------------------------------------------


def _ensure_files(table: _SharedFiles, context: ExecutionContext) -> None:
    paths = table.shared.files["path"].to_pylist()
    elsewhere = next(filter(is_absolute_path, paths), None)
    if elsewhere is not None:
        raise table.refusal(f"{elsewhere} lies outside of the folder of the table")
    partitioned = frozenset(each.id for each in table.stored if each.id in _sources(table.definition))

    def look(path: str) -> None:
        context.request.cancel.ensure_live()
        try:
            with table.storage.open_input(path) as source:
                footer: Any = pq.read_metadata(source)
            found = list(footer.schema.to_arrow_schema())
            naming = Naming(by_names=table.shared.by_names, has_ids=any(map(has_ids, found)))
            columns = named_columns(found, table.stored, naming)
            ensure_columns(columns, footer, table.stored, partitioned)
        except (NotTaken, pa.ArrowException) as error:
            raise table.refusal(f"{path}: {error}") from error

    with ThreadPoolExecutor(_READERS, "footers") as threads:
        for _ in threads.map(look, paths):
            pass


def _sources(definition: IcebergDefinition) -> frozenset[int]:
    return frozenset(each.source_id for each in definition.spec.fields)


# --- Entries ----------------------------------------------------------------------------------------------------------


def _entries(table: _SharedFiles, zone: tzinfo) -> pa.Table:
    definition = table.definition
    root = table.storage.root
    schema = FileSchema(
        location=root if "://" in root else f"file://{root}",
        schema=IcebergSchema(schema_id=definition.iceberg_schema.schema_id, struct=StructOfType(table.stored)),
        spec=definition.spec,
        properties=definition.properties,
    )
    columns = {each.id: each for each in definition.iceberg_schema.fields}
    fields = [(partition_key(each), columns[each.source_id]) for each in definition.spec.fields]
    shared = table.shared
    texts = [shared.partition_values[field.name].to_pylist() for _, field in fields]
    files = []
    for path, size, *said in zip(*(shared.files[name].to_pylist() for name in ("path", "size")), *texts, strict=True):
        try:
            values = {
                key: value_text(text or None, field, definition, zone)
                for text, (key, field) in zip(said, fields, strict=True)
            }
        except NotTaken as error:
            raise table.refusal(f"{path}: {error}") from error
        files.append(DataFile(path=path, size=size, modification_time=0, partition_values=values))
    return describe_files(table.storage, schema, files).entries


def _zone(table: _SharedFiles, context: ExecutionContext) -> tzinfo:
    """Returns the time zone for partition timestamps without one."""
    names = table.shared.partition_columns
    found = (table.shared.schema.field(name) for name in names)
    if any(each is not None and each.data_type is PrimitiveType.TIMESTAMP for each in found):
        return context.session_zone("Partitions of timestamps")
    return UTC


def _is_same(found: IcebergSnapshot, table: _SharedFiles, rows: RowFiles, entries: pa.Table) -> bool:
    """Returns True if a table has these columns and rows, and was not changed since its creation."""
    wanted, there = table.definition, found.definition
    said = ((each.iceberg_schema.struct, each.spec.fields, each.properties) for each in (wanted, there))
    if next(said) != next(said) or len(found.metadata.snapshots) > 1:
        return False
    if Counter(found.live_files.data["file_path"].to_pylist()) != Counter(entries["file_path"].to_pylist()):
        return False
    paths = found.live_files.data["file_path"].to_pylist()
    mine = dict(zip(paths, found.row_files.deleted_rows(found.files), strict=True))
    theirs = _deleted_rows(table, rows, entries)
    return all(np.array_equal(mine[path], gone) for path, gone in theirs)


def _deleted_rows(table: _SharedFiles, rows: RowFiles, entries: pa.Table) -> list[tuple[str, Any]]:
    """Returns each entry's path, and the positions of its deleted rows."""
    files = table.shared.files.filter(pc.is_valid(table.shared.files["deletion_vector"]))
    deleted = dict(zip(files["path"].to_pylist(), rows.deleted_rows(files), strict=True)) if files.num_rows else {}
    root = table.storage.root
    prefix = f"{root if '://' in root else f'file://{root}'}/"
    return [(path, deleted.get(path.removeprefix(prefix), _NO_ROWS)) for path in entries["file_path"].to_pylist()]


def _delete_rows(
    table: _SharedFiles, rows: RowFiles, entries: pa.Table, transaction: IcebergTransaction
) -> tuple[str, ...]:
    """Writes deletes for rows that are deleted by position in the other table's files, which `rows` describes. Returns
    the written files' names.
    """
    deleted = [gone for _, gone in _deleted_rows(table, rows, entries)]
    has_deleted_rows = np.array([len(gone) > 0 for gone in deleted], bool)
    if not has_deleted_rows.any():
        return ()
    store = transaction.store
    writer = MarkWriter(store.storage, store.location, table.definition.format_version)
    found = [gone for gone in deleted if len(gone)]
    added, written = writer.write(entries.filter(pa.array(has_deleted_rows)), found)
    transaction.add_entries(added)
    return written
