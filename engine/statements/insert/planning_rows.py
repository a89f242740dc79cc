"""An INSERT's rows: columns, PARTITION constants, its condition, and DEFAULT among the values.

DEFAULT is the column's value when the statement omits it. For most columns that is a constant, which replaces the word
in the text. Values for identity and generated columns are computed when the rows are written, so such a column is
removed from the statement's columns: the query is read without it. If only some VALUES rows have DEFAULT for it, rows
with DEFAULT in the same columns form one part, with the part number as an additional value; each part is written
separately, in one version.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from types import MappingProxyType

from catalog.conditions import AliasWithReplaceWhere, ColumnsWithReplaceOn, DuplicateKey, StatementNotSupported
from engine.binding.bound import BoundStatement, BoundTable
from engine.enforcement.columns import match_columns, partition_column
from engine.enforcement.computed_columns import default_text
from engine.planning.analyzed import DefaultValues, GivenRows, InsertRows
from engine.planning.plans.write_plan import LiteralRows, WritePlan
from engine.planning.semantics.conditions import target_condition
from engine.runtime.settings import AUTO_MERGE
from engine.sql.expressions import Expression
from engine.sql.query.splice import Edit
from engine.sql.query.values import Span
from engine.statements.insert.statement import Insert, ReplaceOn, ReplaceWhere
from engine.tables.column_metadata import is_identity
from engine.types.schema import StructField
from engine.types.sql_types import ddl_type

REPLACE_WHERE = "REPLACE WHERE"


def insert_rows(bound: BoundStatement, statement: Insert) -> InsertRows:
    """Returns the rows. Raises for conflicting clauses, and for DEFAULT in an ambiguous position."""
    table = bound.target
    assert isinstance(table, BoundTable)
    _ensure_clauses_fit(statement)
    own = _replace_where_condition(table, statement)
    defaults = find_defaults(_rows(table, statement, own), statement)
    evolves = statement.schema_evolution or bound.state.value(AUTO_MERGE) == "true"
    if len(defaults.parts) > 1 and (evolves or isinstance(statement.replace, ReplaceOn)):
        raise StatementNotSupported("DEFAULT in some of the rows, with REPLACE ON or schema evolution,")
    return InsertRows(defaults=defaults, condition=own, evolves=evolves)


def _ensure_clauses_fit(statement: Insert) -> None:
    if isinstance(statement.replace, ReplaceWhere) and statement.alias is not None:
        raise AliasWithReplaceWhere(statement.alias)
    if isinstance(statement.replace, ReplaceOn) and statement.columns:
        raise ColumnsWithReplaceOn()


def _replace_where_condition(table: BoundTable, statement: Insert) -> Expression | None:
    """Returns the REPLACE WHERE condition."""
    if not isinstance(statement.replace, ReplaceWhere):
        return None
    return target_condition(table, REPLACE_WHERE, statement.replace.condition)


def _rows(table: BoundTable, statement: Insert, own: Expression | None) -> WritePlan:
    for number, item in enumerate(statement.partition):
        if item.column.casefold() in (other.column.casefold() for other in statement.partition[:number]):
            raise DuplicateKey("The PARTITION clause", item.column)
        partition_column(table.snapshot.table_config, item.column)
    static_partitions = {item.column: item.value for item in statement.partition if item.value is not None}
    return WritePlan(
        table=table.label,
        config=table.snapshot.table_config,
        insert_columns=_default_column(table) if statement.has_only_defaults else statement.columns,
        static_partitions=MappingProxyType(static_partitions),
        replaces=None if own is None else own.text,
        removes=statement.overwrite or statement.replace is not None,
        arrangement=None if statement.source.relations else LiteralRows(),
    )


def _default_column(table: BoundTable) -> tuple[str, ...]:
    """Returns a column for the DEFAULT of DEFAULT VALUES: the first one that is not computed, if there is one."""
    config = table.snapshot.table_config
    fields = table.snapshot.schema.fields
    given = (field for field in fields if not is_identity(field) and field.name not in config.generations)
    return (next(given, fields[0]).name,)


def find_defaults(rows: WritePlan, statement: Insert) -> DefaultValues:
    """Finds DEFAULT values. Raises `StatementNotSupported` for ambiguous cases."""
    markers = statement.defaults.markers
    if not markers:
        return DefaultValues(parts=(GivenRows(rows=rows),), edits=[])
    if statement.by_name:
        raise StatementNotSupported("DEFAULT in an INSERT … BY NAME")
    targets = match_columns(rows).target_columns
    edits: list[Edit] = []
    # Column -> the rows with DEFAULT.
    left_out: dict[int, set[int]] = {}
    for marker in markers:
        if marker.column >= len(targets):  # too many values, which Spark reports
            continue
        column = targets[marker.column]
        if _is_made_with_rows(rows, column):
            left_out.setdefault(marker.column, set()).add(marker.row)
        edits.append((marker.span, _text(rows, column)))
    if not left_out:
        return DefaultValues(parts=(GivenRows(rows=rows),), edits=edits)
    num_rows, ends = statement.defaults.rows, statement.defaults.row_ends
    partly = [targets[at].name for at, of_rows in left_out.items() if len(of_rows) != num_rows]
    if not partly:
        return DefaultValues(parts=(_part(rows, targets, left_out.keys()),), edits=edits)
    if len(ends) != num_rows:
        raise StatementNotSupported(
            f"DEFAULT for the column {partly[0]} in some of the rows, and values in others, but in VALUES alone,"
        )
    by_row = [frozenset(at for at, of_rows in left_out.items() if row in of_rows) for row in range(num_rows)]
    numbers = {columns: number for number, columns in enumerate(dict.fromkeys(by_row))}
    edits += [(Span(end, end), f", {numbers[columns]}") for end, columns in zip(ends, by_row, strict=True)]
    parts = tuple(_part(rows, targets, columns, number) for columns, number in numbers.items())
    return DefaultValues(parts=parts, edits=edits)


def _part(
    rows: WritePlan, targets: Sequence[StructField], left_out: Collection[int], number: int | None = None
) -> GivenRows:
    given_columns = tuple(at for at in range(len(targets)) if at not in left_out)
    if not given_columns:
        raise StatementNotSupported("DEFAULT for all columns, which the table makes itself,")
    return GivenRows(
        rows=replace(rows, insert_columns=tuple(targets[at].name for at in given_columns)),
        selected_columns=given_columns,
        width=len(targets) + (number is not None),
        number=number,
    )


def _is_made_with_rows(rows: WritePlan, column: StructField) -> bool:
    return is_identity(column) or column.name in rows.config.generations


def _text(rows: WritePlan, column: StructField) -> str:
    is_made = _is_made_with_rows(rows, column)
    return "NULL" if is_made else f"CAST({default_text(column)} AS {ddl_type(column.data_type)})"
