"""The plan of COPY INTO: an INSERT of the rows of files, once for each file; and the columns of these files.

Spark finds the columns, or, where nothing says their types, they are the table's. Texts have no types. Where a COPY
INTO takes all columns of CSV or JSON files as they are, and does not request inferred types, a column of a simple type
is read as the table's column that it goes into, so that Spark's reader parses it; a text that is no value of the type
then fails the statement, unless the option `mode` says otherwise. The query of a COPY INTO sees texts, or JSON's types.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from types import MappingProxyType

from engine.binding.bound import BoundFiles, BoundTable
from engine.binding.source_files import reading_format, says
from engine.errors.table_errors import naming
from engine.planning.analyzed import AnalyzedStatement
from engine.planning.plans.reads import QueryColumn, ReadPlan
from engine.planning.plans.writes import CopyPlan, InsertPlan
from engine.planning.reads.scans import files_scan
from engine.planning.rules.query_columns import table_fields
from engine.statements.copy_into.binding import places_of
from engine.statements.copy_into.statement import CopyInto
from engine.statements.insert.planning import plan_insert
from engine.tables.operations import TableOperation
from engine.tables.scan import FileKind
from engine.types.schema import DataType, DecimalType, PrimitiveType, StructField, StructType


def plan_copy(analyzed: AnalyzedStatement, statement: CopyInto) -> CopyPlan:
    """Raises what an INSERT raises."""
    table, (files,) = analyzed.bound.target, analyzed.bound.relations
    assert isinstance(table, BoundTable) and isinstance(files, BoundFiles)
    with naming(table.label):
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
    return replace(source, text=f"SELECT * FROM (\n{source.text}\n) LIMIT {rows}")


_RELATION = "__scan_0"
_UNPARSED = frozenset({PrimitiveType.BINARY, PrimitiveType.VARIANT, PrimitiveType.VOID})


def columns_plan(files: BoundFiles) -> ReadPlan:
    """A query whose columns are those that Spark finds in the files."""
    found = replace(files, schema=None, format=reading_format(files.format))
    return ReadPlan(text=f"SELECT * FROM {_RELATION}", scans=(files_scan(_RELATION, found),))


def with_columns(
    files: BoundFiles, found: Iterable[QueryColumn], statement: CopyInto, target: BoundTable
) -> BoundFiles:
    """The files with the columns to read of them. Raises `UnsupportedDataType`."""
    fields = table_fields(found)
    format_ = files.format
    is_text = format_.kind in (FileKind.CSV, FileKind.JSON)
    if statement.is_whole and is_text and not says(format_.options, "inferSchema"):
        fields = tuple(_typed(fields, statement, target))
    return replace(files, schema=StructType(fields), format=reading_format(format_))


def _typed(fields: tuple[StructField, ...], statement: CopyInto, target: BoundTable) -> Iterator[StructField]:
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
