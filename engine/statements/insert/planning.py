"""Plans INSERT in its forms, TRUNCATE and CREATE TABLE … AS: the query's columns, and the removed files.

If possible, entire files are removed: all, or those in some partitions. If a condition on other columns decides, files
are rewritten without the deleted rows (`engine.execution.writes.replaced_rows`).
"""

from __future__ import annotations

from dataclasses import replace

from catalog.conditions import ColumnsWithQuery, LocationNotEmpty, StatementNotSupported
from catalog.names import quote
from engine.binding.bound import BoundStatement, BoundTable
from engine.enforcement.stored_values import stored_partition_value
from engine.errors.table_errors import column_not_found, name_table_in_errors
from engine.planning.analyzed import AnalyzedStatement, InsertRows
from engine.planning.plans.ddl import CreateTableAsPlan, CreateTablePlan
from engine.planning.plans.file_writes import FieldMatching
from engine.planning.plans.write_plan import WritePlan
from engine.planning.plans.writes import (
    InsertPart,
    InsertPlan,
    KeepAll,
    ReplaceAll,
    ReplaceEqual,
    ReplaceMatching,
    Replacement,
    ReplaceRelated,
    ReplaceRows,
    ReplaceTouched,
    TruncatePlan,
)
from engine.planning.semantics.conditions import joint_condition, rows_matching, target_condition_check
from engine.planning.semantics.idempotence import idempotent_write
from engine.planning.semantics.query_columns import given_fields, table_fields
from engine.sql.expressions import Expression, parse_expression, to_one_line
from engine.statements.create_table.planning import (
    define,
    describe_creation,
    ensure_creatable,
    free_name,
    new_entry,
    operation_name,
    tolerated_errors,
)
from engine.statements.create_table.statement import CreateTable
from engine.statements.insert.planning_fields import field_matching
from engine.statements.insert.planning_rows import REPLACE_WHERE
from engine.statements.insert.statement import Insert, ReplaceOn, ReplaceUsing
from engine.statements.merge.planning_evolution import evolve_definition
from engine.statements.policies.planning import new_policies
from engine.statements.row_changes.planning import reads_besides
from engine.tables.definition import TableDefinition
from engine.tables.operations import CommitDescription, TableOperation
from engine.types.schema import StructField, StructType
from engine.types.sql_types import ddl_type
from engine.types.voids import ensure_no_new_void

REPLACE_ON = "REPLACE ON"
_OVERWRITE_MODE = "spark.sql.sources.partitionOverwriteMode"


def plan_insert(analyzed: AnalyzedStatement, statement: Insert) -> InsertPlan:
    """Plans INSERT. Raises for table features that prevent writes, and for unsupported clauses, by name."""
    bound, insert = analyzed.bound, analyzed.insert
    table = bound.target
    assert isinstance(table, BoundTable) and insert is not None
    replacement = _replacement(bound, statement, insert.rows, insert.condition)
    with name_table_in_errors(table.label):
        table.snapshot.ensure_supported(_operation(replacement))
    rows, definition = _evolve(table, insert, analyzed, statement)
    return InsertPlan(
        table=table,
        source=analyzed.query,
        columns=analyzed.columns or (),
        rows=rows,
        definition=definition,
        replacement=replacement,
        reads_table=reads_besides(bound.relations, table),
        description=_description(bound, replacement, evolves=insert.evolves),
        more=tuple(
            InsertPart(source=each, rows=part.rows)
            for each, part in zip(analyzed.more_sources, insert.defaults.parts[1:], strict=True)
        ),
        only_if_absent=statement.if_not_exists,
        idempotent_write=idempotent_write(bound.state),
        expression_checks=None
        if insert.condition is None
        else target_condition_check(table, REPLACE_WHERE, insert.condition),
    )


def _evolve(
    table: BoundTable, insert: InsertRows, analyzed: AnalyzedStatement, statement: Insert
) -> tuple[WritePlan, TableDefinition | None]:
    """Returns the rows with the query's column details, and the definition if columns are new."""
    rows, given = insert.rows, given_fields(analyzed.columns or ())
    fields = field_matching(rows, statement, given, evolves=insert.evolves)
    by_name = fields is not FieldMatching.POSITION
    definition = evolve_definition(table, rows, given, statement.by_name, by_name) if insert.evolves else None
    if definition is not None:
        rows = replace(rows, config=definition.config(rows.table))
    names = tuple(column.name for column in given) if statement.by_name else None
    return replace(rows, source_columns=names, fields=fields), definition


def plan_truncate(bound: BoundStatement) -> TruncatePlan:
    """Plans TRUNCATE TABLE. Raises for table features that prevent overwriting the table."""
    table = bound.target
    assert isinstance(table, BoundTable)
    with name_table_in_errors(table.label):
        table.snapshot.ensure_supported(TableOperation.OVERWRITE)
    description = CommitDescription(
        name="TRUNCATE", operation=TableOperation.OVERWRITE, user_name=bound.state.principal, parameters={}
    )
    return TruncatePlan(table=table, description=description)


