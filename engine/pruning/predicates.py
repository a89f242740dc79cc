"""Predicates over a table's columns, as values for pruning, conflict detection and rewrites.

The union :data:`Predicate` is closed. A translation from SQL text or from Spark's plan returns :class:`Unknown` for
each unsupported condition; an unknown predicate may be true, false or null for any row, so it prunes nothing and
weakens nothing that it is combined with. SQL's three-valued logic is preserved: a predicate is true, false or null for
a row, and a row is selected only if it is true.

Columns are named by their *logical* path, one name for each nesting level (``("address", "city")``), spelled as in the
table's schema. Literals carry their SQL type, because the same number compares differently as a `double` and as a
`decimal`. Their values are Python's, unless Python's range is too small: a date is a number of days, a timestamp a
number of microseconds since the epoch (in UTC, or wall clock time for a timestamp without a zone).

Comparisons have Spark's semantics: NaN equals itself and is greater than every number, -0.0 equals 0.0, strings and
binary compare by unsigned bytes.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from itertools import chain
from typing import TypeAlias, assert_never

from engine.types.schema import DataType, DecimalType, PrimitiveType

Path: TypeAlias = tuple[str, ...]
Value: TypeAlias = bool | int | float | Decimal | str | bytes | None

_EPOCH = datetime.datetime(1970, 1, 1)
_MICROSECOND = datetime.timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class Literal:
    """A constant. `value` None is SQL's NULL with that type; see the module for dates and timestamps."""

    value: Value
    type: DataType

    @classmethod
    def of(cls, value: Value | datetime.date | datetime.datetime) -> Literal:
        """Returns the literal for a Python value: `int` is a long, a datetime is a timestamp if it has a zone."""
        match value:
            case None:
                return cls(None, PrimitiveType.VOID)
            case bool():
                return cls(value, PrimitiveType.BOOLEAN)
            case int():
                return cls(value, PrimitiveType.LONG)
            case float():
                return cls(value, PrimitiveType.DOUBLE)
            case Decimal():
                return cls(value, _decimal_type(value))
            case str():
                return cls(value, PrimitiveType.STRING)
            case bytes():
                return cls(value, PrimitiveType.BINARY)
            case datetime.datetime():
                if value.tzinfo is None:
                    return cls((value - _EPOCH) // _MICROSECOND, PrimitiveType.TIMESTAMP_NTZ)
                return cls((value - _EPOCH.replace(tzinfo=datetime.UTC)) // _MICROSECOND, PrimitiveType.TIMESTAMP)
            case datetime.date():
                return cls(value.toordinal() - _EPOCH.toordinal(), PrimitiveType.DATE)
            case _:
                assert_never(value)


def _decimal_type(value: Decimal) -> DataType:
    _, digits, exponent = value.as_tuple()
    if not isinstance(exponent, int):
        raise ValueError(f"{value} is no number")
    scale = max(0, -exponent)
    return DecimalType(min(38, max(len(digits) + max(0, exponent), scale, 1)), scale)


@dataclass(frozen=True, slots=True)
class Column:
    """A column by its logical path."""

    path: Path


@dataclass(frozen=True, slots=True)
class Cast:
    """A column under a cast. Pruning uses order-preserving casts, others are treated as unknown."""

    column: Column
    type: DataType


Operand: TypeAlias = Column | Cast


class Operator(Enum):
    """The operator in a :class:`Compare`; the value is SQL's spelling."""

    EQUAL = "="
    NULL_SAFE_EQUAL = "<=>"
    NOT_EQUAL = "!="
    LESS = "<"
    LESS_OR_EQUAL = "<="
    GREATER = ">"
    GREATER_OR_EQUAL = ">="


# NOT (x op v) equals x NEGATED[op] v in all three truth values, because the order is total; `<=>` has no counterpart.
NEGATED = {
    Operator.EQUAL: Operator.NOT_EQUAL,
    Operator.NOT_EQUAL: Operator.EQUAL,
    Operator.LESS: Operator.GREATER_OR_EQUAL,
    Operator.LESS_OR_EQUAL: Operator.GREATER,
    Operator.GREATER: Operator.LESS_OR_EQUAL,
    Operator.GREATER_OR_EQUAL: Operator.LESS,
}


@dataclass(frozen=True, slots=True)
class Compare:
    """`operand operator literal`; the translator swaps a literal on the left."""

    operator: Operator
    operand: Operand
    literal: Literal


@dataclass(frozen=True, slots=True)
class In:
    """`operand IN (literals)`: null if nothing is equal but a literal is null."""

    operand: Operand
    literals: tuple[Literal, ...]


@dataclass(frozen=True, slots=True)
class StartsWith:
    """`operand LIKE 'prefix%'`, by bytes."""

    operand: Operand
    prefix: str | None


@dataclass(frozen=True, slots=True)
class IsNull:
    column: Column


@dataclass(frozen=True, slots=True)
class IsNotNull:
    column: Column


@dataclass(frozen=True, slots=True)
class And:
    children: tuple[Predicate, ...]


@dataclass(frozen=True, slots=True)
class Or:
    children: tuple[Predicate, ...]


@dataclass(frozen=True, slots=True)
class Not:
    child: Predicate


@dataclass(frozen=True, slots=True)
class Constant:
    """TRUE, FALSE or (None) NULL."""

    value: bool | None


@dataclass(frozen=True, slots=True)
class Unknown:
    """An unsupported condition. `columns` are the columns that it is known to refer to, or None."""

    text: str = ""
    columns: frozenset[Path] | None = None


Predicate: TypeAlias = Compare | In | StartsWith | IsNull | IsNotNull | And | Or | Not | Constant | Unknown

ALWAYS = Constant(True)


def compare(path: Path | str, operator: str, value: Value | datetime.date | datetime.datetime) -> Compare:
    """Returns a comparison between a column and a Python value: ``compare("id", ">=", 3)``."""
    column = Column((path,) if isinstance(path, str) else path)
    return Compare(Operator(operator), column, Literal.of(value))


def all_of(left: Predicate, right: Predicate) -> Predicate:
    """Returns `left AND right`, one level deep for a chain: a deep predicate is walked again at each level."""
    parts = (each.children if isinstance(each, And) else (each,) for each in (left, right))
    return And(tuple(chain(*parts)))


def any_of(left: Predicate, right: Predicate) -> Predicate:
    """Returns `left OR right`, one level deep for a chain, like `all_of`."""
    parts = (each.children if isinstance(each, Or) else (each,) for each in (left, right))
    return Or(tuple(chain(*parts)))


def conjuncts(predicate: Predicate) -> Iterator[Predicate]:
    """Yields the parts that must all be true if `predicate` is: nested ANDs are flattened."""
    if isinstance(predicate, And):
        for child in predicate.children:
            yield from conjuncts(child)
    elif predicate != ALWAYS:
        yield predicate


def conjunction(predicates: tuple[Predicate, ...]) -> Predicate:
    """Returns the AND of any number of predicates; TRUE for an empty tuple."""
    return predicates[0] if len(predicates) == 1 else And(predicates) if predicates else ALWAYS


def columns_of(predicate: Predicate) -> frozenset[Path] | None:
    """Returns the paths of all columns that `predicate` refers to, or None if unknown."""
    match predicate:
        case Compare(operand=operand) | In(operand=operand) | StartsWith(operand=operand):
            return frozenset([column_of(operand).path])
        case IsNull(column=column) | IsNotNull(column=column):
            return frozenset([column.path])
        case And(children=children) | Or(children=children):
            found: frozenset[Path] = frozenset()
            for child in children:
                columns = columns_of(child)
                if columns is None:
                    return None
                found |= columns
            return found
        case Not(child=child):
            return columns_of(child)
        case Constant():
            return frozenset()
        case Unknown(columns=columns):
            return columns
        case _:
            assert_never(predicate)


def column_of(operand: Operand) -> Column:
    """Returns the column below a cast, or the column itself."""
    return operand.column if isinstance(operand, Cast) else operand


def push_down_not(predicate: Predicate, *, negate: bool = False) -> Predicate:
    """Returns the same predicate, in all three truth values, with NOT only on leaves without an opposite.

    With `negate` the result is NOT `predicate`.
    """
    match predicate:
        case Not(child=child):
            return push_down_not(child, negate=not negate)
        case And(children=children):
            parts = tuple(push_down_not(child, negate=negate) for child in children)
            return Or(parts) if negate else And(parts)
        case Or(children=children):
            parts = tuple(push_down_not(child, negate=negate) for child in children)
            return And(parts) if negate else Or(parts)
        case Compare() | In() | StartsWith() | IsNull() | IsNotNull() | Constant() | Unknown():
            return _opposite(predicate) if negate else predicate
        case _:
            assert_never(predicate)


def _opposite(leaf: Compare | In | StartsWith | IsNull | IsNotNull | Constant | Unknown) -> Predicate:
    match leaf:
        case Compare(operator=operator) if operator in NEGATED:
            return Compare(NEGATED[operator], leaf.operand, leaf.literal)
        case IsNull(column=column):
            return IsNotNull(column)
        case IsNotNull(column=column):
            return IsNull(column)
        case Constant(value=value):
            return Constant(None if value is None else not value)
        case Compare() | In() | StartsWith() | Unknown():
            return Not(leaf)
        case _:
            assert_never(leaf)
