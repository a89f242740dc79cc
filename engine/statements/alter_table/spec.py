"""Registers ALTER TABLE. Each action declares its binding, required privileges and effect on a protected table."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, assert_never

from catalog.grants.conditions import RequiredPrivilege, Requirement
from catalog.grants.privileges import Privilege
from catalog.names import PATH_SCHEMA, TableName, path_of
from engine.authorization.policies import Effect, PolicyEffect
from engine.authorization.required_privileges import on_target, schema_of
from engine.binding.binder import Binder
from engine.binding.bound import BoundNames, BoundStatement, BoundTable
from engine.binding.visibility import free_path_owners
from engine.formats.planning import FormatPlanners, own_plan
from engine.planning.analyzed import AnalyzedStatement
from engine.planning.plans.plan import Plan
from engine.statements.alter_table.planning import plan_alter
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
from engine.statements.create_table.statement import AddKey, DropKey
from engine.statements.spec import StatementSpec, changing
from engine.tables.definition_changes import (
    AddConstraint,
    ChangeIdentifiers,
    ChangePartitioning,
    ClusterBy,
    DropConstraint,
    RenameColumn,
    SortBy,
)

_WHAT = "ALTER TABLE"
_CHECKS_ROWS = (PolicyEffect.CHECKS_STORED_ROWS, "A constraint that stored rows are checked for")


def _bind(statement: AlterTable, binder: Binder) -> BoundNames:
    """Binds the table, and other tables that the change must check."""
    table = binder.table(statement.table_parts)
    match statement.changes[0]:  # several changes are all ALTER COLUMN
        case SetLocation(location=location):
            free_path_owners(binder.view, binder.view.ensure_location(location))
            return BoundNames(target=table, relations=(binder.table((PATH_SCHEMA, location)),))
        case AddKey(key=key):
            return BoundNames(target=table, relations=binder.parents((), (key,)))
        case DropConstraint() | DropKey(columns=()):
            return BoundNames(target=table, relations=binder.children(table))
        case AddColumns() | ReplaceColumns() | RenameColumn() | DropColumns() | AlterColumn() | DropKey():
            return BoundNames(target=table)
        case SyncIdentity() | AddConstraint() | SetProperties() | UnsetProperties() | RenameTable() | ClusterBy():
            return BoundNames(target=table)
        case DropFeature() | ChangePartitioning() | SortBy() | ChangeIdentifiers() | ChangeReference():
            return BoundNames(target=table)
        case _:
            assert_never(statement.changes[0])


def _require(bound: BoundStatement, statement: AlterTable) -> Iterable[Requirement]:
    for change in statement.changes:
        yield from _require_change(bound, change)


def _require_change(bound: BoundStatement, change: TableChange) -> Iterable[Requirement]:
    match change:
        case RenameTable(table_parts=parts):
            yield from on_target(bound, Privilege.MANAGE)
            if path_of(parts) is None:
                yield RequiredPrivilege(
                    Privilege.CREATE_TABLE, schema_of(bound, TableName.from_parts(parts, bound.state.current))
                )
        case SetLocation():
            yield from on_target(bound, Privilege.MANAGE)
            for relation in bound.tables:
                yield from (RequiredPrivilege(Privilege.CREATE_EXTERNAL_TABLE, owner) for owner in relation.owners)
        case DropFeature():
            yield from on_target(bound, Privilege.MANAGE)
        case AddConstraint() | AlterColumn(nullable=False):  # the outcome reveals something about the rows
            yield from on_target(bound, Privilege.MODIFY)
            yield from on_target(bound, Privilege.SELECT)
        case AddColumns() | ReplaceColumns() | RenameColumn() | DropColumns() | AlterColumn() | AddKey() | DropKey():
            yield from on_target(bound, Privilege.MODIFY)
        case SyncIdentity() | DropConstraint() | SetProperties() | UnsetProperties() | ClusterBy():
            yield from on_target(bound, Privilege.MODIFY)
        case ChangePartitioning() | SortBy() | ChangeIdentifiers() | ChangeReference():
            yield from on_target(bound, Privilege.MODIFY)
        case _:
            assert_never(change)


def _effects(bound: BoundStatement, statement: AlterTable) -> Iterable[Effect]:
    for change in statement.changes:
        yield from _effects_of(change, bound)


def _effects_of(change: TableChange, bound: BoundStatement) -> Iterable[Effect]:
    match change:
        case DropColumns(columns=columns):
            yield _changes_columns(parts[0] for parts in columns)
        case RenameColumn(path=parts):
            yield _changes_columns((parts[0],))
        case AlterColumn(parts=parts):
            if change.sql_type is not None:
                yield _changes_columns((parts[0],))
            yield Effect(*_CHECKS_ROWS) if change.nullable is False else Effect(PolicyEffect.NONE, _WHAT)
        case AddColumns(columns=added):  # struct fields change their column
            yield _changes_columns(each.parts[0] for each in added if len(each.parts) > 1)
        case ReplaceColumns():
            yield _changes_columns(bound.target.snapshot.schema.names if isinstance(bound.target, BoundTable) else ())
        case AddConstraint():
            yield Effect(*_CHECKS_ROWS)
        case SyncIdentity() | AddKey() | DropConstraint() | DropKey() | SetProperties() | UnsetProperties():
            yield Effect(PolicyEffect.NONE, _WHAT)
        case ClusterBy() | ChangePartitioning() | SortBy() | ChangeIdentifiers() | ChangeReference():
            yield Effect(PolicyEffect.NONE, _WHAT)
        case RenameTable() | SetLocation() | DropFeature():
            yield Effect(PolicyEffect.ADMINISTERS, _WHAT)
        case _:
            assert_never(change)


def _changes_columns(names: Iterable[str]) -> Effect:
    return Effect(PolicyEffect.CHANGES_COLUMNS, _WHAT, tuple(names))


def _plan(analyzed: AnalyzedStatement, statement: AlterTable, planners: FormatPlanners) -> Plan:
    own = own_plan(planners, analyzed.bound, statement)
    return plan_alter(analyzed.bound, statement) if own is None else own


SPECS: tuple[StatementSpec[Any], ...] = (
    changing(
        AlterTable,
        "ALTER TABLE",
        syntax="ALTER TABLE table {ADD COLUMNS (…) | DROP COLUMNS (…) | RENAME COLUMN a TO b | ALTER COLUMN a … | "
        "REPLACE COLUMNS (…) | ADD CONSTRAINT … | DROP CONSTRAINT … | SET TBLPROPERTIES (…) | "
        "UNSET TBLPROPERTIES (…) | RENAME TO name | SET LOCATION 'path' | CLUSTER BY {(…) | NONE} | "
        "DROP FEATURE feature [TRUNCATE HISTORY] | ADD PARTITION FIELD … | WRITE ORDERED BY … | "
        "SET IDENTIFIER FIELDS … | {CREATE | REPLACE | DROP} {BRANCH | TAG} …}",
        example="ALTER TABLE orders ADD COLUMNS (note STRING)",
        bind=_bind,
        required_privileges=_require,
        policy_effects=_effects,
        plan=_plan,
        answers_rows=False,
        reports_work=False,
    ),
)