def plan_create_table_as(analyzed: AnalyzedStatement, statement: CreateTable) -> CreateTableAsPlan | CreateTablePlan:
    """Plans CREATE TABLE AS; the columns are the query's, so the statement cannot declare any."""
    bound = analyzed.bound
    ensure_creatable(statement)
    if statement.columns or statement.checks or statement.keys:
        raise ColumnsWithQuery("CREATE TABLE")
    target = free_name(bound, if_not_exists=statement.if_not_exists)
    if target is None:
        return CreateTablePlan(entry=None)
    if target.found is not None:
        raise LocationNotEmpty(str(target.name), target.location)
    schema = StructType(table_fields(analyzed.columns or ()))
    ensure_no_new_void(schema.fields, (), dict(statement.properties))
    definition = define(bound, target, statement, schema)
    config = definition.config(str(target.name))
    config.ensure_supported(TableOperation.APPEND)
    return CreateTableAsPlan(
        entry=new_entry(bound, target, new_policies(bound, statement, target, schema)),
        is_path=target.is_path,
        definition=definition,
        description=describe_creation(operation_name(statement), bound, target.managed, definition),
        source=analyzed.query,
        rows=WritePlan(table=str(target.name), config=config),
        idempotent_write=idempotent_write(bound.state),
        tolerated=tolerated_errors(if_not_exists=statement.if_not_exists),
    )


def _replacement(bound: BoundStatement, statement: Insert, rows: WritePlan, own: Expression | None) -> Replacement:
    if statement.if_not_exists and (rows.config.partition_sources or not _names_a_partition(statement, rows)):
        raise StatementNotSupported("INSERT … IF NOT EXISTS without OVERWRITE and a value for every partition column")
    if own is not None:
        assert isinstance(bound.target, BoundTable)
        return rows_matching(bound.target, own)
    if isinstance(statement.replace, ReplaceOn):
        return _replace_on(bound, statement, statement.replace)
    if isinstance(statement.replace, ReplaceUsing):
        return ReplaceEqual(columns=tuple(_column(rows, name).name for name in statement.replace.columns))
    if not statement.overwrite:
        return KeepAll()
    is_dynamic = (bound.state.value(_OVERWRITE_MODE) or "STATIC") == "DYNAMIC"
    if is_dynamic and rows.config.partition_keys and not statement.if_not_exists:
        return ReplaceTouched()
    if rows.static_partitions:
        condition = " AND ".join(_equals(rows, name, text) for name, text in rows.static_partitions.items())
        if rows.config.partition_sources:  # files contain these columns, and may have another partition spec
            assert isinstance(bound.target, BoundTable)
            return rows_matching(bound.target, parse_expression(condition))
        return ReplaceMatching(condition=condition, shown=to_one_line(condition))
    return ReplaceAll()


def _names_a_partition(statement: Insert, rows: WritePlan) -> bool:
    """Returns True if the statement overwrites one partition, whether or not it exists."""
    given = len(rows.static_partitions)
    return statement.overwrite and given > 0 and given >= len(rows.config.partition_columns)


def _column(rows: WritePlan, name: str) -> StructField:
    column = rows.schema.field(name)
    if column is None:
        raise column_not_found(name, rows.schema.names)
    return column


def _equals(rows: WritePlan, name: str, text: str) -> str:
    """Returns the partition for rows with this value."""
    kind = _column(rows, name).data_type
    value = f"CAST({parse_expression(text).in_parentheses} AS {ddl_type(kind)})"
    stored = value if rows.config.partition_sources else stored_partition_value(kind, value)
    return f"{quote(name)} <=> {stored}"


def _replace_on(bound: BoundStatement, statement: Insert, on: ReplaceOn) -> Replacement:
    table = bound.target
    assert isinstance(table, BoundTable)
    has_alias = statement.alias is not None
    return ReplaceRelated(
        condition=joint_condition(table, REPLACE_ON, on.condition, has_alias=has_alias),
        alias=statement.alias or statement.table_parts[-1],
        source_alias=on.source_alias,
        shown=to_one_line(on.condition),
    )


def _operation(replacement: Replacement) -> TableOperation:
    return TableOperation.APPEND if isinstance(replacement, KeepAll) else TableOperation.OVERWRITE


def _description(bound: BoundStatement, replacement: Replacement, *, evolves: bool) -> CommitDescription:
    """Returns the history entry; `partitionBy` is a statement's partitioning clause, which INSERT does not have."""
    parameters = {"mode": "Append" if isinstance(replacement, KeepAll) else "Overwrite", "partitionBy": "[]"}
    if isinstance(replacement, ReplaceMatching | ReplaceRows):
        parameters["predicate"] = replacement.shown
    if isinstance(replacement, ReplaceEqual):
        parameters["replaceUsingCols"] = ", ".join(replacement.columns)
    if isinstance(replacement, ReplaceRelated):
        parameters["replaceOnCond"] = replacement.shown
    if isinstance(replacement, ReplaceTouched):
        parameters["isDynamicPartitionOverwrite"] = "true"
    if evolves:
        parameters["canMergeSchema"] = "true"
    return CommitDescription(
        name="WRITE", operation=_operation(replacement), parameters=parameters, user_name=bound.state.principal
    )
