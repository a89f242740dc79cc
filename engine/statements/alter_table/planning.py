"""Plans ALTER TABLE and COMMENT ON: converts a statement into changes to the table's definition.

The changes are in `engine.tables.definition_changes`. Planning adds the checks that need SQL: whether a constraint or a
generated column uses the changed column, and whether existing rows must be checked before a constraint is added. The
table's format folds the changes into the new definition, or rejects them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import replace
from types import MappingProxyType
from typing import assert_never

from catalog.changes import RenameTable as RenameTableChange
from catalog.changes import SetLocation as SetLocationChange
from catalog.conditions import (
    ColumnChangeRefused,
    LocationOfPath,
    LocationSchemaDiffers,
    NoIdentityColumn,
    RenameOfPath,
    ReplacedColumnsDiffer,
    StatementNotSupported,
)
from catalog.names import TableName, quote
from engine.binding.bound import BoundStatement, BoundTable
from engine.errors.table_errors import name_table_in_errors
from engine.planning.plans.ddl import AlterPlan, CatalogPlan, SyncIdentityPlan
from engine.planning.plans.expression_checks import ExpressionCheckPlan
from engine.planning.plans.reads import ReadPlan
from engine.planning.reads.scans import scan_of
from engine.planning.semantics.expression_checks import plan_row_checks
from engine.planning.semantics.text_lengths import with_lengths
from engine.runtime.settings import captured_settings
from engine.sql.query.composed import Names
from engine.statements.alter_table import planning_history as alter_history
from engine.statements.alter_table.planning_columns import (
    add_columns,
    alter_column,
    drop_columns,
    new_not_nulls,
    rename_column,
)
from engine.statements.alter_table.planning_replaced_columns import replace_columns
from engine.statements.alter_table.statement import (
    AddColumns,
    AlterColumn,
    AlterTable,
    ChangeReference,
    DropColumns,
    DropFeature,
    RenameTable,
    ReplaceColumns,
    SetLocation,
    SetProperties,
    SyncIdentity,
    TableChange,
    UnsetProperties,
)
from engine.statements.create_table.planning import spelled_columns
from engine.statements.create_table.planning_definition import plan_expression_checks
from engine.statements.create_table.planning_keys import added_key, cascaded_key, dropped_key
from engine.statements.create_table.statement import AddKey, DropKey
from engine.tables import definition_changes as changes
from engine.tables.definition import TableDefinition
from engine.tables.definition_changes import (
    AddConstraint,
    DefinitionChange,
    DropConstraint,
    RenameColumn,
    WrittenChange,
)
from engine.tables.operations import CommitDescription, HistoryOperation, TableOperation
from engine.types.schema import StructType
from engine.types.schema_changes import resolve_path


def plan_alter(bound: BoundStatement, statement: AlterTable) -> AlterPlan | CatalogPlan | SyncIdentityPlan:
    """Plans a statement. Raises for operations that the table, or this release, does not support."""
    table = altered_table(bound)
    first = statement.changes[0]
    if isinstance(first, WrittenChange):
        return plan_changes(bound, table, statement.changes)
    match first:
        case RenameTable(table_parts=parts):
            return _plan_rename(bound, table, parts)
        case SyncIdentity() as sync:
            return plan_sync_identity(bound, table, sync)
        case SetLocation():
            return _plan_set_location(bound, table)
        case AddColumns() | ReplaceColumns() | RenameColumn() | DropColumns() | AlterColumn():
            return plan_changes(bound, table, statement.changes)
        case DropConstraint() | DropKey():
            step = cascaded_key(table, first, bound.tables)
            if step is not None:  # a version of another table; the statement is then planned again
                return replace(plan_changes(bound, step[0], (step[1],)), is_last=False)
            return plan_changes(bound, table, statement.changes)
        case AddConstraint() | AddKey() | SetProperties() | UnsetProperties():
            return plan_changes(bound, table, statement.changes)
        case DropFeature() | ChangeReference():
            raise alter_history.not_supported(first)
        case _:
            assert_never(first)


def altered_table(bound: BoundStatement) -> BoundTable:
    """Returns the bound target, which is a table: a view or a free name fails during binding."""
    assert isinstance(bound.target, BoundTable)
    return bound.target


def _plan_rename(bound: BoundStatement, table: BoundTable, parts: tuple[str, ...]) -> CatalogPlan:
    """Renames the catalog entry only: a managed table keeps its folder."""
    if table.name is None:
        raise RenameOfPath(table.label)
    return CatalogPlan(
        change=RenameTableChange(table.name, TableName.from_parts(parts, bound.state.current)),
        condition=bound.condition,
    )


def _plan_set_location(bound: BoundStatement, table: BoundTable) -> CatalogPlan:
    """Moves an external table's name to another table with the same columns."""
    (other,) = bound.tables
    if table.name is None:
        raise LocationOfPath(table.label)
    if table.entry.managed:
        raise StatementNotSupported("SET LOCATION of a managed table")
    current, new = (
        [*spelled_columns(each.snapshot.schema), f"PARTITIONED BY ({', '.join(each.snapshot.partition_columns)})"]
        for each in (table, other)
    )
    if current != new:
        raise LocationSchemaDiffers(table.label, ", ".join(current), ", ".join(new))
    return CatalogPlan(change=SetLocationChange(table.name, other.entry.location), condition=bound.condition)


