"""Values for the markers of a statement's text."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """A value for a marker in the text: `:name`, or the next `?` where `name` is None.

    `value` is text (None is NULL), `sql_type` how Spark spells the type it is cast to.
    """

    value: str | None
    sql_type: str = "string"
    name: str | None = None
