"""Evaluates predicates over column statistics: one set of possible truth values for each entry.

An entry is a data file (bounds from statistics) or a distinct partition value (exact bounds). NOT is pushed to the
leaves first, so that only leaves have to be negated; a leaf uses its column's bounds, and AND and OR combine sets
(`engine.pruning.three_valued_logic`). An unsupported condition can have any truth value.

In a conjunction one comparison can improve another: in `x > 1 AND x < 9` the second excludes NaN, so the first may use
a file's maximum number even if statistics omit NaN.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, assert_never

import numpy as np

from engine.pruning.column_ranges import cast_bounds
from engine.pruning.predicates import (
    And,
    Cast,
    Column,
    Compare,
    Constant,
    In,
    IsNotNull,
    IsNull,
    Not,
    Operand,
    Operator,
    Or,
    Path,
    Predicate,
    StartsWith,
    Unknown,
    column_of,
    conjuncts,
    push_down_not,
)
from engine.pruning.three_valued_logic import FALSE, Mask, Truths, conjoin, constant, disjoin, negate, truths, unknown
from engine.pruning.value_ranges import INTEGRAL_DIGITS, Answers, Bounds, BytesBounds
from engine.types.schema import DataType, DecimalType, PrimitiveType

_EXCLUDES_NAN = frozenset([Operator.LESS, Operator.LESS_OR_EQUAL, Operator.EQUAL])
_YES: Mask = np.asarray(True)
_NO: Mask = np.asarray(False)


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownColumn:
    """Statistics for one column: masks over the entries, or with shape () for all entries."""

    # None: a value can be anything.
    bounds: Bounds | None
    # True if some row may be non-null.
    has_value: Mask
    # True if some row may be null.
    has_null: Mask


class ColumnSource(Protocol):
    """The source for an evaluation's columns."""

    def column(self, path: Path) -> KnownColumn | None:
        """Returns the column with this logical path; None if nothing is known, not even that it exists."""

    def shortcut(self, predicate: Predicate) -> Truths | None:
        """Returns the result for a whole subtree, if it can be computed more cheaply."""


def evaluate(predicate: Predicate, source: ColumnSource) -> Truths:
    """Returns, for each entry in the source, the possible truth values of `predicate` for its rows."""
    return _Evaluation(source).of(push_down_not(predicate))


@dataclass(frozen=True, slots=True)
class _Evaluation:
    source: ColumnSource

    def of(self, predicate: Predicate, numbers_only: bool = False) -> Truths:
        """Evaluates a predicate; `numbers_only`: rows with a NaN operand do not matter."""
        shortcut = self.source.shortcut(predicate)
        if shortcut is not None:
            return shortcut
        match predicate:
            case And():
                return self._conjunction(predicate)
            case Or(children=children):
                result = constant(False)
                for child in children:
                    result = disjoin(result, self.of(child))
                return result
            case Not(child=child):
                return negate(self.of(child))
            case Constant(value=value):
                return constant(value)
            case Unknown():
                return unknown()
            case IsNull(column=column):
                return self._is_null(column)
            case IsNotNull(column=column):
                return negate(self._is_null(column))
            case Compare():
                return self._compare(predicate, numbers_only)
            case In():
                return self._in(predicate)
            case StartsWith():
                return self._starts_with(predicate)
            case _:
                assert_never(predicate)

    def _conjunction(self, predicate: And) -> Truths:
        children = tuple(conjuncts(predicate))
        bounded = {child.operand for child in children if isinstance(child, Compare) and _excludes_nan(child)}
        result = constant(True)
        for child in children:
            numbers_only = isinstance(child, Compare) and child.operand in bounded
            result = conjoin(result, self.of(child, numbers_only))
        return result

    def _is_null(self, column: Column) -> Truths:
        known = self.source.column(column.path)
        if known is None:
            return truths(can_be_true=_YES, can_be_false=_YES, can_be_null=_NO)
        return truths(can_be_true=known.has_null, can_be_false=known.has_value, can_be_null=_NO)

    def _compare(self, predicate: Compare, numbers_only: bool) -> Truths:
        literal = predicate.literal
        column = column_of(predicate.operand)
        null_safe = predicate.operator is Operator.NULL_SAFE_EQUAL
        # A comparison with NULL is NULL for each row, except for `<=>`.
        if literal.value is None:
            return self._is_null(column) if null_safe else constant(None)
        known = self.source.column(column.path)
        bounds = _bounds(known, predicate.operand, literal.type)
        answers = bounds.compare(predicate.operator, literal, numbers_only=numbers_only) if bounds else None
        if known is None or answers is None:
            return _unknown_value(known, predicate.operand, null_safe=null_safe)
        true, false = answers
        if null_safe:
            false = (false & known.has_value) | known.has_null
            return truths(can_be_true=true & known.has_value, can_be_false=false, can_be_null=_NO)
        return _of_values(known, answers)

    def _in(self, predicate: In) -> Truths:
        literals = tuple(literal for literal in predicate.literals if literal.value is not None)
        has_null = len(literals) < len(predicate.literals)
        if not literals:
            return constant(None if has_null else False)
        known = self.source.column(column_of(predicate.operand).path)
        bounds = _bounds(known, predicate.operand, literals[0].type)
        answers = bounds.among(literals) if bounds else None
        if known is None or answers is None:
            return _unknown_value(known, predicate.operand)
        result = _of_values(known, answers)
        # If one of the literals is null, no value is known to differ from all literals.
        return (result & ~FALSE) | ((result & FALSE) << np.uint8(1)) if has_null else result

    def _starts_with(self, predicate: StartsWith) -> Truths:
        if predicate.prefix is None:
            return constant(None)
        known = self.source.column(column_of(predicate.operand).path)
        bounds = _bounds(known, predicate.operand, PrimitiveType.STRING)
        if known is None or not isinstance(bounds, BytesBounds):
            return _unknown_value(known, predicate.operand)
        return _of_values(known, bounds.starts_with(predicate.prefix.encode("utf-8", "surrogatepass")))


def _unknown_value(known: KnownColumn | None, operand: Operand, *, null_safe: bool = False) -> Truths:
    """Returns all truth values for an unsupported leaf; for a plain column null still gives null."""
    if null_safe:
        return truths(can_be_true=_YES, can_be_false=_YES, can_be_null=_NO)
    # Spark may fold a cast to NULL or raise an error, so even null values say nothing about
    # the result.
    if known is None or isinstance(operand, Cast):
        return unknown()
    return _of_values(known, Answers(_YES, _YES))


def _of_values(known: KnownColumn, answers: Answers) -> Truths:
    """Returns the result for a condition that is null for null, and `answers` for other values."""
    return truths(
        can_be_true=answers.true & known.has_value,
        can_be_false=answers.false & known.has_value,
        can_be_null=known.has_null,
    )


def _excludes_nan(comparison: Compare) -> bool:
    value = comparison.literal.value
    return comparison.operator in _EXCLUDES_NAN and value is not None and value == value


def _bounds(known: KnownColumn | None, operand: Operand, literal_type: DataType) -> Bounds | None:
    """Returns the column's bounds under the operand's cast, and under the implicit cast for a comparison with a
    double.
    """
    bounds = None if known is None else known.bounds
    if bounds is not None and isinstance(operand, Cast):
        bounds = cast_bounds(bounds, operand.type)
    if bounds is None or literal_type is not PrimitiveType.DOUBLE:
        return bounds
    whole = isinstance(bounds.data_type, DecimalType) or bounds.data_type in INTEGRAL_DIGITS
    return cast_bounds(bounds, literal_type) if whole else bounds
