"""What a CREATE TABLE statement says of the table, as a value; and the proof that its expressions mean something.

Names and types are checked where they stand. Whether an expression can be evaluated, and to what type, only Spark
knows: a `Probe` asks it to analyze the expression over an empty relation with the table's columns.
"""

from __future__ import annotations

from collections.abc import Iterable

from engine.delta.file_table import FILES_SCHEMA
from engine.delta.metadata_changes import AddConstraint, ClusterBy, MetadataChange, SetDescription, set_properties
from engine.delta.spec.properties import DELTA_PREFIX, canonical_key
from engine.delta.spec.schema import StructField, StructType
from engine.delta.table_columns import CHAR_VARCHAR_TYPE
from engine.plan.identity_columns import identity_metadata
from engine.plan.plans import ProbePlan, ReadPlan, Scan
from engine.plan.rule_probes import check_probe, column_probes
from engine.plan.scans import relation_beside
from engine.session_state import SessionState
from engine.settings import TABLE_DEFAULTS
from engine.sql.type_text import parse_type
from engine.write_statements import Check, ColumnDef, CreateTable

COMMENT = "comment"
DEFAULT = "CURRENT_DEFAULT"
GENERATION = "delta.generationExpression"


def table_schema(columns: Iterable[ColumnDef]) -> StructType:
    """The columns of a statement as those of a table. Raises `UnsupportedDataType` and what its expressions deserve."""
    return StructType(tuple(_field(column) for column in columns))


def _field(column: ColumnDef) -> StructField:
    kind = parse_type(column.sql_type)
    metadata: dict[str, object] = {
        COMMENT: column.comment,
        CHAR_VARCHAR_TYPE: kind.declared,
        DEFAULT: column.default,
        GENERATION: column.generated,
        **identity_metadata(column, kind.data_type),
    }
    present = {key: value for key, value in metadata.items() if value is not None}
    return StructField(column.parts[-1], kind.data_type, column.nullable, present)


def default_properties(state: SessionState) -> dict[str, str]:
    """What the session's settings give to every new table."""
    return {
        DELTA_PREFIX + key.removeprefix(TABLE_DEFAULTS): value
        for key, value in state.values.items()
        if key.startswith(TABLE_DEFAULTS)
    }


def table_changes(statement: CreateTable, state: SessionState) -> tuple[MetadataChange, ...]:
    """Properties, constraints, the comment and clustering, as changes of a table without them."""
    written = {canonical_key(key): value for key, value in statement.properties}
    named = checks_of(statement)
    constraints = tuple(AddConstraint(name=name, expression=check.expression) for name, check in named)
    return (
        *set_properties({**default_properties(state), **written}),
        *constraints,
        *([SetDescription(text=statement.comment)] if statement.comment is not None else []),
        *([ClusterBy(columns=statement.cluster_by)] if statement.cluster_by else []),
    )


def checks_of(statement: CreateTable) -> list[tuple[str, Check]]:
    """Constraints with their names; those without one get one."""
    checks = [*statement.checks, *(check for column in statement.columns for check in column.checks)]
    table = statement.table_parts[-1]
    return [(check.name or f"{table}_chk_{number}", check) for number, check in enumerate(checks, 1)]


def plan_probes(
    schema: StructType, checks: Iterable[tuple[str, str]], location: str, new: Iterable[StructField] | None = None
) -> ProbePlan | None:
    """What has to be asked before a table gets constraints (name, expression) and `new` columns (None: all of it)."""
    probes = [
        *(probe for column in (schema.fields if new is None else new) for probe in column_probes(column, schema)),
        *(check_probe(name, expression, schema) for name, expression in checks),
    ]
    if not probes:
        return None
    scan = empty_scan(schema, location)
    return ProbePlan(over=ReadPlan(text=f"FROM {scan.relation}", scans=(scan,)), probes=tuple(probes))


def empty_scan(schema: StructType, location: str) -> Scan:
    """A relation with the columns of a table and no rows."""
    plain = StructType(tuple(StructField(field.name, field.data_type) for field in schema.fields))
    files = FILES_SCHEMA.empty_table().select(["path", "size", "modification_time", "partition_values"])
    return Scan(
        relation=relation_beside(schema),
        label="the table",
        table_root=location,
        schema=plain,
        partition_columns=(),
        files=files,
    )
