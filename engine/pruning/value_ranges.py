"""Value ranges: a minimum and a maximum for each entry, a data file or a distinct partition value.

Bounds answer four questions about a literal `v`, each with a mask over the entries: may some value be below `v`, at
most `v`, above `v`, at least `v`? Every comparison and its negation is composed from these four. A missing bound
answers yes. `exact` bounds come from partition values, with the value as low and high; others come from statistics and
were widened by their known defects (`engine.pruning.column_ranges`).

All numbers, dates and timestamps are compared as integers, so that there is one rule set:

- a decimal with scale s as `value * 10**s`;
- a floating-point number by a key that sorts as Spark does: -0.0 is 0.0, NaN is itself and above infinity;
- a literal between two adjacent integers keeps both neighbors (:class:`Probe`).

Statistics from Parquet footers omit NaN, and the log does not record the statistics' origin. So a file's maximum number
is no bound for "above": `high` is NaN then, and `number_high` serves the questions that exclude NaN.

Source: Spark's `SQLOrderingUtil` for floating-point numbers, `UTF8String.compareTo` (unsigned bytes) for strings.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar, assert_never

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from engine.pruning.predicates import Literal, Operator
from engine.pruning.three_valued_logic import Mask
from engine.types.schema import ArrayType, DataType, DecimalType, MapType, PrimitiveType, StructType

# Signed integers with any width, or Python's (dtype object) for exact decimals beyond 64 bits.
Integers: TypeAlias = npt.NDArray[Any]

# The integral types from narrow to wide, with the decimal digits that hold any of their values.
INTEGRAL_DIGITS = {
    PrimitiveType.BYTE: 3,
    PrimitiveType.SHORT: 5,
    PrimitiveType.INTEGER: 10,
    PrimitiveType.LONG: 19,
}

FLOATING = frozenset([PrimitiveType.FLOAT, PrimitiveType.DOUBLE])

NAN_KEY = 2**63 - 1
# Writers truncate strings in statistics at this many characters or more.
CUT_STRING_BYTES_MIN = 32

# Up to this many IN literals are compared one by one, more by binary search.
_FEW_LITERALS = 8
_PREFIX_BYTES_MAX = 1024
_FLOAT_EXACT_MAX = 2**24
_DOUBLE_EXACT_MAX = 2**53
_DOUBLE_RANGE = 10**300


def floating_keys(values: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    """Returns integers in Spark's order for floating-point numbers."""
    bits = (values + 0.0).view(np.int64)  # the sum turns -0.0 into 0.0
    # IEEE 754 bits sort like integers for positive numbers and in reverse for negative
    # ones; flipping the value bits of the latter makes one order.
    keys: npt.NDArray[np.int64] = bits ^ ((bits >> 63) & NAN_KEY)
    # Spark sorts NaN above all numbers and treats all NaN bit patterns as equal.
    keys[np.isnan(values)] = NAN_KEY
    return keys


def _floating_key(value: float) -> int:
    return int(floating_keys(np.array([value]))[0])


class Answers(NamedTuple):
    """Masks over the entries: some value may satisfy a condition, and some value may fail it."""

    true: Mask
    false: Mask


P = TypeVar("P")


