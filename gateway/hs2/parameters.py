"""TSparkParameter: the values that Databricks' clients give for the markers of a statement. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from engine.runtime.parameters import Parameter
from gateway.hs2.gen import ttypes as t


def parse_parameters(given: Sequence[Any]) -> tuple[Parameter, ...]:
    """Named ones by name; those without a name in the order of `ordinal`, or as they come where it says nothing."""
    return tuple(map(_parameter, sorted(given, key=lambda parameter: parameter.ordinal or 0)))


def _parameter(given: Any) -> Parameter:
    value = given.value or t.TSparkParameterValue()
    text: str | None = value.stringValue
    if value.doubleValue is not None:
        text = repr(value.doubleValue)
    elif value.booleanValue is not None:
        text = str(value.booleanValue).lower()
    return Parameter(value=text, sql_type=given.type or "string", name=given.name or None)
