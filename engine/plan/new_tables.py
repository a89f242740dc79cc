"""What a CREATE TABLE statement says of the table, as a value; and the proof that its expressions mean something.

Names and types are checked where they stand. Whether an expression can be evaluated, and to what type, only Spark
knows: a `Probe` asks it to analyze the expression over an empty relation with the table's columns.
"""

from __future__ import annotations

from collections.abc import Iterable

from engine.definition_errors import (
    CheckNotBoolean,
    DefaultNotConstant,
    GenerationTypeDiffers,
    InvalidGenerationReference,
)
from engine.delta.file_table import FILES_SCHEMA
from engine.delta.identity import is_identity
from engine.delta.metadata_changes import AddConstraint, ClusterBy, MetadataChange, SetDescription, set_properties
from engine.delta.spec.properties import DELTA_PREFIX, canonical_key
from engine.delta.spec.schema import StructField, StructType
from engine.delta.table_columns import CHAR_VARCHAR_TYPE
from engine.plan.identity_columns import identity_metadata
from engine.plan.plans import Probe, ProbePlan, ReadPlan, Scan
from engine.session_state import SessionState
from engine.settings import TABLE_DEFAULTS
from engine.sql.expressions import parse_expression
from engine.sql.type_text import parse_type
from engine.sql_types import column_sql_type, format_sql_type
from engine.write_statements import Check, ColumnDef, CreateTable

COMMENT = "comment"
DEFAULT = "CURRENT_DEFAULT"
GENERATION = "delta.generationExpression"

_EMPTY = "__scan_0"


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
        *(probe for column in (schema.fields if new is None else new) for probe in _column_probes(column, schema)),
        *(_check_probe(name, expression) for name, expression in checks),
    ]
    if not probes:
        return None
    columns = ", ".join(f"{probe.text} AS c{number}" for number, probe in enumerate(probes))
    read = ReadPlan(text=f"SELECT {columns} FROM {_EMPTY}", scans=(empty_scan(schema, location),))
    return ProbePlan(read=read, probes=tuple(probes))


def empty_scan(schema: StructType, location: str) -> Scan:
    """A relation with the columns of a table and no rows."""
    plain = StructType(tuple(StructField(field.name, field.data_type) for field in schema.fields))
    files = FILES_SCHEMA.empty_table().select(["path", "size", "modification_time", "partition_values"])
    return Scan(
        relation=_EMPTY,
        label="the table",
        table_root=location,
        schema=plain,
        partition_columns=(),
        files=files,
    )


def _column_probes(column: StructField, schema: StructType) -> Iterable[Probe]:
    default, generation = column.metadata.get(DEFAULT), column.metadata.get(GENERATION)
    if isinstance(default, str):
        refusal = DefaultNotConstant(column.name, default)
        expression = parse_expression(default)
        if expression.columns:
            raise refusal
        text = f"CAST({expression.in_parentheses} AS {column_sql_type(column)})"
        yield Probe(text=text, sql_type=None, refusal=refusal)
    if isinstance(generation, str):
        expression = parse_expression(generation)
        for reference in expression.columns:
            source = schema.field(reference[0])
            if source is None or source is column or GENERATION in source.metadata or is_identity(source):
                raise InvalidGenerationReference(column.name, ".".join(reference))
        declared = format_sql_type(column.data_type)
        differs = GenerationTypeDiffers(column.name, declared, generation, "")
        yield Probe(text=expression.in_parentheses, sql_type=declared, refusal=differs)


def _check_probe(name: str, text: str) -> Probe:
    refusal = CheckNotBoolean(name, text, "")
    return Probe(text=parse_expression(text).in_parentheses, sql_type="boolean", refusal=refusal)


def ensure_probed(plan: ProbePlan, found: Iterable[str]) -> None:
    """Raises the refusal of the first probe whose type is not the one that it must be."""
    for probe, sql_type in zip(plan.probes, found, strict=True):
        if probe.sql_type is not None and sql_type != probe.sql_type:
            if isinstance(probe.refusal, GenerationTypeDiffers | CheckNotBoolean):
                probe.refusal.found = sql_type
            raise probe.refusal
