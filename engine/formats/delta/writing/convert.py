"""CONVERT TO DELTA: a folder with Parquet files, or a table in another format, gets a log that references its files.

The log has one version. No data file is written or moved; for a table with position deletes, one file repeats the
positions as deletion vectors. The source table is not modified. It is read at one version, and checked again after the
log is written (`engine.execution.writes.commit`): if others have committed to it, the statement starts again; those who
commit later detect the log. A statement that finds the log of a killed statement gives it the table's name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, tzinfo

from catalog.conditions import FolderOfTwoTables, MalformedLogEntry, NoFilesToConvert
from catalog.store.files import LOG_FOLDER, is_version
from engine.binding.bound import BoundTable, Outcome
from engine.concurrency.table_locks import file_lock
from engine.delta.commit.transaction import Transaction
from engine.delta.conversion.converted_files import ConvertedFiles, Layout, convert_files
from engine.delta.conversion.folder_files import find_files
from engine.delta.conversion.shared_tables import Sharing, share_files
from engine.delta.definition.metadata_changes import define_table
from engine.delta.definition.table_config import DeltaConfig
from engine.delta.definition.table_draft import Definition
from engine.delta.log.commit_reader import parse_commit_info
from engine.delta.schema.column_ids import keep_logical_name
from engine.delta.spec.paths import commit_name
from engine.execution.writes.staged_files import discarded_on_failure
from engine.execution.writes.staged_write import StagedWrite
from engine.formats.delta.planning.conversions import SOURCE_STAMP
from engine.formats.delta.planning.plans import ConvertPlan
from engine.runtime.results import empty_result
from engine.spark.execution_context import ExecutionContext
from engine.storage.storage import Storage
from engine.tables.formats import DEFAULT_FORMAT
from engine.tables.operations import with_metrics
from engine.types.schema import PrimitiveType, StructType


@contextmanager
def convert_table(plan: ConvertPlan, context: ExecutionContext) -> Iterator[StagedWrite]:
    """Stages a conversion. Raises the errors in `engine.delta.conversion` and `define_table`."""
    storage = context.sources.formats[DEFAULT_FORMAT].folder(plan.entry.location)
    assert isinstance(storage, Storage), "planned for no other format"
    storage.ensure_writable()
    if plan.source is None:
        yield _convert_folder(plan, storage, context)
        return
    with (
        # VACUUM, or the source format's cleanup on this server, must not remove the files
        # between reading the source and the new log's first version.
        context.sources.locks.hold(file_lock(plan.source.snapshot.table_root), context.request.cancel),
        _stage_shared(plan, plan.source, storage, context) as staged,
    ):
        yield staged


def _convert_folder(plan: ConvertPlan, storage: Storage, context: ExecutionContext) -> StagedWrite:
    label, cancel = str(plan.entry.name), context.request.cancel

    def define(schema: StructType) -> DeltaConfig:
        return _definition(plan, label, schema).config(label)

    layout = Layout(
        define=define,
        partition_columns=plan.partition_columns,
        zone=_zone(plan, context),
        has_bounds=plan.has_statistics,
    )
    converted = convert_files(storage, find_files(storage, cancel.ensure_live), layout, cancel.ensure_live)
    if converted is None:
        raise NoFilesToConvert(plan.entry.location)
    return _stage(plan, storage, _definition(plan, label, converted.schema), converted, context)


@contextmanager
def _stage_shared(
    plan: ConvertPlan, source: BoundTable, storage: Storage, context: ExecutionContext
) -> Iterator[StagedWrite]:
    """Stages a shared table; the deletion vector files are deleted if it is not committed. Raises
    `FolderOfTwoTables`.
    """
    if any(map(is_version, storage.list_names(LOG_FOLDER))):
        _ensure_begun(plan, source, storage)
        yield StagedWrite(
            outcome=Outcome(result=empty_result()),
            label=str(plan.entry.name),
            creates=plan.entry,
            is_path=not plan.has_entry,
            converts=source,
        )
        return
    sharing = Sharing(
        label=source.label,
        shared=source.snapshot.shared_files(source.label, DEFAULT_FORMAT),
        storage=storage,
        changes=plan.changes,
        has_bounds=plan.has_statistics,
        now_ms=context.request.now_ms(),
    )
    table = share_files(sharing, context.request.cancel.ensure_live)
    with discarded_on_failure(storage, table.written, context):
        staged = _stage(plan, storage, table.definition, table.files, context)
        del table  # its files now belong to the transaction
        yield staged


def _ensure_begun(plan: ConvertPlan, source: BoundTable, storage: Storage) -> None:
    """Checks that the existing log is a killed conversion's from the same source version, which only lacks its catalog
    entry; later writes to the new table do not matter. Raises `FolderOfTwoTables` for any other log.
    """
    try:
        info = parse_commit_info(storage.read_bytes(f"{LOG_FOLDER}/{commit_name(0)}"), commit_name(0))
    except (OSError, MalformedLogEntry):
        info = None
    said = info.operation_parameters if info is not None and info.operation == plan.description.name else None
    if not isinstance(said, Mapping) or said.get(SOURCE_STAMP) != plan.description.parameters[SOURCE_STAMP]:
        raise FolderOfTwoTables(source.label, "CONVERT TO DELTA", f"delta.`{storage.root}`", f"its folder {LOG_FOLDER}")


def _stage(
    plan: ConvertPlan, storage: Storage, definition: Definition, converted: ConvertedFiles, context: ExecutionContext
) -> StagedWrite:
    label = str(plan.entry.name)
    now_ms = context.request.now_ms()
    description = with_metrics(plan.description, numConvertedFiles=str(converted.num_files))
    columns = list(definition.metadata.partition_columns)
    parameters = {"numFiles": converted.num_files, "partitionedBy": columns, **description.parameters}
    transaction = Transaction.create(storage, replace(description, parameters=parameters), table=label)
    transaction.define(replace(definition, metadata=replace(definition.metadata, created_time=now_ms)))
    for batch in converted.batches:
        transaction.stage_adds(batch)
    return StagedWrite(
        outcome=Outcome(result=empty_result()),
        transaction=transaction,
        label=label,
        creates=plan.entry if plan.has_entry else replace(plan.entry, created_ms=now_ms),
        is_path=not plan.has_entry,
        converts=plan.source,
    )


def _zone(plan: ConvertPlan, context: ExecutionContext) -> tzinfo:
    """Returns the time zone for timestamps in folder names."""
    if any(column.data_type is PrimitiveType.TIMESTAMP for column in plan.partition_columns):
        return context.session_zone("Folders of timestamps")
    return UTC


def _definition(plan: ConvertPlan, label: str, schema: StructType) -> Definition:
    """Returns the definition; the files contain the columns under their current names."""
    names = tuple(column.name for column in plan.partition_columns)
    return define_table(label, schema, partition_columns=names, changes=plan.changes, new_name=keep_logical_name)
