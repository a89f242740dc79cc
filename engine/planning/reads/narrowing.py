"""Conditions from the query text, available before Spark has planned it: for the table's format.

With them a format can read less table metadata (`TableSnapshot.narrow`). Conditions count only if Spark would compare
the same two values; a time in the session's zone stands for all its instants in any zone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from engine.binding.bound import BoundRelation, BoundTable
from engine.errors.table_errors import name_table_in_errors
from engine.planning.reads.answer_conditions import typed_condition
from engine.pruning.metadata_answers import NoAnswer
from engine.pruning.predicates import Column, Compare, Literal, Operator, Predicate, conjunction, conjuncts
from engine.pruning.table_columns import TableColumns
from engine.sql.query.conditions import parse_local_time
from engine.sql.query.values import NeededRows, Query
from engine.tables.operations import TableOperation
from engine.types.schema import DataType, PrimitiveType

_DAY_US = 86_400_000_000
_ZONE_US_MAX = 18 * 3_600_000_000
_INSTANTS = (PrimitiveType.TIMESTAMP, PrimitiveType.TIMESTAMP_NTZ)
_BELOW = {Operator.LESS, Operator.LESS_OR_EQUAL, Operator.EQUAL}
_ABOVE = {Operator.GREATER, Operator.GREATER_OR_EQUAL, Operator.EQUAL}


def narrow_relations(query: Query, relations: tuple[BoundRelation, ...]) -> tuple[BoundRelation, ...]:
    """Returns the relations, each table narrowed to the query's needs. A table with a policy is not narrowed."""
    if query.needed is None or len(relations) != 1:
        return relations
    (table,) = relations
    if not isinstance(table, BoundTable) or table.policy is not None or not table.snapshot.schema.fields:
        return relations
    if table.has_dates_as_texts:
        return relations
    with name_table_in_errors(table.label):
        table.snapshot.ensure_supported(TableOperation.READ)
        condition = needed_condition(query.needed, table.snapshot.columns())
        return (replace(table, snapshot=table.snapshot.narrow(condition)),)


def needed_condition(needed: NeededRows, columns: TableColumns) -> Predicate:
    """Returns a predicate that is true for all needed rows."""
    parts = (each for condition in needed.conditions for each in conjuncts(condition))
    return conjunction(tuple(part for each in parts for part in weaken(each, columns)))


def weaken(condition: Predicate, columns: TableColumns) -> Iterator[Predicate]:
    """Yields predicates that are true whenever the simple condition is; nothing if its values would be cast."""
    if isinstance(condition, Compare) and isinstance(condition.operand, Column):
        path = condition.operand.path
        column = columns.resolve(path)
        if column is not None and column.data_type in _INSTANTS:
            yield from _in_any_zone(path, condition.operator, condition.literal, column.data_type)
            return
    typed = typed_condition(condition, columns)
    if not isinstance(typed, NoAnswer):
        yield typed


def _in_any_zone(path: tuple[str, ...], operator: Operator, literal: Literal, kind: DataType) -> Iterator[Predicate]:
    local = _local_us(literal)
    if local is None:
        return
    if operator in _ABOVE:
        # The session's zone is not known to the format. 18 hours is the largest offset that
        # Java's `ZoneOffset` permits.
        yield Compare(Operator.GREATER_OR_EQUAL, Column(path), Literal(local - _ZONE_US_MAX, kind))
    if operator in _BELOW:
        yield Compare(Operator.LESS_OR_EQUAL, Column(path), Literal(local + _ZONE_US_MAX, kind))


def _local_us(literal: Literal) -> int | None:
    match literal:
        case Literal(value=int() as value, type=PrimitiveType.TIMESTAMP_NTZ):
            return value
        case Literal(value=int() as days, type=PrimitiveType.DATE):
            return days * _DAY_US
        case Literal(value=str() as text, type=PrimitiveType.STRING):
            found = parse_local_time(text)
            return found.value if found is not None and isinstance(found.value, int) else None
        case _:  # a literal with another type
            return None
