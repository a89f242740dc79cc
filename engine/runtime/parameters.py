"""Values for the markers of a statement's text."""

from __future__ import annotations

from dataclasses import dataclass

from engine.runtime.variables import RowValue


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """A value for a marker in the text: `:name`, or the next `?` where `name` is None.

    `value` is text (None is NULL), `sql_type` how Spark spells the type it is cast to; or `row_value` is the value
    as it is, and they do not matter.
    """

    value: str | None
    sql_type: str = "string"
    name: str | None = None
    row_value: RowValue | None = None
