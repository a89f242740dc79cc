"""CONVERT TO DELTA: a folder of Parquet files gets a log that names them, in one version.

No file is written or moved.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, tzinfo

from engine.bind.bound import Outcome
from engine.delta.commit.transaction import Transaction
from engine.delta.conversion.converted_files import Layout, convert_files
from engine.delta.conversion.errors import NoFilesToConvert
from engine.delta.conversion.folder_files import find_files
from engine.delta.definition.metadata_changes import define_table
from engine.delta.definition.table_config import TableConfig
from engine.delta.definition.table_draft import Definition
from engine.delta.planning.plans import ConvertPlan
from engine.delta.schema.column_ids import keep_logical_name
from engine.exec.run import Run
from engine.runtime.results import empty_result
from engine.storage.storage import Storage
from engine.table.formats import TableFormat
from engine.table.operations import with_metrics
from engine.types.schema import PrimitiveType, StructType
from engine.write.staged_write import StagedWrite


def convert_table(plan: ConvertPlan, own: TableFormat, run: Run) -> StagedWrite:
    """Raises the errors of `engine.delta.conversion` and of `define_table`."""
    label, cancel = str(plan.entry.name), run.context.cancel
    storage = own.folder(plan.entry.location)
    assert isinstance(storage, Storage), "planned for no other format"
    storage.ensure_writable()

    def define(schema: StructType) -> TableConfig:
        return _definition(plan, label, schema).config(label)

    layout = Layout(
        define=define,
        partition_columns=plan.partition_columns,
        zone=_zone(plan, run),
        has_bounds=plan.has_statistics,
    )
    converted = convert_files(storage, find_files(storage, cancel.ensure_live), layout, cancel.ensure_live)
    if converted is None:
        raise NoFilesToConvert(plan.entry.location)
    definition = _definition(plan, label, converted.schema)
    now_ms = run.context.now_ms()
    description = with_metrics(plan.description, numConvertedFiles=str(converted.num_files))
    parameters = {"numFiles": converted.num_files, **description.parameters}
    transaction = Transaction.create(storage, replace(description, parameters=parameters), table=label)
    transaction.define(replace(definition, metadata=replace(definition.metadata, created_time=now_ms)))
    for batch in converted.batches:
        transaction.stage_adds(batch)
    return StagedWrite(
        outcome=Outcome(result=empty_result()),
        transaction=transaction,
        label=label,
        creates=replace(plan.entry, created_ms=now_ms),
        is_path=True,
    )


def _zone(plan: ConvertPlan, run: Run) -> tzinfo:
    """Of timestamps in names of folders."""
    if any(column.data_type is PrimitiveType.TIMESTAMP for column in plan.partition_columns):
        return run.session_zone("Folders of timestamps")
    return UTC


def _definition(plan: ConvertPlan, label: str, schema: StructType) -> Definition:
    """The files have their columns under the names that they have."""
    names = tuple(column.name for column in plan.partition_columns)
    return define_table(label, schema, partition_columns=names, changes=plan.changes, new_name=keep_logical_name)