class OrderedBounds(ABC, Generic[P]):
    """Comparisons, composed from the four questions; `P` is a literal's form for the questions."""

    __slots__ = ()

    @abstractmethod
    def probe(self, literal: Literal) -> P | None:
        """Returns the literal's form for the questions, or None if it cannot be compared with these values. It is not
        null.
        """

    @abstractmethod
    def may_be_below(self, probe: P) -> Mask:
        """Returns the entries that may have a value below the literal."""

    @abstractmethod
    def may_be_at_most(self, probe: P) -> Mask:
        """Returns the entries that may have a value at or below the literal."""

    @abstractmethod
    def may_be_above(self, probe: P, *, numbers_only: bool = False) -> Mask:
        """Returns whether some value may be above; `numbers_only` excludes NaN."""

    @abstractmethod
    def may_be_at_or_above(self, probe: P, *, numbers_only: bool = False) -> Mask:
        """Returns the entries that may have a value at or above the literal; `numbers_only` excludes NaN."""

    @abstractmethod
    def may_be_among(self, probes: Sequence[P]) -> Answers:
        """Returns whether a value may be among many literals. Faster than one by one, and equally precise."""

    def is_nan(self, probe: P) -> bool:
        """Returns True if the literal is NaN; False for types without NaN."""
        return False

    def may_be_equal(self, probe: P) -> Mask:
        """Returns the entries that may have a value equal to the literal."""
        # Equality with a number excludes NaN, so the file's maximum number is a valid bound
        # even if the statistics omit NaN.
        return self.may_be_at_most(probe) & self.may_be_at_or_above(probe, numbers_only=not self.is_nan(probe))

    def may_differ(self, probe: P) -> Mask:
        """Returns the entries that may have a value different from the literal; nulls do not count."""
        return self.may_be_below(probe) | self.may_be_above(probe)

    def compare(self, operator: Operator, literal: Literal, *, numbers_only: bool = False) -> Answers | None:
        """Returns None if the literal cannot be compared. `numbers_only`: NaN does not matter."""
        probe = self.probe(literal)
        if probe is None:
            return None
        match operator:
            case Operator.EQUAL | Operator.NULL_SAFE_EQUAL:
                return Answers(self.may_be_equal(probe), self.may_differ(probe))
            case Operator.NOT_EQUAL:
                return Answers(self.may_differ(probe), self.may_be_equal(probe))
            case Operator.LESS:
                return Answers(self.may_be_below(probe), self.may_be_at_or_above(probe))
            case Operator.LESS_OR_EQUAL:
                return Answers(self.may_be_at_most(probe), self.may_be_above(probe))
            case Operator.GREATER:
                return Answers(self.may_be_above(probe, numbers_only=numbers_only), self.may_be_at_most(probe))
            case Operator.GREATER_OR_EQUAL:
                return Answers(self.may_be_at_or_above(probe, numbers_only=numbers_only), self.may_be_below(probe))
            case _:
                assert_never(operator)

    def among(self, literals: Sequence[Literal]) -> Answers | None:
        """Returns whether a value may be among the literals; None if one cannot be compared."""
        probes = [probe for literal in literals if (probe := self.probe(literal)) is not None]
        if len(probes) < len(literals):
            return None
        if len(probes) > _FEW_LITERALS:
            return self.may_be_among(probes)
        true, false = np.asarray(False), np.asarray(True)
        for probe in probes:
            true, false = true | self.may_be_equal(probe), false & self.may_differ(probe)
        return Answers(true, false)


@dataclass(frozen=True, slots=True)
class Probe:
    """A literal as integers: the neighbor to use for each question. All four are equal unless it falls between two
    values.
    """

    below: Any
    at_most: Any
    above: Any
    at_or_above: Any

    @classmethod
    def at(cls, key: Any) -> Probe:
        """Returns the probe for a literal that is an integer in the bounds' unit."""
        return cls(key, key, key, key)


