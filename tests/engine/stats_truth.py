"""Expected statistics, computed from the rows in a table's files, and the statistics in its log."""

from __future__ import annotations

import datetime as dt
import json
import math
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq

Tree = dict[str, Any]
_CUT = 32


def logged(folder: Path) -> dict[str, Tree]:
    """Returns the statistics of every added file, by path."""
    logs = sorted((folder / "_delta_log").glob("*.json"))
    actions = [json.loads(line) for log in logs for line in log.read_text().splitlines()]
    adds = [action["add"] for action in actions if "add" in action]
    return {unquote(add["path"]): json.loads(add["stats"], parse_float=Decimal) for add in adds}


def deserved(file: Path) -> Tree:
    """Returns a file's expected statistics over all columns."""
    table = pq.ParquetFile(file).read()
    rows = table.to_pylist()
    stats: Tree = {"numRecords": len(rows), "minValues": {}, "maxValues": {}, "nullCount": {}}
    for path, kind in _leaves(table.schema):
        values = [_inside(row, path) for row in rows]
        _put(stats["nullCount"], path, values.count(None))
        if pa.types.is_nested(kind):
            continue
        present = sorted((value for value in values if value is not None), key=lambda value: (value != value, value))
        if present and not (pa.types.is_boolean(kind) or pa.types.is_binary(kind)):
            _put(stats["minValues"], path, _bound(present[0], _truncated))
            _put(stats["maxValues"], path, _bound(present[-1], _ceiling))
    return {name: value for name, value in stats.items() if value != {}}


def _leaves(fields: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], pa.DataType]]:
    for field in fields:
        if pa.types.is_struct(field.type):
            yield from _leaves(field.type, (*path, field.name))
        else:
            yield (*path, field.name), field.type


def _inside(value: Any, path: tuple[str, ...]) -> Any:
    for name in path:
        value = None if value is None else value[name]
    return value


def _bound(value: Any, cut: Callable[[Any], Any]) -> Any:
    match value:
        case str() | dt.datetime():
            return cut(value)
        case float():
            return Decimal(repr(value)) if math.isfinite(value) else None
        case dt.date():
            return value.isoformat()
        case _:
            return value


def _truncated(value: str | dt.datetime) -> str:
    if isinstance(value, str):
        return value[:_CUT]
    return _time(value - dt.timedelta(microseconds=value.microsecond % 1000))


def _ceiling(value: str | dt.datetime) -> str | None:
    if isinstance(value, str):
        return value if len(value) <= _CUT else value[:_CUT] + ("\x7f" if value[_CUT] < "\x7f" else "\U0010ffff")
    try:
        return _time(value + dt.timedelta(microseconds=-value.microsecond % 1000))
    except OverflowError:
        return None


def _time(value: dt.datetime) -> str:
    zone = "Z" if value.tzinfo else ""
    return value.replace(tzinfo=None).isoformat("T", "milliseconds") + zone


def _put(tree: Tree, path: tuple[str, ...], value: Any) -> None:
    if value is None:
        return
    for name in path[:-1]:
        tree = tree.setdefault(name, {})
    tree[path[-1]] = value
