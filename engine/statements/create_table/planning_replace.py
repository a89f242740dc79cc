"""Plans REPLACE TABLE and CREATE OR REPLACE TABLE on an existing table, with columns or a query.

The table keeps its identity: its next version has another definition and other rows, in one commit, and all earlier
versions remain readable. Until that commit the table is unchanged, so that a query may read the table that it replaces.
Identity columns restart from their start value, as in delta-spark: no row in the new version has earlier values.
"""

from __future__ import annotations

from dataclasses import replace

from catalog.conditions import CannotModifyAppendOnly, ColumnsWithQuery, SchemaNotProvided, StatementNotSupported
from engine.binding.bound import BoundStatement, BoundTable
from engine.errors.table_errors import name_table_in_errors
from engine.planning.analyzed import AnalyzedStatement
from engine.planning.plans.ddl import ReplaceTableAsPlan, ReplaceTablePlan
from engine.planning.plans.write_plan import WritePlan
from engine.planning.semantics.idempotence import idempotent_write
from engine.planning.semantics.query_columns import table_fields
from engine.runtime.settings import captured_settings
from engine.statements.create_table.planning import describe_creation, ensure_creatable, operation_name, partition_names
from engine.statements.create_table.planning_definition import (
    checks_of,
    plan_expression_checks,
    table_changes,
    table_schema,
)
from engine.statements.create_table.planning_keys import new_keys, with_not_nulls
from engine.statements.create_table.statement import CreateTable
from engine.statements.policies.planning import replaced_policies
from engine.tables.definition import TableDefinition
from engine.tables.operations import TableOperation
from engine.types.schema import StructType
from engine.types.voids import ensure_no_new_void


def plan_replace_table(bound: BoundStatement, statement: CreateTable) -> ReplaceTablePlan:
    """Plans REPLACE TABLE with columns: a new definition without rows. Raises `SchemaNotProvided` without columns."""
    table = _replaceable(bound, statement)
    schema = with_not_nulls(
        table_schema(statement.columns, captured_settings(bound.state.values)), statement.declared_keys
    )
    if not schema.fields:
        raise SchemaNotProvided(table.label)
    plan = _plan(bound, statement, table, schema)
    checks = [(name, check.expression) for name, check in checks_of(statement)]
    return replace(plan, expression_checks=plan_expression_checks(schema, checks, table.entry.location))


def plan_replace_table_as(analyzed: AnalyzedStatement, statement: CreateTable) -> ReplaceTableAsPlan:
    """Plans REPLACE TABLE … AS query. Raises `ColumnsWithQuery` if columns, checks or keys are declared too."""
    table = _replaceable(analyzed.bound, statement)
    if statement.columns or statement.checks or statement.keys:
        raise ColumnsWithQuery(f"{statement.mode} TABLE")
    schema = StructType(table_fields(analyzed.columns or ()))
    ensure_no_new_void(schema.fields, (), dict(statement.properties))
    plan = _plan(analyzed.bound, statement, table, schema)
    config = plan.definition.config(table.label)
    config.ensure_supported(TableOperation.APPEND)
    return ReplaceTableAsPlan(
        table=table,
        definition=plan.definition,
        description=plan.description,
        source=analyzed.query,
        rows=WritePlan(table=table.label, config=config),
        policies=plan.policies,
        idempotent_write=idempotent_write(analyzed.bound.state),
    )


def _replaceable(bound: BoundStatement, statement: CreateTable) -> BoundTable:
    """Raises if a table's rows must not be deleted."""
    ensure_creatable(statement)
    table = bound.target
    assert isinstance(table, BoundTable)
    with name_table_in_errors(table.label):
        table.snapshot.ensure_supported(TableOperation.OVERWRITE)
        table.snapshot.ensure_supported(TableOperation.METADATA)
    if table.snapshot.table_config.is_append_only:
        raise CannotModifyAppendOnly(table.label)
    return table


def _plan(bound: BoundStatement, statement: CreateTable, table: BoundTable, schema: StructType) -> ReplaceTablePlan:
    definition = _define(bound, statement, table, schema)
    description = describe_creation(operation_name(statement), bound, table.entry.managed, definition)
    return ReplaceTablePlan(
        table=table,
        definition=definition,
        description=replace(description, operation=TableOperation.OVERWRITE),
        policies=replaced_policies(bound, statement, table, schema),
    )


def _define(bound: BoundStatement, statement: CreateTable, table: BoundTable, schema: StructType) -> TableDefinition:
    changes = table_changes(statement, captured_settings(bound.state.values))
    if statement.query is None and statement.declared_keys:
        if table.name is None:
            raise StatementNotSupported("A key of a table that is named by its path")
        changes += new_keys(table.name, schema, statement.declared_keys, bound.tables)
    with name_table_in_errors(table.label):
        partitions = partition_names(statement, schema)
        return table.snapshot.replace_definition(table.label, schema, partitions, changes, bound.state.values)
