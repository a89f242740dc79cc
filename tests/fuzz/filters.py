"""Random filters over a table's columns: their SQL, and their value for a row in three-valued logic."""

from __future__ import annotations

import datetime as dt
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from random import Random
from typing import Any

Row = Mapping[str, Any]
Truth = bool | None

_OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


@dataclass(frozen=True, slots=True)
class Filter:
    sql: str
    holds: Callable[[Row], Truth]


@dataclass(frozen=True, slots=True)
class Operand:
    """A compared operand: its SQL, its value in a row, and values near existing ones."""

    sql: str
    value: Callable[[Row], Any]
    near: Sequence[Any]


def literal(value: Any) -> str:
    match value:
        case bool():
            return str(value).lower()
        case int():
            return str(value)
        case float():
            return f"{value}D"
        case Decimal():
            return f"{value}BD"
        case str():
            return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
        case dt.datetime():
            return f"TIMESTAMP'{value:%Y-%m-%d %H:%M:%S}Z'"
        case dt.date():
            return f"DATE'{value}'"
        case _:
            raise TypeError(type(value))


def random_filter(random: Random, operands: Sequence[Operand], depth: int = 3) -> Filter:
    """Most are disjunctions: there a side that is pushed down wrongly loses rows."""
    if depth == 0 or random.random() < 0.2:
        return _leaf(random, random.choice(operands))
    kind = random.choice(("OR", "OR", "AND", "NOT"))
    left = random_filter(random, operands, depth - 1)
    if kind == "NOT":
        return Filter(f"NOT ({left.sql})", lambda row: _not(left.holds(row)))
    right = random_filter(random, operands, depth - 1)
    join = _or if kind == "OR" else _and
    return Filter(f"({left.sql}) {kind} ({right.sql})", lambda row: join(left.holds(row), right.holds(row)))


def _leaf(random: Random, operand: Operand) -> Filter:
    kind = random.choice(("compare", "compare", "compare", "in", "null", "null safe", "prefix", "computed"))
    if kind == "null":
        wanted = random.random() < 0.5
        return Filter(
            f"{operand.sql} IS {'' if wanted else 'NOT '}NULL", lambda row: (operand.value(row) is None) == wanted
        )
    if kind == "in":
        return _in(operand, random.sample(list(operand.near), min(2, len(operand.near))), random.random() < 0.2)
    selected = random.choice(operand.near)
    if kind == "null safe":
        return Filter(f"{operand.sql} <=> {literal(selected)}", lambda row: operand.value(row) == selected)
    if kind == "prefix" and isinstance(selected, str) and "'" not in selected:
        return _on_value(f"{operand.sql} LIKE '{selected}%'", operand, lambda value: value.startswith(selected))
    name = random.choice(list(_OPERATORS))
    if kind == "computed":
        default = literal(selected)
        return Filter(
            f"coalesce({operand.sql}, {default}) {name} {default}",
            lambda row: _OPERATORS[name](selected if operand.value(row) is None else operand.value(row), selected),
        )
    return _on_value(
        f"{operand.sql} {name} {literal(selected)}", operand, lambda value: _OPERATORS[name](value, selected)
    )


def _in(operand: Operand, values: list[Any], has_null: bool) -> Filter:
    items = ", ".join([*map(literal, values), *(["NULL"] if has_null else [])])
    return _on_value(
        f"{operand.sql} IN ({items})", operand, lambda value: value in values or (None if has_null else False)
    )


def _on_value(sql: str, operand: Operand, holds: Callable[[Any], Truth]) -> Filter:
    """Returns unknown if the value is null."""
    return Filter(sql, lambda row: None if operand.value(row) is None else holds(operand.value(row)))


def _not(truth: Truth) -> Truth:
    return None if truth is None else not truth


def _or(left: Truth, right: Truth) -> Truth:
    if left or right:
        return True
    return None if left is None or right is None else False


def _and(left: Truth, right: Truth) -> Truth:
    return _not(_or(_not(left), _not(right)))
