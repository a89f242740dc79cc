"""Identity columns: values of the form `start + k * step` that a table gives to rows that come without one.

A new value lies past the high-water mark, the furthest value that was ever given out. All arithmetic is Python's, which
cannot overflow; whether a value fits into 64 bits is asked where it is used.
"""

from __future__ import annotations

from dataclasses import dataclass

LEAST, GREATEST = -(2**63), 2**63 - 1
"""The values that a column can have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IdentityColumn:
    """`high_water_mark` None: no value was given out yet."""

    name: str
    start: int
    step: int
    allow_explicit: bool
    high_water_mark: int | None

    @property
    def next_value(self) -> int:
        """The first value past the high-water mark; it may not fit into 64 bits."""
        return (
            self.start
            if self.high_water_mark is None
            else self.start + self.step * (self._steps_to(self.high_water_mark) + 1)
        )

    def high_water_mark_after(self, low: int, high: int) -> int | None:
        """That of a column with values from `low` to `high`; it never goes back, nor to before the start."""
        furthest = high if self.step > 0 else low
        steps = self._steps_up_to(furthest)
        if steps < 0:
            return self.high_water_mark
        if self.high_water_mark is not None and self._steps_to(self.high_water_mark) >= steps:
            return self.high_water_mark
        return self.start + self.step * steps

    def _steps_to(self, value: int) -> int:
        """Whole steps from the start to `value`; -1 for one before the start, such as old writers left behind."""
        return max((value - self.start) // self.step, -1)

    def _steps_up_to(self, value: int) -> int:
        """Steps to the first value of the grid that is not before `value`."""
        return -((self.start - value) // self.step) if (value - self.start) * self.step >= 0 else -1