@dataclass(frozen=True, slots=True, kw_only=True)
class NumericBounds(OrderedBounds[Probe]):
    """Bounds for numbers, booleans, dates and timestamps; arrays without nulls: a missing bound is the type's extreme.

    `approximate` bounds are double keys around decimals that a double cannot represent.
    """

    data_type: DataType
    low: Integers
    high: Integers
    exact: bool
    approximate: bool = False
    number_high: Integers | None = None

    def probe(self, literal: Literal) -> Probe | None:
        value = literal.value
        if value is None or isinstance(value, str | bytes):
            return None
        match self.data_type:
            case PrimitiveType.FLOAT | PrimitiveType.DOUBLE:
                number = _double_of(value, self.data_type)
                return None if number is None else Probe.at(_floating_key(number))
            case DecimalType() | PrimitiveType.BYTE | PrimitiveType.SHORT | PrimitiveType.INTEGER | PrimitiveType.LONG:
                if isinstance(value, bool | float):
                    return None
                return _probe_between_doubles(value) if self.approximate else _probe_on_grid(value, self.data_type)
            case PrimitiveType() | StructType() | ArrayType() | MapType():
                return Probe.at(int(value)) if literal.type == self.data_type else None
            case _:
                assert_never(self.data_type)

    def may_be_below(self, probe: Probe) -> Mask:
        return np.asarray(self.low < probe.below, dtype=bool)

    def may_be_at_most(self, probe: Probe) -> Mask:
        return np.asarray(self.low <= probe.at_most, dtype=bool)

    def may_be_above(self, probe: Probe, *, numbers_only: bool = False) -> Mask:
        return np.asarray(self._high(numbers_only) > probe.above, dtype=bool)

    def may_be_at_or_above(self, probe: Probe, *, numbers_only: bool = False) -> Mask:
        return np.asarray(self._high(numbers_only) >= probe.at_or_above, dtype=bool)

    def is_nan(self, probe: Probe) -> bool:
        return self.data_type in FLOATING and bool(probe.at_or_above == NAN_KEY)

    def may_be_among(self, probes: Sequence[Probe]) -> Answers:
        has_nan = any(self.is_nan(probe) for probe in probes)
        if self.number_high is not None and has_nan:
            return Answers(np.asarray(True), np.asarray(True))
        # Empty for a literal between two column values, several for one between two doubles.
        keys = _sorted_like({key for probe in probes for key in range(probe.at_or_above, probe.at_most + 1)}, self.low)
        high = self._high(True)
        found = np.searchsorted(keys, self.low, "left") < np.searchsorted(keys, high, "right")
        single = np.asarray(self.low == self._high(False), dtype=bool)
        return Answers(found, np.asarray(True) if self.approximate else ~(found & single))

    def _high(self, numbers_only: bool) -> Integers:
        return self.number_high if numbers_only and self.number_high is not None else self.high


def _double_of(value: bool | int | float | Decimal, column_type: DataType) -> float | None:
    """Returns a number as the double that Spark uses in a comparison with a floating-point column."""
    match value:
        case bool():
            return None
        case float():
            return value
        case int():
            exact_max = _FLOAT_EXACT_MAX if column_type is PrimitiveType.FLOAT else _DOUBLE_EXACT_MAX
            # Beyond this limit Spark's cast of the literal rounds, and a rounded literal
            # could exclude the wrong files.
            return float(value) if abs(value) <= exact_max else None
        case Decimal():
            return float(value)
        case _:
            assert_never(value)


