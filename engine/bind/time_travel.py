"""What the expressions of AS OF and of `table_changes` mean: versions and times.

They are Spark's to evaluate, in the session's zone; a plain number is a version without asking. A string is a time, as
Delta has it, also where digits alone stand in it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from engine.delta.feed.change_range import AtTime, AtVersion, Bound
from engine.errors.statement_errors import ChangeBoundType, InvalidTimeTravelTimestamp, NullChangeBound

Evaluate = Callable[[str], tuple[Any, ...]]
"""A list of expressions without columns, as text → their values in the session's zone."""

_NUMBER = re.compile(r"[0-9]{1,18}")
_VERSIONS = frozenset({"tinyint", "smallint", "int", "bigint"})
_TIMES = re.compile(r"timestamp|timestamp_ntz|date|string\b.*|(?:var)?char\b.*")


def read_time(expression: str, evaluate: Evaluate) -> int:
    """Milliseconds since the epoch. Raises `InvalidTimeTravelTimestamp`."""
    (micros,) = evaluate(f"unix_micros(TRY_CAST(({expression}) AS TIMESTAMP))")
    if micros is None:
        raise InvalidTimeTravelTimestamp(expression)
    return int(micros) // 1000


def read_bound(expression: str, evaluate: Evaluate) -> Bound:
    """A whole number is a version, a timestamp or a string a time.

    Raises `NullChangeBound`, `ChangeBoundType`, `InvalidTimeTravelTimestamp`.
    """
    if _NUMBER.fullmatch(expression):
        return AtVersion(int(expression))
    data_type, text = evaluate(f"typeof(({expression})), CAST(({expression}) AS STRING)")
    if text is None:
        raise NullChangeBound(expression)
    if data_type in _VERSIONS:
        return AtVersion(int(text))
    if not _TIMES.fullmatch(data_type):
        raise ChangeBoundType(expression, data_type)
    return AtTime(read_time(expression, evaluate))
