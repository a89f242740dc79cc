"""A simple condition with its literals cast to the types of the compared columns.

Only if Spark would compare the same two values: texts with texts, whole numbers with whole numbers that the column can
hold, dates with dates or with texts that are dates. Otherwise the table is read.
"""

from __future__ import annotations

from typing import assert_never

from engine.pruning.metadata_answers import NoAnswer
from engine.pruning.predicates import (
    And,
    Column,
    Compare,
    Constant,
    In,
    IsNotNull,
    IsNull,
    Literal,
    Not,
    Operand,
    Or,
    Predicate,
    StartsWith,
    Unknown,
)
from engine.pruning.table_columns import TableColumn, TableColumns
from engine.sql.query.conditions import parse_date
from engine.types.schema import PrimitiveType

_BITS = {
    PrimitiveType.BYTE: 8,
    PrimitiveType.SHORT: 16,
    PrimitiveType.INTEGER: 32,
    PrimitiveType.LONG: 64,
}


def typed_condition(predicate: Predicate, columns: TableColumns) -> Predicate | NoAnswer:
    """Returns the predicate with its literals in their columns' types."""
    match predicate:
        case And(children=children) | Or(children=children):
            typed = [typed_condition(child, columns) for child in children]
            for child in typed:
                if isinstance(child, NoAnswer):
                    return child
            parts = tuple(child for child in typed if not isinstance(child, NoAnswer))
            return And(parts) if isinstance(predicate, And) else Or(parts)
        case Not(child=inner):
            found = typed_condition(inner, columns)
            return found if isinstance(found, NoAnswer) else Not(found)
        case Compare(operand=operand, literal=literal):
            literals = _typed_literals((literal,), operand, columns)
            if isinstance(literals, NoAnswer):
                return literals
            return Compare(predicate.operator, operand, literals[0])
        case In(operand=operand, literals=given):
            literals = _typed_literals(given, operand, columns)
            return literals if isinstance(literals, NoAnswer) else In(operand, literals)
        case IsNull(column=column) | IsNotNull(column=column):
            return predicate if columns.resolve(column.path) is not None else _unknown(column)
        case Constant() | StartsWith() | Unknown():
            return NoAnswer("the condition is not a plain one")
        case _:
            assert_never(predicate)


def _typed_literals(
    literals: tuple[Literal, ...], operand: Operand, columns: TableColumns
) -> tuple[Literal, ...] | NoAnswer:
    if not isinstance(operand, Column):
        return NoAnswer("the condition is not a plain one")
    column = columns.resolve(operand.path)
    if column is None or not column.has_byte_order:
        return _unknown(operand)
    typed = [_as(column, literal) for literal in literals]
    known = tuple(literal for literal in typed if literal is not None)
    if len(known) < len(typed):
        return NoAnswer(f"{'.'.join(operand.path)} is compared with a value of another type")
    return known


def _as(column: TableColumn, literal: Literal) -> Literal | None:
    kind = column.data_type
    match literal:
        case Literal(value=int() as value, type=PrimitiveType.LONG):
            half = 1 << (_BITS[kind] - 1) if isinstance(kind, PrimitiveType) and kind in _BITS else 0
            return Literal(value, kind) if -half <= value < half else None
        case Literal(value=str() as text, type=PrimitiveType.STRING) if kind is PrimitiveType.DATE:
            return parse_date(text)
        case Literal(type=given) if given == kind and kind in (PrimitiveType.STRING, PrimitiveType.DATE):
            return literal
        case _:  # a literal with another type
            return None


def _unknown(column: Column) -> NoAnswer:
    return NoAnswer(f"{'.'.join(column.path)} is no column whose values the log has as they are")
