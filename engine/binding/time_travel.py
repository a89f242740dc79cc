"""What the expressions of AS OF and of `table_changes` mean: versions and times.

They are Spark's to evaluate, in the session's zone; a plain number is a version without asking. A string is a time, as
Delta has it, also where it is digits alone.

Binding runs nothing. Where it meets an expression whose value it does not know yet it stops with :class:`Unevaluated`;
the road has the expression evaluated and binds again, with what was pinned before and one value more.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, assert_never

from catalog.conditions import ChangeBoundType, InvalidTimeTravel, InvalidTimeTravelTimestamp, NullChangeBound
from engine.sql.query.values import AsOfReference, AsOfTimestamp, AsOfVersion, TimeTravel
from engine.tables.changes import AtTime, AtVersion, Bound
from engine.tables.formats import TableFormat
from engine.tables.snapshot import TableSnapshot

Values = Mapping[str, tuple[Any, ...]]
"""A list of expressions without columns, as text → their values in the session's zone."""


@dataclass(frozen=True, slots=True)
class Unevaluated:
    """A list of expressions without columns, as text, whose values are needed to bind the statement."""

    expressions: str


class ValueNeeded(Exception):
    """Raised while binding, and caught there."""

    def __init__(self, expressions: str) -> None:
        super().__init__(expressions)
        self.expressions = expressions


_NUMBER = re.compile(r"[0-9]{1,18}")
_VERSIONS = frozenset({"tinyint", "smallint", "int", "bigint"})
_TIMES = re.compile(r"timestamp|timestamp_ntz|date|string\b.*|(?:var)?char\b.*")


def read_time(expression: str, values: Values) -> int:
    """Milliseconds since the epoch. Raises `InvalidTimeTravelTimestamp`."""
    (micros,) = _value(f"unix_micros(TRY_CAST(({expression}) AS TIMESTAMP))", values)
    if micros is None:
        raise InvalidTimeTravelTimestamp(expression)
    return int(micros) // 1000


def read_bound(expression: str, values: Values) -> Bound:
    """A whole number is a version, a timestamp or a string a time.

    Raises `NullChangeBound`, `ChangeBoundType`, `InvalidTimeTravelTimestamp`.
    """
    if _NUMBER.fullmatch(expression):
        return AtVersion(int(expression))
    data_type, text = _value(f"typeof(({expression})), CAST(({expression}) AS STRING)", values)
    if text is None:
        raise NullChangeBound(expression)
    if data_type in _VERSIONS:
        return AtVersion(int(text))
    if not _TIMES.fullmatch(data_type):
        raise ChangeBoundType(expression, data_type)
    return AtTime(read_time(expression, values))


def _value(expressions: str, values: Values) -> tuple[Any, ...]:
    if expressions not in values:
        raise ValueNeeded(expressions)
    return values[expressions]


def load(own: TableFormat, location: str, time_travel: TimeTravel | None, values: Values) -> TableSnapshot:
    """The version of a table that a statement sees. Raises `InvalidTimeTravel`."""
    match time_travel:
        case None:
            return own.load(location)
        case AsOfVersion(version):
            return own.load(location, version)
        case AsOfTimestamp(expression):
            return own.load_at(location, read_time(expression, values))
        case AsOfReference(name):
            found = own.find_reference(location, name)
            if found is None:
                raise InvalidTimeTravel(f"VERSION AS OF '{name}'")
            return found
        case _:
            assert_never(time_travel)
