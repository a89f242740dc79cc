"""Converts CREATE TABLE's clauses into values, and plans checks for its expressions.

Names and types are checked here. Only Spark can determine whether an expression can be evaluated, and its type: for an
`ExpressionCheck` it analyzes the expression over an empty relation with the table's columns.
"""

from __future__ import annotations

import json
from collections.abc import Iterable

from catalog.conditions import (
    IdentityExhausted,
    IdentityPartition,
    IdentityStepZero,
    IdentityTypeNotSupported,
    IdentityWithExpression,
)
from engine.planning.plans.expression_checks import ExpressionCheckPlan
from engine.planning.plans.reads import ReadPlan
from engine.planning.reads.scans import empty_scan
from engine.planning.semantics.allowed_expressions import column_checks, constraint_check
from engine.pruning.table_columns import CHAR_VARCHAR_TYPE
from engine.sql.dialect.type_text import parse_type
from engine.statements.create_table.statement import Check, ColumnDef, CreateTable
from engine.tables.column_metadata import (
    ALLOW_EXPLICIT,
    DEFAULT,
    GENERATION,
    GENERATION_SETTINGS,
    LONG_MAX,
    LONG_MIN,
    START,
    STEP,
    is_identity,
)
from engine.tables.definition_changes import (
    AddConstraint,
    ClusterBy,
    DefinitionChange,
    PartitionBy,
    SetDescription,
    SortBy,
    set_properties,
)
from engine.types.schema import DataType, PrimitiveType, StructField, StructType
from engine.types.sql_types import format_sql_type

COMMENT = "comment"


Settings = tuple[tuple[str, str], ...]


def table_schema(columns: Iterable[ColumnDef], settings: Settings = ()) -> StructType:
    """Returns the statement's columns as a table schema; `settings` are captured with generated columns.

    Raises `UnsupportedDataType` and errors in its expressions.
    """
    return StructType(tuple(_field(column, settings) for column in columns))


def _field(column: ColumnDef, settings: Settings) -> StructField:
    kind = parse_type(column.sql_type)
    metadata: dict[str, object] = {
        COMMENT: column.comment,
        CHAR_VARCHAR_TYPE: kind.declared,
        DEFAULT: column.default,
        GENERATION: column.generated,
        GENERATION_SETTINGS: json.dumps(dict(settings)) if settings and column.generated is not None else None,
        **identity_metadata(column, kind.data_type),
    }
    present = {key: value for key, value in metadata.items() if value is not None}
    return StructField(column.parts[-1], kind.data_type, column.nullable, present)


def table_changes(statement: CreateTable, settings: Settings = ()) -> tuple[DefinitionChange, ...]:
    """Returns properties, constraints, the comment and clustering, as changes to a plain table."""
    named = checks_of(statement)
    constraints = tuple(
        AddConstraint(name=name, expression=check.expression, settings=settings) for name, check in named
    )
    return (
        *set_properties(dict(statement.properties)),
        *constraints,
        *([PartitionBy(terms=statement.partition_terms)] if statement.partition_terms else []),
        *([SortBy(terms=statement.sort_terms, distribution=statement.distribution)] if _is_sorted(statement) else []),
        *([SetDescription(text=statement.comment)] if statement.comment is not None else []),
        *([ClusterBy(columns=statement.cluster_by)] if statement.cluster_by else []),
        *([ClusterBy(is_automatic=True)] if statement.clusters_automatically else []),
    )


def _is_sorted(statement: CreateTable) -> bool:
    return bool(statement.sort_terms) or statement.distribution is not None


def checks_of(statement: CreateTable) -> list[tuple[str, Check]]:
    """Returns constraints with their names; unnamed ones get a name."""
    checks = [*statement.checks, *(check for column in statement.columns for check in column.checks)]
    table = statement.table_parts[-1]
    return [(check.name or f"{table}_chk_{number}", check) for number, check in enumerate(checks, 1)]


def plan_expression_checks(
    schema: StructType, checks: Iterable[tuple[str, str]], location: str, new: Iterable[StructField] | None = None
) -> ExpressionCheckPlan | None:
    """Plans the checks before a table gets constraints (name, expression) and `new` columns (None: all columns)."""
    expression_checks = [
        *(check for column in (schema.fields if new is None else new) for check in column_checks(column, schema)),
        *(constraint_check(name, expression, schema) for name, expression in checks),
    ]
    if not expression_checks:
        return None
    scan = empty_scan(schema, location)
    return ExpressionCheckPlan(
        over=ReadPlan(text=f"FROM {scan.relation}", scans=(scan,)), checks=tuple(expression_checks)
    )


def identity_metadata(column: ColumnDef, data_type: DataType) -> dict[str, object]:
    """Returns identity metadata; empty for other columns. Raises for columns that cannot be identity columns."""
    identity, name = column.identity, column.parts[-1]
    if identity is None:
        return {}
    if data_type is not PrimitiveType.LONG:
        raise IdentityTypeNotSupported(name, format_sql_type(data_type))
    if identity.step == 0:
        raise IdentityStepZero(name)
    if not all(LONG_MIN <= value <= LONG_MAX for value in (identity.start, identity.step)):
        raise IdentityExhausted(name)
    if column.generated is not None or column.default is not None:
        raise IdentityWithExpression(name)
    return {START: identity.start, STEP: identity.step, ALLOW_EXPLICIT: not identity.always}


def ensure_no_identity_partition(schema: StructType, partitioned_by: Iterable[str]) -> None:
    """Raises `IdentityPartition`: values are assigned after rows are partitioned."""
    for name in partitioned_by:
        field = schema.field(name)
        if field is not None and is_identity(field):
            raise IdentityPartition(field.name)
