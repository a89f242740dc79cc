"""COPY INTO: its plan, an INSERT that loads each file once; the files' columns; its spec.

Spark infers the columns; if nothing defines their types, the table's columns are used. Text files are untyped. If a
COPY INTO loads all columns from CSV or JSON files directly, without requesting inferred types, a column with a simple
type is read as its target column's type, so that Spark's reader parses it. A text that is invalid for the type then
fails the statement, unless the option `mode` specifies otherwise. A query in COPY INTO sees texts, or JSON's types.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from catalog.grants.conditions import Requirement
from catalog.grants.privileges import Privilege
from engine.authorization.policies import PolicyEffect
from engine.authorization.required_privileges import on_target, reads
from engine.binding.binder import Binder
from engine.binding.bound import BoundFiles, BoundNames, BoundStatement, BoundTable
from engine.binding.source_files import reading_format, says
from engine.errors.table_errors import name_table_in_errors
from engine.planning.analyzed import AnalyzedStatement, Analyzer
from engine.planning.plans.reads import QueryColumn, ReadPlan
from engine.planning.plans.writes import CopyPlan, InsertPlan
from engine.planning.reads.scans import files_scan
from engine.planning.semantics.query_columns import table_fields
from engine.statements.copy_into.binding import bind_files, places_of
from engine.statements.copy_into.statement import CopyInto
from engine.statements.insert.planning import plan_insert
from engine.statements.insert.spec import analyze_insert
from engine.statements.spec import Repetition, StatementSpec, change_spec, effect, plan_from_analyzed
from engine.tables.operations import TableOperation
from engine.tables.scan import FileKind
from engine.types.schema import DataType, DecimalType, PrimitiveType, StructField, StructType


def plan_copy(analyzed: AnalyzedStatement, statement: CopyInto) -> CopyPlan:
    """Plans COPY INTO. Raises like INSERT."""
    table, (files,) = analyzed.bound.target, analyzed.bound.relations
    assert isinstance(table, BoundTable) and isinstance(files, BoundFiles)
    with name_table_in_errors(table.label):
        table.snapshot.ensure_supported(TableOperation.APPEND)
    return CopyPlan(
        table=table,
        insert=_insert(analyzed, statement, files) if analyzed.source is not None else None,
        loaded=places_of(files),
        validates=statement.validation is not None,
    )


def _insert(analyzed: AnalyzedStatement, statement: CopyInto, files: BoundFiles) -> InsertPlan:
    insert = plan_insert(analyzed, statement.insert)
    parameters = {
        "sourcePath": files.root,
        "fileFormat": files.format.kind.value.upper(),
        "force": str(statement.force).lower(),
        "mergeSchema": str(statement.merges_schema).lower(),
    }
    rows = statement.validation.rows if statement.validation is not None else None
    return replace(
        insert,
        source=insert.source if rows is None else first_rows(insert.source, rows),
        description=replace(insert.description, name="COPY INTO", parameters=MappingProxyType(parameters)),
    )


def first_rows(source: ReadPlan, rows: int) -> ReadPlan:
    """Returns the plan with its text limited to its first `rows` rows."""
    return replace(source, text=f"SELECT * FROM (\n{source.text}\n) LIMIT {rows}")


_RELATION = "__scan_0"
_UNPARSED = frozenset({PrimitiveType.BINARY, PrimitiveType.VARIANT, PrimitiveType.VOID})


def columns_plan(files: BoundFiles) -> ReadPlan:
    """Returns a query with the columns that Spark infers from the files."""
    found = replace(files, schema=None, format=reading_format(files.format))
    return ReadPlan(text=f"SELECT * FROM {_RELATION}", scans=(files_scan(_RELATION, found),))


def with_columns(
    files: BoundFiles, found: Iterable[QueryColumn], statement: CopyInto, target: BoundTable
) -> BoundFiles:
    """Returns the files with the columns to read. Raises `UnsupportedDataType`."""
    fields = table_fields(found)
    format_ = files.format
    is_text = format_.kind in (FileKind.CSV, FileKind.JSON)
    if statement.is_whole and is_text and not says(format_.options, "inferSchema"):
        fields = tuple(_typed_fields(fields, statement, target))
    return replace(files, schema=StructType(fields), format=reading_format(format_))


def _typed_fields(fields: tuple[StructField, ...], statement: CopyInto, target: BoundTable) -> Iterator[StructField]:
    schema = target.snapshot.schema
    names = statement.columns or schema.names
    by_name = not statement.columns and not statement.by_position
    for position, field in enumerate(fields):
        name = field.name if by_name else names[position] if position < len(names) else ""
        column = schema.field(name)
        parsed = column is not None and _is_simple(column.data_type) and _is_simple(field.data_type)
        yield replace(field, data_type=column.data_type) if parsed and column is not None else field


def _is_simple(data_type: DataType) -> bool:
    return isinstance(data_type, DecimalType) or (isinstance(data_type, PrimitiveType) and data_type not in _UNPARSED)


def _bind(statement: CopyInto, binder: Binder) -> BoundNames:
    target = binder.table(statement.table_parts)
    return BoundNames(target=target, relations=(bind_files(statement, target, binder.view, binder.files),))


def _require(bound: BoundStatement, _: CopyInto) -> Iterable[Requirement]:
    return (*on_target(bound, Privilege.MODIFY), *reads(bound.relations))


def _analyze(bound: BoundStatement, statement: CopyInto, analyzer: Analyzer) -> AnalyzedStatement:
    """Analyzes the only statement for which Spark reads files in this stage: nothing else determines their columns."""
    (files,) = bound.relations
    assert isinstance(files, BoundFiles)
    if not files.files.num_rows:
        return AnalyzedStatement(bound=bound)
    assert isinstance(bound.target, BoundTable)
    known = with_columns(files, analyzer.columns_of(columns_plan(files)), statement, bound.target)
    return analyze_insert(replace(bound, relations=(known,)), statement.insert, analyzer)


SPECS: tuple[StatementSpec[Any], ...] = (
    change_spec(
        CopyInto,
        "COPY INTO",
        syntax="COPY INTO table [BY POSITION | (columns)] FROM {'path' | (SELECT … FROM 'path')} FILEFORMAT = format "
        "[VALIDATE …] [FILES = (…) | PATTERN = '…'] [FORMAT_OPTIONS (…)] [COPY_OPTIONS (…)]",
        example="COPY INTO orders FROM '/landing/orders' FILEFORMAT = PARQUET",
        bind=_bind,
        required_privileges=_require,
        # The table's log reveals which files were loaded before.
        policy_effects=effect(PolicyEffect.REVEALS_STORED_STATE_OF_TARGET, "COPY INTO"),
        analyze=_analyze,
        plan=plan_from_analyzed(plan_copy),
        repetition=Repetition.ROWS,
        answers_rows=True,
        reports_work=False,
        lineage_type=lambda _: "COPY INTO",
    ),
)