def plan_changes(bound: BoundStatement, table: BoundTable, written: tuple[TableChange, ...]) -> AlterPlan:
    """Plans changes that all formats share, in one version. Raises the format's errors."""
    said = [change for each in written for change in changes_of(bound, table, each)]
    try:
        folded = list(with_lengths(table.snapshot.schema, said))
        definition = change_definition(table, folded)
    except ColumnChangeRefused as error:
        if not isinstance(written[0], ReplaceColumns):
            raise
        raise ReplacedColumnsDiffer(error.message) from error
    after = definition.config(table.label).schema
    constraints = [(change.name, change.expression) for change in folded if isinstance(change, AddConstraint)]
    not_nulls = [path for change in written if isinstance(change, AlterColumn) for path in new_not_nulls(table, change)]
    return AlterPlan(
        table=table,
        definition=definition,
        description=describe_change(bound, alter_history.operation_of(written, table.snapshot, definition)),
        expression_checks=_expression_checks(table, written, after, constraints),
        checks=plan_row_checks(table, constraints, not_nulls),
    )


def change_definition(table: BoundTable, folded: Iterable[DefinitionChange]) -> TableDefinition:
    """Returns a table's definition after these changes. Raises the format's errors."""
    with name_table_in_errors(table.label):
        table.snapshot.ensure_supported(TableOperation.METADATA)
        return table.snapshot.change_definition(table.label, folded)


def describe_change(bound: BoundStatement, operation: HistoryOperation) -> CommitDescription:
    """Returns the history entry for an operation that changes the definition."""
    name, parameters = operation
    return CommitDescription(
        name=name,
        operation=TableOperation.METADATA,
        parameters=MappingProxyType(parameters),
        user_name=bound.state.principal,
    )


def _expression_checks(
    table: BoundTable, written: tuple[TableChange, ...], after: StructType, constraints: list[tuple[str, str]]
) -> ExpressionCheckPlan | None:
    """Plans checks that new constraints and defaults can be evaluated and have valid types."""
    defaults = {
        resolve_path(table.snapshot.schema, change.parts)[0]
        for change in written
        if isinstance(change, AlterColumn) and change.default is not None
    }
    changed = [field for field in after.fields if field.name in defaults]
    return plan_expression_checks(after, constraints, table.entry.location, changed)


def changes_of(bound: BoundStatement, table: BoundTable, change: TableChange) -> Iterator[DefinitionChange]:
    """Yields the definition changes for a SQL change."""
    if isinstance(change, WrittenChange):
        yield change
        return
    match change:
        case AddColumns():
            yield from add_columns(table, change)
        case RenameColumn():
            yield from rename_column(table, change)
        case DropColumns():
            yield from drop_columns(table, change)
        case AlterColumn():
            yield from alter_column(table, change)
        case ReplaceColumns():
            yield from replace_columns(table, change)
        case AddConstraint():
            yield replace(change, settings=captured_settings(bound.state.values))
        case AddKey():
            yield added_key(table, change, bound.tables)
        case DropConstraint() | DropKey():
            yield from dropped_key(table, change, bound.tables)
        case SetProperties(properties=properties):
            yield from changes.set_properties(dict(properties))
        case UnsetProperties(keys=keys):
            yield from (changes.UnsetProperty(key=key) for key in keys)
        case SyncIdentity() | RenameTable() | SetLocation() | DropFeature() | ChangeReference():
            raise alter_history.not_supported(change)
        case _:
            assert_never(change)


def plan_sync_identity(bound: BoundStatement, table: BoundTable, change: SyncIdentity) -> SyncIdentityPlan:
    """Plans the statement. Raises `NoIdentityColumn`, and errors for missing columns."""
    snapshot = table.snapshot
    path = resolve_path(snapshot.schema, change.parts)
    with name_table_in_errors(table.label):
        snapshot.ensure_supported(TableOperation.METADATA)
        found = {column.name: column for column in snapshot.table_config.identities}
    if len(path) > 1 or path[0] not in found:
        raise NoIdentityColumn(".".join(path))
    name = quote(path[0])
    scan = scan_of(Names(snapshot.schema.names).new("scan"), table)
    return SyncIdentityPlan(
        table=table,
        column=found[path[0]],
        read=ReadPlan(text=f"SELECT min({name}), max({name}) FROM {scan.relation}", scans=(scan,)),
        description=CommitDescription(
            name="CHANGE COLUMN",
            operation=TableOperation.METADATA,
            parameters={"column": json.dumps({"name": path[0]}), "syncIdentity": "true"},
            user_name=bound.state.principal,
        ),
    )
