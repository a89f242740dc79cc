"""How many values of a column differ: counted by ANALYZE, or by another engine, at some version of the table.

A log has no such numbers, so they are as old as the statement that counted them. They only help to plan: what was
counted is taken to hold while the table has about as many rows, and to grow with it where nearly each row had a value
of its own. Once the table has ten times or a tenth of the rows that were counted, they are not used any more.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

_CHANGE_MAX = 10
"""Times as many rows, or as few, as were counted."""
_KEY_SHARE = 0.5
"""More distinct values than this, for each row: the column grows with the table."""


@dataclass(frozen=True, slots=True)
class DistinctCount:
    """`distinct` values, other than null, were found in `rows` rows."""

    distinct: int
    rows: int

    def among(self, rows: int) -> int | None:
        """The number to expect in a table that has so many rows now; None: nobody can tell."""
        if self.rows <= 0 or rows <= 0 or not 1 / _CHANGE_MAX <= rows / self.rows <= _CHANGE_MAX:
            return None
        if self.distinct > self.rows * _KEY_SHARE:
            return min(rows, round(self.distinct * rows / self.rows))
        return min(rows, self.distinct)


@dataclass(frozen=True, slots=True)
class DistinctCounts:
    """By the logical names of top-level columns, as the schema spells them."""

    columns: Mapping[str, DistinctCount] = field(default_factory=dict)
