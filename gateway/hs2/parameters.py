"""TSparkParameter: the values that Databricks' clients give for the markers of a statement. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from engine.runtime.parameters import Parameter
from gateway.hs2.gen import ttypes as t


def parse_parameters(given: Sequence[Any]) -> tuple[Parameter, ...]:
    """Named ones by name; those without a name in the order of `ordinal`, or as they come where it says nothing."""
    return tuple(map(_parameter, sorted(given, key=lambda parameter: parameter.ordinal or 0)))


_MEMBERS_OF = frozenset({"ARRAY", "MAP"})
_DEPTH_MAX = 32


def _parameter(given: Any) -> Parameter:
    if given.arguments is not None and (given.type or "").upper() in _MEMBERS_OF:
        return replace(_member(given, 0), name=given.name or None)
    value = given.value or t.TSparkParameterValue()
    text: str | None = value.stringValue
    if value.doubleValue is not None:
        text = repr(value.doubleValue)
    elif value.booleanValue is not None:
        text = str(value.booleanValue).lower()
    return Parameter(value=text, sql_type=given.type or "string", name=given.name or None)


def _member(given: Any, depth: int) -> Parameter:
    """An array, a map, or a member of one. Below a depth that no client needs they count as plain values."""
    kind = (given.type or "string").upper()
    if kind in _MEMBERS_OF and given.arguments is not None and depth < _DEPTH_MAX:
        members = tuple(_member(each, depth + 1) for each in given.arguments)
        return Parameter(value=None, sql_type=kind, members=members)
    return Parameter(value=None if kind == "VOID" else given.value, sql_type=kind)
