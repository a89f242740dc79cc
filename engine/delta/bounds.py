"""What is known of a column's values: for each entry (a data file, or a distinct partition value) a lowest and a highest.

Bounds answer four questions about a literal `v`, each with a mask over the entries: may some value be below `v`, at most
`v`, above `v`, at least `v`? Every comparison is made of these four, and so is its negation. A missing bound answers yes.

Two kinds of entries are told apart by `exact`. Partition values are exact: low is high is the value. Statistics are
written by many programs and only bound the values, so here they are widened by what is known to go wrong:

- Timestamps are cut to milliseconds: the highest may lie 999 us higher. Some writers also cut the seconds off a zone's
  offset, which moves instants of before 1972 by up to a minute either way.
- Strings are cut; a highest string is usually followed by a tie-breaker, but one of 32 or more characters may also be
  just a prefix of the true one.
- NaN is the greatest value to Spark, yet writers that take statistics from Parquet leave it out: a highest `float` or
  `double` bounds only the numbers (`hides_nan`).
- A `float` may have been printed as one and a `double` parsed from it, when the column's type was widened.
- Some writers pass decimals through a double: beyond 15 digits they are compared as doubles, two steps wider.

A cast that keeps the order maps bounds to bounds (:func:`cast_bounds`). A cast between instants and local time is made
without asking for the zone: no zone is further than 18 hours from UTC.

Sources: PROTOCOL.md, "Per-file Statistics"; Spark's `SQLOrderingUtil` for the order of floating point numbers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from engine.delta.predicates import Literal
from engine.delta.spec.schema import DataType, DecimalType, PrimitiveType
from engine.delta.truth import Mask

Numbers: TypeAlias = npt.NDArray[Any]

_DAY_US = 86_400_000_000
_ZONE_US_MAX = 18 * 3_600_000_000
_DAYS_MAX = 2**63 // _DAY_US - 2
_CUT_TO_MS_US = 999
_CUT_OFFSET_US = 60_000_000
_OFFSETS_WITH_SECONDS_END_US = 730 * _DAY_US  # 1972: Liberia was the last country to leave such an offset
_INT64 = np.iinfo(np.int64)
_DOUBLE_DIGITS = 15
_CUT_STRING_LENGTH_MIN = 32
_PREFIX_LENGTH_MAX = 1024
_FEW_LITERALS = 8

_INTEGRAL_DIGITS = {
    PrimitiveType.BYTE: 3,
    PrimitiveType.SHORT: 5,
    PrimitiveType.INTEGER: 10,
    PrimitiveType.LONG: 19,
}
"""The integral types in order of width, with the decimal digits that hold any value."""

_FLOATING = frozenset([PrimitiveType.FLOAT, PrimitiveType.DOUBLE])
_INSTANT_LIKE = frozenset([PrimitiveType.DATE, PrimitiveType.TIMESTAMP, PrimitiveType.TIMESTAMP_NTZ])
_YES: Mask = np.asarray(True)
_NO: Mask = np.asarray(False)


@dataclass(frozen=True, slots=True)
class Probe:
    """A literal in the terms of numeric bounds; it lies between two of them when it is not one of their numbers."""

    floor: Any
    ceiling: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class NumericBounds:
    """Numbers, booleans, dates and timestamps. `low` and `high` are arrays without gaps: a missing bound is the least or
    greatest of its type. Integers stand for `value * 10**scale`.

    `approximate` bounds are doubles around decimals that a double cannot hold.
    """

    low: Numbers
    high: Numbers
    exact: bool
    scale: int = 0
    hides_nan: bool = False
    approximate: bool = False

    def probe(self, literal: Literal) -> Probe | None:
        """The literal to ask about, or None when it cannot be compared with these numbers."""
        value = literal.value
        if value is None or isinstance(value, str | bytes):
            return None
        if self.low.dtype.kind == "f":
            if isinstance(value, float):
                return Probe(value, value)
            return _floating_probe(value, exact=not self.approximate)
        if isinstance(value, float):
            return None
        numerator, denominator = value.as_integer_ratio()
        numerator *= 10**self.scale
        return Probe(numerator // denominator, -(-numerator // denominator))

    def some_below(self, probe: Probe) -> Mask:
        if probe.ceiling != probe.ceiling:  # below NaN lies every number
            return np.asarray(self.low == self.low)
        limit = probe.ceiling
        return np.asarray(self.low < limit)

    def some_at_most(self, probe: Probe) -> Mask:
        if probe.floor != probe.floor:
            return _YES
        return np.asarray(self.low <= (probe.ceiling if self.approximate else probe.floor))

    def some_above(self, probe: Probe, *, nan: bool = True) -> Mask:
        """`nan` False asks about numbers only."""
        if probe.floor != probe.floor:
            return _NO
        if nan and self.hides_nan:
            return _YES
        return self._or_nan(self.high > probe.floor, nan)

    def some_at_least(self, probe: Probe, *, nan: bool = True) -> Mask:
        if probe.ceiling != probe.ceiling:
            return _YES if self.hides_nan else np.asarray(self.high != self.high)
        if nan and self.hides_nan:
            return _YES
        return self._or_nan(self.high >= (probe.floor if self.approximate else probe.ceiling), nan)

    def _or_nan(self, mask: Numbers, nan: bool) -> Mask:
        if nan and self.exact and self.high.dtype.kind == "f":
            return np.asarray(mask | (self.high != self.high))
        return np.asarray(mask)

    def some_among(self, probes: Sequence[Probe]) -> tuple[Mask, Mask]:
        """Many literals at once: where some value may be one of them, and where some value may be none of them."""
        values = sorted(probe.floor for probe in probes if probe.floor == probe.ceiling)
        has_nan = len(probes) > 0 and any(probe.floor != probe.floor for probe in probes)
        if not values:
            found = np.full(self.low.shape, has_nan and (self.hides_nan or not self.exact))
        else:
            array = np.array(values, dtype=None if self.low.dtype.kind == "f" else object)
            array = _fit(array, self.low.dtype)
            found = np.searchsorted(array, self.low, "left") < np.searchsorted(array, self.high, "right")
        if has_nan:
            found |= self.some_at_least(Probe(math.nan, math.nan))
        return found, _other_than(found, self.low == self.high, self.hides_nan)
