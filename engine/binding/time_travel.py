"""Time travel: versions and times in AS OF and `table_changes`.

Spark folds their expressions to constants, in the session's time zone. A plain number is a version, and does not need
Spark. A string is a timestamp, as in Delta, even if it contains only digits.

Expressions are folded while names are bound, not in a step before: the texts of views, and the functions of policies,
become known and parsed only then, and may contain AS OF as well. A step before binding would fold the statement's own
expressions in each family's values, and binding would still have to fold the others. `Constants` is shared by all
bindings of a statement, so that Spark evaluates each expression once.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, assert_never

from catalog.conditions import ChangeBoundType, InvalidTimeTravel, InvalidTimeTravelTimestamp, NullChangeBound
from engine.sql.query.values import AsOfReference, AsOfTimestamp, AsOfVersion, TimeTravel
from engine.tables.changes import AtTime, AtVersion, Bound
from engine.tables.formats import TableFormat
from engine.tables.snapshot import TableSnapshot


class Constants:
    """Constant expression values for one statement, evaluated at most once even if it is bound again."""

    def __init__(self, evaluate: Callable[[str], tuple[Any, ...]]) -> None:
        """`evaluate` returns the values for a list of expressions without columns, in the session's time zone."""
        self._evaluate = evaluate
        self._values: dict[str, tuple[Any, ...]] = {}

    def of(self, expressions: str) -> tuple[Any, ...]:
        """Returns the values for a list of expressions. Raises Spark's errors."""
        if expressions not in self._values:
            self._values[expressions] = self._evaluate(expressions)
        return self._values[expressions]


_NUMBER = re.compile(r"[0-9]{1,18}")
_VERSIONS = frozenset({"tinyint", "smallint", "int", "bigint"})
_TIMES = re.compile(r"timestamp|timestamp_ntz|date|string\b.*|(?:var)?char\b.*")


def read_time(expression: str, constants: Constants) -> int:
    """Returns milliseconds since the epoch. Raises `InvalidTimeTravelTimestamp`."""
    (micros,) = constants.of(f"unix_micros(TRY_CAST(({expression}) AS TIMESTAMP))")
    if micros is None:
        raise InvalidTimeTravelTimestamp(expression)
    return int(micros) // 1000


def read_bound(expression: str, constants: Constants) -> Bound:
    """Returns a bound for `table_changes`: an integer is a version, a timestamp or a string a time.

    Raises `NullChangeBound`, `ChangeBoundType`, `InvalidTimeTravelTimestamp`.
    """
    if _NUMBER.fullmatch(expression):
        return AtVersion(int(expression))
    data_type, text = constants.of(f"typeof(({expression})), CAST(({expression}) AS STRING)")
    if text is None:
        raise NullChangeBound(expression)
    if data_type in _VERSIONS:
        return AtVersion(int(text))
    if not _TIMES.fullmatch(data_type):
        raise ChangeBoundType(expression, data_type)
    return AtTime(read_time(expression, constants))


def load(own: TableFormat, location: str, time_travel: TimeTravel | None, constants: Constants) -> TableSnapshot:
    """Loads the table version that a statement sees. Raises `InvalidTimeTravel`."""
    match time_travel:
        case None:
            return own.load(location)
        case AsOfVersion(version):
            return own.load(location, version)
        case AsOfTimestamp(expression):
            return own.load_at(location, read_time(expression, constants))
        case AsOfReference(name):
            found = own.find_reference(location, name)
            if found is None:
                raise InvalidTimeTravel(f"VERSION AS OF '{name}'")
            return found
        case _:
            assert_never(time_travel)
