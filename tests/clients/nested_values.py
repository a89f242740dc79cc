"""Nested columns with NULL and empty values at every depth, as SQL and as clients return them."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

_DEPTH_MAX, _DEEP = 4, 12
# So many rows show each type empty at each depth.
LEVELS = 2 * _DEPTH_MAX + 2


@dataclass(frozen=True)
class Value:
    """A value; `text` is the cell's JSON, with NULL as `null`."""

    sql: str
    value: Any
    text: str


@dataclass(frozen=True)
class Kind:
    """A type: `shape` is array, map, struct, or empty for a scalar, with `example` as a value."""

    sql: str
    shape: str = ""
    children: Sequence[Kind] = ()
    example: Value | None = None

    def level(self, level: int) -> Value:
        """Returns NULL (0), empty (1), or a value whose children are two levels lower; the last level combines all."""
        if level == 0:
            return Value(f"CAST(NULL AS {self.sql})", None, "null")
        if self.example is not None:
            return self.example
        below = [level - 2] if level < LEVELS - 1 else list(range(LEVELS - 1))
        match self.shape:
            case "array":
                return self._array([] if level == 1 else [self.children[0].level(each) for each in below])
            case "map":
                return self._map([] if level == 1 else [self.children[0].level(each) for each in below])
            case _:
                return self._struct([child.level(max(0, level - 2)) for child in self.children])

    def _array(self, items: Sequence[Value]) -> Value:
        sql = f"CAST(array({', '.join(item.sql for item in items)}) AS {self.sql})"
        return Value(sql, [item.value for item in items], f"[{','.join(item.text for item in items)}]")

    def _map(self, items: Sequence[Value]) -> Value:
        sql = ", ".join(f"'{key}', {item.sql}" for key, item in enumerate(items))
        text = ",".join(f'"{key}":{item.text}' for key, item in enumerate(items))
        pairs = [(f"{key}", item.value) for key, item in enumerate(items)]
        return Value(f"CAST(map({sql}) AS {self.sql})", pairs, f"{{{text}}}")

    def _struct(self, members: Sequence[Value]) -> Value:
        sql = ", ".join(f"'f{at}', {member.sql}" for at, member in enumerate(members))
        text = ",".join(f'"f{at}":{member.text}' for at, member in enumerate(members))
        value = {f"f{at}": member.value for at, member in enumerate(members)}
        return Value(f"CAST(named_struct({sql}) AS {self.sql})", value, f"{{{text}}}")


SCALARS = (
    Kind("INT", example=Value("7", 7, "7")),
    Kind("STRING", example=Value("'é'", "é", '"é"')),
    Kind("BINARY", example=Value("X'00FF'", b"\x00\xff", '"00FF"')),
    Kind("BOOLEAN", example=Value("true", True, "true")),
    Kind("DOUBLE", example=Value("1.5D", 1.5, "1.5")),
)


def nested(shape: str, child: Kind) -> Kind:
    match shape:
        case "array":
            return Kind(f"ARRAY<{child.sql}>", shape, (child,))
        case "map":
            return Kind(f"MAP<STRING, {child.sql}>", shape, (child,))
        case _:
            return Kind(f"STRUCT<f0: {child.sql}, f1: INT>", "struct", (child, SCALARS[0]))


def kinds() -> list[Kind]:
    """Returns every nesting of two shapes, and random deeper ones from a fixed seed."""
    chance, shapes = random.Random(31), ("array", "map", "struct")
    scalars = itertools.cycle(SCALARS)
    found = [nested(outer, nested(inner, next(scalars))) for outer, inner in itertools.product(shapes, repeat=2)]
    for _ in range(_DEEP):
        kind = next(scalars)
        for _ in range(chance.randint(3, _DEPTH_MAX)):
            kind = nested(chance.choice(shapes), kind)
        found.append(kind)
    return found