def _probe_on_grid(value: int | Decimal, column_type: DataType) -> Probe:
    numerator, denominator = value.as_integer_ratio()
    if isinstance(column_type, DecimalType):
        numerator *= 10**column_type.scale
    quotient = numerator // denominator
    ceiling = -(-numerator // denominator)
    # For x < 2.5 over integers the question is x < 3, for x <= 2.5 it is x <= 2.
    return Probe(below=ceiling, at_most=quotient, above=quotient, at_or_above=ceiling)


def _probe_between_doubles(value: int | Decimal) -> Probe | None:
    if not -_DOUBLE_RANGE < value < _DOUBLE_RANGE:
        return None
    nearest = float(value)
    if Fraction(nearest) == Fraction(value):
        return Probe.at(_floating_key(nearest))
    # Two different decimals may round to the same double, so the literal stands for an
    # interval around it.
    under = _floating_key(math.nextafter(nearest, -math.inf))
    over = _floating_key(math.nextafter(nearest, math.inf))
    return Probe(below=over, at_most=over, above=under, at_or_above=under)


def _sorted_like(values: set[Any], like: Integers) -> Integers:
    if like.dtype != object:
        limits = np.iinfo(like.dtype)
        values = {value for value in values if limits.min <= value <= limits.max}
    return np.array(sorted(values), dtype=like.dtype)


@dataclass(frozen=True, slots=True, kw_only=True)
class BytesBounds(OrderedBounds[bytes]):
    """Bounds for strings and binary values, as binary Arrow arrays; null or a missing array is no bound."""

    data_type: DataType
    low: pa.Array | None
    high: pa.Array | None
    exact: bool

    def probe(self, literal: Literal) -> bytes | None:
        if literal.type != self.data_type:
            return None
        value = literal.value.encode("utf-8", "surrogatepass") if isinstance(literal.value, str) else literal.value
        return value if isinstance(value, bytes) else None

    def may_be_below(self, probe: bytes) -> Mask:
        return _ask(pc.less, self.low, probe)

    def may_be_at_most(self, probe: bytes) -> Mask:
        return _ask(pc.less_equal, self.low, probe)

    def may_be_above(self, probe: bytes, *, numbers_only: bool = False) -> Mask:
        return self._reach(pc.greater, probe)

    def may_be_at_or_above(self, probe: bytes, *, numbers_only: bool = False) -> Mask:
        return self._reach(pc.greater_equal, probe)

    def starts_with(self, prefix: bytes) -> Answers:
        """Returns the answers to `LIKE 'prefix%'` and to its negation.

        An empty prefix, or one of 0xFF bytes only, matches all.
        """
        end = _after_prefix(prefix)
        if end is None:
            return Answers(np.asarray(True), np.asarray(False))
        found = self.may_be_below(end) & self.may_be_at_or_above(prefix)
        return Answers(found, self.may_be_below(prefix) | self.may_be_at_or_above(end))

    def may_be_among(self, probes: Sequence[bytes]) -> Answers:
        keys = np.empty(len(probes), dtype=object)
        keys[:] = sorted(probes)
        if self.low is None or self.high is None:
            return Answers(self.may_be_at_most(keys[-1]) & self.may_be_at_or_above(keys[0]), np.asarray(True))
        found = self.may_be_at_most(keys[-1]) & self.may_be_at_or_above(keys[0])
        near = np.flatnonzero(found)
        lows = [low or b"" for low in self.low.take(pa.array(near)).to_pylist()]
        highs = [self._end(high, keys[-1]) for high in self.high.take(pa.array(near)).to_pylist()]
        first, last = np.searchsorted(keys, _objects(lows), "left"), np.searchsorted(keys, _objects(highs), "right")
        found[near] = first < last
        other = np.ones_like(found)
        if self.exact:
            other[near] = first >= last
        return Answers(found, other)

    def _reach(self, comparison: Any, probe: bytes) -> Mask:
        probe = probe if self.exact else probe[:_PREFIX_BYTES_MAX]
        answer = _ask(comparison, self.high, probe)
        if self.exact or self.high is None or len(probe) < CUT_STRING_BYTES_MIN:
            return answer
        # A long maximum string may be only a prefix of the true one, which may then be the literal or above it.
        beginnings = [probe[:length] for length in range(CUT_STRING_BYTES_MIN, len(probe) + 1)]
        cut = pc.is_in(self.high, value_set=pa.array(beginnings, pa.binary()))
        return np.asarray(answer | cut.to_numpy(zero_copy_only=False))

    def _end(self, high: bytes | None, maximum: bytes) -> bytes:
        if high is None:
            return maximum
        # UTF-8 text never contains the byte FF, so this is above everything that begins with `high`.
        return high + b"\xff" if not self.exact and len(high) >= CUT_STRING_BYTES_MIN else high


Bounds: TypeAlias = NumericBounds | BytesBounds


def _ask(comparison: Any, bounds: pa.Array | None, probe: bytes) -> Mask:
    if bounds is None:
        return np.asarray(True)
    answer: Mask = comparison(bounds, pa.scalar(probe, pa.binary())).fill_null(True).to_numpy(zero_copy_only=False)
    return answer


def _after_prefix(prefix: bytes) -> bytes | None:
    """Returns the smallest string above all strings with `prefix`; None if it does not exist."""
    stem = prefix.rstrip(b"\xff")
    return stem[:-1] + bytes([stem[-1] + 1]) if stem else None


def _objects(values: Sequence[bytes]) -> npt.NDArray[np.object_]:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array
