"""Plans CONVERT TO DELTA. The definition depends on the files, which are read during execution."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace

from catalog.conditions import FilesNotShareable, MappingModeNotChangeable, PartitionsOfTableSaid
from catalog.entries import TableEntry
from catalog.rest.names import is_rest
from engine.binding.bound import BoundStatement, BoundTable, FreeName, TakenName
from engine.delta.spec.properties import COLUMN_MAPPING_MODE, default_properties
from engine.errors.table_errors import COPY_ROWS, name_table_in_errors
from engine.formats.delta.planning.plans import ConvertPlan
from engine.planning.plans.ddl import CreateTablePlan
from engine.statements.create_table.planning import new_entry
from engine.statements.create_table.planning_definition import table_schema
from engine.statements.create_table.statement import ConvertTable
from engine.tables.definition_changes import set_properties
from engine.tables.formats import DEFAULT_FORMAT
from engine.tables.operations import CommitDescription, TableOperation

# Commit parameter with the source table's version whose files were converted.
SOURCE_STAMP = "sourceStamp"


def plan_convert(bound: BoundStatement, statement: ConvertTable) -> ConvertPlan | CreateTablePlan:
    """Plans CONVERT; a table that is already a Delta table is left unchanged, as in delta-spark."""
    target, state = bound.target, bound.state
    if isinstance(target, BoundTable) and target.entry.format != DEFAULT_FORMAT:
        return _plan_table(bound, statement, target)
    if isinstance(target, BoundTable | TakenName):
        return CreateTablePlan(entry=None)
    assert isinstance(target, FreeName)
    settings = default_properties(state.values)
    mode = settings.get(COLUMN_MAPPING_MODE.key, "none")
    if mode == "id":  # the files have no column ids
        raise MappingModeNotChangeable("none", mode)
    columns = table_schema(statement.partitioned_by).fields
    names = [column.name for column in columns]
    return ConvertPlan(
        entry=new_entry(bound, target),
        partition_columns=columns,
        changes=set_properties(settings),
        has_statistics=statement.has_statistics,
        description=_description(bound, statement, {"partitionedBy": names, "sourceFormat": "parquet"}),
    )


def _plan_table(bound: BoundStatement, statement: ConvertTable, source: BoundTable) -> ConvertPlan:
    """Plans converting a table in another format. Raises `FilesNotShareable`, `PartitionsOfTableSaid`."""
    if statement.partitioned_by:
        raise PartitionsOfTableSaid(source.label)
    if is_rest(source.entry.location):
        raise FilesNotShareable(source.label, DEFAULT_FORMAT, "its REST catalog knows it by its own format", COPY_ROWS)
    if source.entry.location != source.snapshot.table_root:
        reason, advice = "it is known by a file of its metadata", "Name the folder of the table instead."
        raise FilesNotShareable(source.label, DEFAULT_FORMAT, reason, advice)
    with name_table_in_errors(source.label):
        source.snapshot.ensure_supported(TableOperation.READ)
    recorded = bound.view.unrestricted.recorded_at(source.entry.location)
    if len(recorded) > 1:
        others = ", ".join(str(entry.name) for entry in recorded)
        advice = "Drop all its names but one, which leaves the files of external tables."
        raise FilesNotShareable(source.label, DEFAULT_FORMAT, f"it has several names ({others})", advice)
    settings = default_properties(bound.state.values)
    remaining = {key: value for key, value in settings.items() if key != COLUMN_MAPPING_MODE.key}
    snapshot = source.snapshot
    stamp = hashlib.sha256(snapshot.stamp.encode()).hexdigest()
    parameters = {"sourceFormat": snapshot.format, "sourceSnapshot": str(snapshot.version), SOURCE_STAMP: stamp}
    return ConvertPlan(
        entry=_entry(source, recorded),
        partition_columns=(),
        changes=set_properties(remaining),
        has_statistics=statement.has_statistics,
        description=_description(bound, statement, parameters),
        source=source,
        has_entry=bool(recorded),
    )


def _entry(source: BoundTable, recorded: list[TableEntry]) -> TableEntry:
    found = recorded[0] if recorded else source.entry
    return replace(found, format=DEFAULT_FORMAT)


def _description(bound: BoundStatement, statement: ConvertTable, parameters: Mapping[str, object]) -> CommitDescription:
    return CommitDescription(
        name="CONVERT",
        operation=TableOperation.APPEND,
        parameters={"collectStats": statement.has_statistics, **parameters},
        user_name=bound.state.principal,
        exclusive=True,
    )
