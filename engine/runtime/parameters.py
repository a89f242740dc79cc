"""Values for the markers of a statement's text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from engine.runtime.variables import RowValue


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """A value for a marker in the text: `:name`, or the next `?` where `name` is None.

    `value` is text (None is NULL), `sql_type` how Spark spells the type it is cast to; or `row_value` is the value
    as it is, and they do not matter. A parameter of the type ARRAY has `members`, one of the type MAP keys and values
    by turns, and no other value.
    """

    value: str | None
    sql_type: str = "string"
    name: str | None = None
    row_value: RowValue | None = None
    members: tuple[Parameter, ...] | None = None


MARKER = "__marker_"
"""The name of a marker `?` begins so where a text is composed of pieces of a statement; its number follows."""


def named_by_position(parameters: Sequence[Parameter]) -> tuple[Parameter, ...]:
    """For a composed text, in which the markers of the statement may come in another order, or more than once."""
    numbers = iter(range(len(parameters)))
    return tuple(
        replace(parameter, name=f"{MARKER}{next(numbers)}") if parameter.name is None else parameter
        for parameter in parameters
    )
