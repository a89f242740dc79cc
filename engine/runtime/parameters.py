"""Values for the parameter markers in a statement's text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from engine.runtime.variables import RowValue


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """A value for a marker in the text: `:name`, or the next `?` if `name` is None.

    `value` is text (None is NULL), and `sql_type` is Spark's name of the type to cast it to; or `row_value` is the
    value itself, and the other two are ignored. An ARRAY parameter has `members`, a MAP parameter has keys and values
    alternately, and no other value.
    """

    value: str | None
    sql_type: str = "string"
    name: str | None = None
    row_value: RowValue | None = None
    members: tuple[Parameter, ...] | None = None


# The prefix of the names that replace `?` markers in a text composed from parts of a statement; a number follows.
MARKER = "__marker_"


def named_by_position(parameters: Sequence[Parameter]) -> tuple[Parameter, ...]:
    """Names positional parameters, for a composed text in which markers come in another order or more than once."""
    numbers = iter(range(len(parameters)))
    return tuple(
        replace(parameter, name=f"{MARKER}{next(numbers)}") if parameter.name is None else parameter
        for parameter in parameters
    )
